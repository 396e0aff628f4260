"""A run of llama.cpp or Ollama of which a part went to the CPU against the asker's wish."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agent.answering.hosts.offload import Split, asks_part_in_host
from agent.answering.plan import Call
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import count, gib
from agent.answering.telling.run_words import memory_arguments, outcome, short_model
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.memory import MemoryReport


def complains_of_cpu(request: Request) -> bool:
    """Whether a part runs on the CPU and that is what is wrong."""
    return request.says("hosts.partly_on_cpu") and request.says("hosts.annoyed")


def wants_whole(request: Request) -> bool:
    """Whether all of the model is to lie on the card, and no part in host memory."""
    return request.says("hosts.whole_on_card") and not asks_part_in_host(request)


def is_short(split: Split) -> bool:
    """Whether the card is too small for all of it."""
    return split.whole.verdict == "does_not_fit"


def say_whole(draft: Draft, split: Split) -> None:
    """That all of it does not fit on the card; what was told before it is the way out."""
    whole = split.whole
    draft.lead("on_cpu.whole", what=short_model(whole), need=gib(whole.process_bytes),
               weights=gib(whole.weights_bytes), params=f"{whole.params / 1e9:.3g}B",
               usable=gib(whole.usable_bytes or 0))  # fmt: skip


def say_on_cpu(
    draft: Draft, split: Split
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], MemoryReport]:
    """What all of it on the card would take, and the settings that bring it down.

    Returns:
        The estimate with all layers on the card.
    """
    slots, whole = draft.request.slots, split.whole
    at_once, context = slots.concurrency or slots.batch or 1, slots.seq_len
    values = {
        "what": short_model(whole), "need": gib(whole.process_bytes),
        "weights": gib(whole.weights_bytes), "cache": gib(whole.kv_cache_bytes),
        "usable": gib(whole.usable_bytes or 0),
    }  # fmt: skip
    draft.figure("cache", whole.kv_cache_bytes, "B", formula="context * parallel * bytes a token")
    if at_once > 1 and context:
        draft.figure("tokens_in_all", context * at_once, "token", formula="context * parallel")
        draft.lead("on_cpu.parallel", parallel=at_once, context=f"{context:,}",
                   tokens=count(context * at_once, draft.language), **values)  # fmt: skip
    else:
        draft.lead("on_cpu.head", **values)
    ways: dict[str, dict[str, Any]] = {"kv_int8": {"kv_cache_dtype": "int8"}}
    if at_once > 1:
        ways = {"one": {"concurrency": 1}, **ways}
    if context is not None and context > _SHORT:
        ways["short"] = {"seq_len": _SHORT}
    results = yield tuple(
        Call("estimate_memory", memory_arguments(
            slots, task="infer", gpu_layers=None, **{"batch": None, **change}))
        for change in ways.values()
    )  # fmt: skip
    draft.use(*results)
    lines, reports = [], []
    for key, result in zip(ways, results, strict=True):
        if isinstance(result.report, MemoryReport):
            reports.append(result.report)
            draft.figure(f"{key}: context", _SHORT, "token", formula="a usual short context")
            lines.append(draft.phrase(f"on_cpu.way_{key}", need=gib(result.report.process_bytes),
                                      context=f"{_SHORT:,}",
                                      outcome=outcome(draft, result.report)))  # fmt: skip
    if not any(report.verdict in ("fits", "tight") for report in reports):
        lines.append(draft.phrase("on_cpu.way_smaller"))
    draft.bullets(lines, title=draft.phrase("on_cpu.ways"), importance=HEAD)
    return whole


_SHORT = 8192
"""A context that most chats stay within, tokens."""
