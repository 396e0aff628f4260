"""How large a model do these cards run: sizes and formats from small to large."""

from __future__ import annotations

from collections.abc import Generator

from agent.answer import Answer
from agent.answering.plan import Call
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import gib
from agent.answering.telling.run_words import (
    card_name,
    format_name,
    memory_arguments,
    outcome,
    short_model,
)
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.memory import MemoryReport

_SIZES = (7.0, 14.0, 32.0, 70.0, 235.0, 671.0)
_FORMATS = ("int4", "bf16")


def asks_largest(request: Request) -> bool:
    """True when the size is what is asked for."""
    slots = request.slots
    has_card = slots.has_card or slots.gpu_mem_gb is not None
    return has_card and request.says("sizing.largest_model")


def compose_largest(
    draft: Draft,
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], Answer]:
    """The largest size of each format, and what was named, on the cards given."""
    slots = draft.request.slots
    pairs = [(form, size) for form in _FORMATS for size in _SIZES]
    calls = [
        Call("estimate_memory", memory_arguments(
            slots, task="infer", model=None, params_b=size, quantization=form, precision=None))
        for form, size in pairs
    ]  # fmt: skip
    has_model = slots.model is not None
    if has_model:
        calls += [
            Call("estimate_memory", memory_arguments(
                slots, task="infer", quantization=form, precision=None))
            for form in ("fp8", "int4")
        ]  # fmt: skip
    results = yield tuple(calls)
    draft.use(*results)
    best: dict[str, tuple[float, MemoryReport]] = {}
    for (form, size), result in zip(pairs, results, strict=False):
        report = result.report
        if isinstance(report, MemoryReport) and report.verdict in ("fits", "tight"):
            best[form] = (size, report)
    items = [
        draft.phrase("largest.row", format=form, size=f"{size:g}", need=gib(report.process_bytes),
                     usable=gib(report.usable_bytes or 0), outcome=outcome(draft, report))
        for form, (size, report) in best.items()
    ]  # fmt: skip
    if items:
        first = next(iter(best.values()))[1]
        draft.bullets(items, title=draft.phrase("largest.title", card=card_name(draft, first)),
                      importance=HEAD)  # fmt: skip
    else:
        draft.say("largest.none", importance=HEAD)
    for result in results[len(pairs) :] if has_model else ():
        report = result.report
        if isinstance(report, MemoryReport):
            draft.say(
                "largest.named",
                model=short_model(report),
                format=format_name(report.weight_format or ""),
                need=gib(report.process_bytes),
                outcome=outcome(draft, report),
            )
    draft.say("largest.beyond")
    return draft.finish("depends")
