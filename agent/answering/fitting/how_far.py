"""How short a run has to be that no single setting saves."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agent.answering.fitting.card_facts import is_metal
from agent.answering.plan import Call
from agent.answering.telling.draft import Draft
from agent.answering.telling.run_words import is_language, memory_arguments, said_method
from agent.toolbox import ToolResult
from agent.toolbox.limits import LimitReport
from agent.toolbox.memory import MemoryReport

_SHORTEST = 256
"""Tokens below which a shorter length is no advice."""
_STEP = 512
Lines = Generator[tuple[Call, ...], tuple[ToolResult, ...], list[str]]


def shorter(draft: Draft, report: MemoryReport) -> Lines:
    """The longest length of training that fits: as it stands, and with a fused cross entropy."""
    length = _length(draft, report)
    if report.verdict != "does_not_fit" or not is_language(report) or length < 2 * _SHORTEST:
        return []
    if any(c.fits and c.name.startswith("seq_len=") for c in report.changes):
        return []
    if report.weights_bytes >= (report.usable_bytes or 0):
        return []
    trials: dict[str, dict[str, Any]] = {"changes.at_most": {}}
    if not is_metal(report.gpu):
        trials["changes.at_most_fused"] = {"fused_ce": True}
    results = yield tuple(_limit(draft, report, "longest_context", **c) for c in trials.values())
    draft.use(*results)
    lines = []
    for key, result in zip(trials, results, strict=True):
        found = result.report
        value = found.value if isinstance(found, LimitReport) else None
        if value is None or not _SHORTEST <= value < length:
            continue
        told = value // _STEP * _STEP or value // 64 * 64
        draft.figure(f"{key}, rounded down", told, "token", formula="longest_context")
        lines.append(draft.phrase(key, value=told))
    return lines


def _length(draft: Draft, report: MemoryReport) -> int:
    held = {a.name: a.value for a in report.assumptions}
    return int(draft.request.slots.seq_len or held.get("seq_len") or 0)


def _limit(draft: Draft, report: MemoryReport, goal: str, **changes: Any) -> Call:
    arguments = memory_arguments(draft.request.slots, method=said_method(report), **changes)
    arguments.pop("with_changes")
    return Call("find_limit", {**arguments, "goal": goal})
