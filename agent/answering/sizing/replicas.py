"""Why memory does not add up under data parallelism."""

from __future__ import annotations

from collections.abc import Generator

from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import gib
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.registries import GpuReport


def applies(request: Request, context: Context) -> bool:
    """True for wonder at data parallelism that gives no more memory, without a model to count."""
    slots = request.slots
    if slots.has_model or slots.zero_stage is not None:
        return False
    if slots.strategy != "ddp" and (slots.strategy or not request.says("sizing.data_parallel")):
        return False
    return request.says("sizing.wonders") and request.says("sizing.of_memory")


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
