"""Why memory does not add up under data parallelism."""

from __future__ import annotations

import re
from collections.abc import Generator

from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import gib
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.registries import GpuReport

_DATA_PARALLEL = re.compile(
    r"(?<![a-z])ddp(?![a-z])|data[- ]?parallel|数据并行|torchrun|accelerate launch"
    r"|nn\.DataParallel",
    re.IGNORECASE,
)
_WHY = re.compile(
    r"为啥|为什么|为何|怎么(?:没|不|还)|没(?:有)?(?:变|增|翻|涨|多)|不(?:能|会)?(?:相加|叠加|合并)"
    r"|why|how come|(?:doesn|don|didn|isn|aren)'?t|does not|not (?:add|pool|grow|increase)"
    r"|still (?:oom|only|the same)|same (?:batch|memory)|no bigger|一样大",
    re.IGNORECASE,
)
_MEMORY = re.compile(
    r"显存|memory|vram|batch|oom|放不下|放得下|模型变大|larger model|bigger", re.IGNORECASE
)


def applies(request: Request, context: Context) -> bool:
    """True for wonder at data parallelism that gives no more memory, without a model to count."""
    slots, text = request.slots, request.search_query
    if slots.has_model or slots.zero_stage is not None:
        return False
    is_data_parallel = slots.strategy == "ddp" or _DATA_PARALLEL.search(text) is not None
    return bool(
        is_data_parallel and slots.strategy in (None, "ddp")
        and _WHY.search(text) and _MEMORY.search(text)
    )  # fmt: skip


def compose(request: Request, context: Context) -> Plan:
    """A replica on every card; what grows instead; what shards."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    slots = request.slots
    cards = slots.gpu_count or 1
    count = str(cards) if cards > 1 else "N"
    draft.figure("cards", cards, "1", sources=("user:gpu_count",))
    draft.say("links.replicas", count=count, importance=HEAD)
    yield from _say_card(draft)
    draft.say("links.replicas_do", count=count, importance=HEAD)
    return draft.finish("not_applicable", intent="multi_gpu_plan")


def _say_card(draft: Draft) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], None]:
    """The sum on the labels beside what one card has."""
    slots = draft.request.slots
    if not slots.has_card or (slots.gpu_count or 1) < 2:
        return
    results = yield (Call("find_gpu", {"name": slots.gpu, **(
        {"memory_gb": slots.gpu_mem_gb} if slots.gpu_mem_gb else {})}),)  # fmt: skip
    draft.use(*results)
    card = results[0].report
    if not isinstance(card, GpuReport):
        return
    label, usable, count = card.memory_label_gb, card.usable_bytes, slots.gpu_count or 1
    if label is None or usable is None:
        return
    draft.figure("label", label, "GB", sources=("data:gpus.csv",))
    draft.figure("label_together", label * count, "GB", formula="label * cards")
    draft.figure("usable", usable, "B", sources=("data:gpus.csv",))
    draft.say("links.replicas_memory", count=count, gpu=card.name, total=f"{label * count:g}",
              usable=gib(usable))  # fmt: skip
