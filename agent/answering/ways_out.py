"""Lighter methods, more cards, offload: each with its figure."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agent.answering.draft import Draft
from agent.answering.numbers import gib
from agent.answering.plan import Call
from agent.answering.run_words import (
    is_language,
    memory_arguments,
    outcome,
    report_method,
    said_method,
)
from agent.toolbox import ToolResult
from agent.toolbox.memory import MemoryReport
from tools.units import bytes_from_gb

_HOST_LIMIT_BYTES = bytes_from_gb(2000)
"""Host memory beyond which offloading is no way out: no common machine has it."""


_MORE_CARDS = (2, 4, 8)


_LIGHTER = {"full": ("lora", "qlora"), "lora": ("qlora",)}


def ways_out(
    draft: Draft, report: MemoryReport, *, is_method_open: bool
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], bool]:
    """Lighter methods, more cards, offload: each with its figure.

    Returns:
        True when a run that is sharded already fits once its states go to host memory.
    """
    slots = draft.request.slots
    base = {"method": said_method(report)}
    count = report.gpu_count
    trials: list[tuple[str, dict[str, Any]]] = []
    if not is_method_open:
        trials += [("method", {"method": _with_base(report, m)})
                   for m in _LIGHTER.get(report.method or "", ())]  # fmt: skip
    trials += [("cards", {**base, "gpu_count": n, "zero_stage": 3, "instance": None})
               for n in _MORE_CARDS if n > count]  # fmt: skip
    if is_language(report) and (report.method == "full" or count > 1):
        trials.append(("offload", {**base, "zero_stage": 3, "offload": True}))
    results = yield tuple(
        Call("estimate_memory", memory_arguments(slots, **changes)) for _, changes in trials
    )
    draft.use(*results)
    items, enough_cards, is_saved = [], False, False
    is_sharded = slots.zero_stage == 3 or slots.strategy == "fsdp"
    for (kind, _), result in zip(trials, results, strict=True):
        other = result.report
        if not isinstance(other, MemoryReport) or other.verdict is None:
            continue
        fits = other.verdict != "does_not_fit"
        values = {"need": gib(other.process_bytes), "outcome": outcome(draft, other)}
        if kind == "method":
            name = report_method(draft, other)
            items.append(draft.phrase("fit.way_method", name=name, **values))
        elif kind == "cards" and fits and not enough_cards:
            enough_cards = True
            draft.figure("cards", other.gpu_count, "1", formula="fewest of 2, 4, 8 that fit")
            items.append(draft.phrase("fit.way_cards", count=other.gpu_count, **values))
        elif kind == "offload" and fits and other.host_ram_bytes < _HOST_LIMIT_BYTES:
            is_saved = count > 1 and (report.method == "full" or is_sharded)
            ram = f"{other.host_ram_bytes / 1e9:,.0f} GB"
            draft.figure("offload_host_ram", other.host_ram_bytes, "B", formula="offloaded states")
            items.append(draft.phrase("fit.way_offload", ram=ram, **values))
    draft.bullets(items, title=draft.phrase("fit.ways_title"))
    return is_saved


def _with_base(report: MemoryReport, method: str) -> str:
    return said_method(report.model_copy(update={"method": method}))
