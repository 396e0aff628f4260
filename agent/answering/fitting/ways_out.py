"""Lighter methods, more cards, offload: each with its figure."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agent.answering.fitting.card_facts import is_metal
from agent.answering.fitting.changes import changes_of, changes_told
from agent.answering.fitting.how_far import shorter
from agent.answering.plan import Call
from agent.answering.telling.draft import Draft
from agent.answering.telling.numbers import gib
from agent.answering.telling.run_words import (
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
_LESS = 0.95
"""Share of the need from which a way out is none."""
_LIGHTER = {"full": ("lora", "qlora"), "lora": ("qlora",)}
_Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], MemoryReport | None]


def ways_out(
    draft: Draft, report: MemoryReport, *, is_method_open: bool
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], bool]:
    """One list of what makes it fit: settings, a lighter method, more cards, host memory.

    Returns:
        True when a run that is sharded already fits once its states go to host memory.
    """
    lengths = yield from shorter(draft, report)
    items = changes_told(draft, report, changes_of(draft, report, without_length=bool(lengths)))
    items += lengths
    if not is_method_open:
        items += yield from _lighter_methods(draft, report)
    same = yield from _sharded_on_same(draft, report)
    if same is not None:
        items.append(_told(draft, "fit.way_sharded", same, count=same.gpu_count))
    more = yield from _more_cards(draft, report)
    if more is not None:
        draft.figure("cards", more.gpu_count, "1", formula="fewest of 2, 4, 8 that fit")
        items.append(_told(draft, "fit.way_cards", more, count=more.gpu_count))
    offloaded = yield from _offloaded(draft, report)
    if offloaded is not None:
        ram = f"{offloaded.host_ram_bytes / 1e9:,.0f} GB"
        draft.figure("offload_host_ram", offloaded.host_ram_bytes, "B", formula="offloaded states")
        items.append(_told(draft, "fit.way_offload", offloaded, ram=ram))
    draft.bullets(items, title=draft.phrase("memory.changes_title"))
    slots = draft.request.slots
    is_sharded = slots.zero_stage == 3 or slots.strategy == "fsdp"
    return offloaded is not None and report.gpu_count > 1 and (
        report.method == "full" or is_sharded
    )  # fmt: skip


def _told(draft: Draft, key: str, report: MemoryReport, **values: object) -> str:
    return draft.phrase(
        key, need=gib(report.process_bytes), outcome=outcome(draft, report), **values
    )


def _lighter_methods(
    draft: Draft, report: MemoryReport
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], list[str]]:
    """The same run by lighter methods, those that fit."""
    methods = _LIGHTER.get(report.method or "", ())
    if not methods:
        return []
    results = yield tuple(
        Call("estimate_memory", memory_arguments(
            draft.request.slots, method=said_method(report.model_copy(update={"method": m}))))
        for m in methods
    )  # fmt: skip
    draft.use(*results)
    lighter = [r.report for r in results if isinstance(r.report, MemoryReport)]
    return [
        _told(draft, "fit.way_method", other, name=report_method(draft, other))
        for other in lighter
        if other.verdict in ("fits", "tight")
    ]


def _more_cards(draft: Draft, report: MemoryReport) -> _Steps:
    """The same run over the fewest cards that hold it; laptops and slices take no second one."""
    is_alone = "Laptop" in (report.gpu or "") or is_metal(report.gpu)
    if is_alone or report.slice_memory_gb is not None:
        return None
    for count in _MORE_CARDS:
        if count <= report.gpu_count:
            continue
        other = yield from _tried(
            draft, report, gpu_count=count, zero_stage=3, instance=None
        )  # fmt: skip
        if other is not None:
            return other
    return None


def _sharded_on_same(draft: Draft, report: MemoryReport) -> _Steps:
    """The same run with its weights sharded too, over the cards it has."""
    if report.gpu_count < 2 or draft.request.slots.zero_stage not in (0, 1, 2):
        return None
    return (yield from _tried(draft, report, zero_stage=3))


def _offloaded(draft: Draft, report: MemoryReport) -> _Steps:
    """The same run with its states in host memory, where a machine can have that much."""
    if is_metal(report.gpu) or not is_language(report):
        return None
    if not (report.method == "full" or report.gpu_count > 1):
        return None
    other = yield from _tried(draft, report, zero_stage=3, offload=True)
    if other is None or other.host_ram_bytes >= _HOST_LIMIT_BYTES:
        return None
    return other


def _tried(draft: Draft, report: MemoryReport, **changes: Any) -> _Steps:
    """The run with some changes; None where it does not fit even so."""
    arguments = memory_arguments(draft.request.slots, method=said_method(report), **changes)
    results = yield (Call("estimate_memory", arguments),)
    draft.use(*results)
    other = results[0].report
    if not isinstance(other, MemoryReport) or other.verdict not in ("fits", "tight"):
        return None
    return other if other.process_bytes < _LESS * report.process_bytes else None
