"""How large a model these cards and this host memory train: sizes from large to small."""

from __future__ import annotations

from collections.abc import Generator

from agent.answering.plan import Call, Context, Plan
from agent.answering.sizing.largest import asks_largest
from agent.answering.telling.assumed import say_assumptions
from agent.answering.telling.draft import DETAIL, HEAD, Draft
from agent.answering.telling.numbers import gib
from agent.answering.telling.run_words import (
    card_name,
    memory_arguments,
    memory_range,
    method_name,
)
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.memory import MemoryReport
from tools.units import bytes_from_gb

SIZES = (1.5, 3.0, 7.0, 8.0, 13.0, 14.0, 20.0, 24.0, 27.0, 30.0, 32.0, 70.0, 110.0, 235.0, 405.0)
_HOST_SHARE = 0.9
"""Share of host memory that a job can use."""


def applies(request: Request, context: Context) -> bool:
    """True where the size to train is asked for and no model is named."""
    slots = request.slots
    is_open = not slots.has_model and slots.task == "train"
    return is_open and asks_largest(request)


def compose(request: Request, context: Context) -> Plan:
    """The largest size that the cards and the host hold, by the methods in question."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    slots = request.slots
    methods = (slots.method,) if slots.method else ("full", "lora", "qlora")
    best: list[tuple[str, float, MemoryReport, str]] = []
    for method in methods:
        found = yield from _largest(draft, method)
        if found is not None:
            best.append((method, *found))
    if not best:
        draft.say("largest.none", importance=HEAD)
        return draft.finish("depends")
    for method, size, report, limit in best:
        values = {
            "method": method_name(draft, method), "size": f"{size:g}",
            "card": card_name(draft, report), "need": gib(report.process_bytes),
            "usable": gib(report.usable_bytes or 0),
        }  # fmt: skip
        draft.say("largest.trained", importance=HEAD, **values)
        if report.host_ram_bytes and slots.offload:
            ram = f"{report.host_ram_bytes / 1e9:,.0f} GB"
            draft.figure("host_need", report.host_ram_bytes, "B", formula="offloaded states")
            key = "trained_host" if slots.host_ram_gb else "trained_ram"
            draft.say(f"largest.{key}", ram=ram, given=f"{slots.host_ram_gb or 0:g}",
                      importance=HEAD)  # fmt: skip
        draft.say(f"largest.limit_{limit}")
    draft.say("largest.trained_beyond", importance=DETAIL)
    say_assumptions(draft, best[0][2])
    return draft.finish("depends", memory=memory_range(best[0][2]))


def _largest(
    draft: Draft, method: str
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], tuple[float, MemoryReport, str] | None]:
    """The largest size that fits with this method, and what stops the next one."""
    slots = draft.request.slots
    scheme = slots.zero_stage or (3 if (slots.gpu_count or 1) > 1 else None)
    results = yield tuple(
        Call("estimate_memory", memory_arguments(
            slots, task="train", method=method, params_b=size, zero_stage=scheme,
            gradient_checkpointing=slots.gradient_checkpointing or "full"))
        for size in SIZES
    )  # fmt: skip
    best: tuple[float, MemoryReport] | None = None
    limit = "card"
    room = bytes_from_gb(slots.host_ram_gb * _HOST_SHARE) if slots.host_ram_gb else None
    for size, result in zip(SIZES, results, strict=True):
        report = result.report
        if not isinstance(report, MemoryReport):
            continue
        fits_host = room is None or not slots.offload or report.host_ram_bytes <= room
        if report.verdict in ("fits", "tight") and fits_host:
            best = size, report
            draft.use(result)
        elif best is not None:
            limit = "card" if fits_host else "host"
            break
    return (*best, limit) if best is not None else None
