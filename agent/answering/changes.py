"""What would bring a need down, each change with its new figure."""

from __future__ import annotations

from agent.answering.draft import BODY, Draft
from agent.answering.numbers import gib
from agent.answering.phrases import sentences
from agent.toolbox.memory import ChangeOut, MemoryReport

_TOLD_AS_WAYS = ("method", "gpu_count", "parallelism", "cpu_offload")
"""Changes that the list of ways out tells with figures of its own."""


def say_changes(draft: Draft, report: MemoryReport, *, limit: int = 4) -> None:
    """What would bring the need down, each with its new figure."""
    told = []
    told_apart = _TOLD_AS_WAYS if report.task == "train" else ("gpu_count",)
    changes = [
        c for c in report.changes
        if c.name.partition("=")[0] not in told_apart and not _is_idle(c, report)
    ]  # fmt: skip
    fitting = [c for c in changes if c.fits]
    for change in (fitting or changes)[:limit]:
        key = "memory.change_fits" if change.fits else "memory.change_short"
        draft.figure(f"after {change.name}", change.after_bytes, "B", formula="estimate again")
        _record_change_values(draft, change.name)
        told.append(draft.phrase(key, name=change_name(draft, change.name),
                                 after=gib(change.after_bytes)))  # fmt: skip
    draft.bullets(told, title=draft.phrase("memory.changes_title"), importance=BODY)


_IDLE = 0.02
"""Share of the need below which a change is none."""


def _is_idle(change: ChangeOut, report: MemoryReport) -> bool:
    """A change that saves next to nothing, such as a weight format that the model has already."""
    return (
        change.saving_bytes < _IDLE * report.process_bytes
        and not change.fits
        or (
            change.name.startswith(("weight_format=", "optimizer="))
            and change.saving_bytes < _IDLE * report.process_bytes
        )
    )


def _record_change_values(draft: Draft, name: str) -> None:
    """A number of cards that a change names."""
    field, _, value = name.partition("=")
    if field == "gpu_count" and value.isdigit():
        draft.figure("cards", int(value), "1", formula="change")


def change_name(draft: Draft, name: str) -> str:
    """A change as it is told."""
    known = sentences("changes")
    field, _, value = name.partition("=")
    if name in known:
        return draft.phrase(f"changes.{name}")
    if field in known:
        return draft.phrase(f"changes.{field}", value=value)
    return name
