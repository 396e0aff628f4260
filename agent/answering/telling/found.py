"""What the tools found about the configuration asked for; what is told when they could not."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from agent.answer import MemoryRange, Verdict
from agent.answering.plan import Call
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import quoted
from agent.answering.telling.run_words import (
    joined,
)
from agent.toolbox import ToolResult
from agent.toolbox.memory import MemoryReport


@dataclass(frozen=True, slots=True)
class Found:
    """What the tools said about the configuration asked for."""

    verdict: Verdict
    memory: MemoryRange | None
    report: MemoryReport | None
    is_split: bool = False
    """Part of the layers runs in host memory; its speed is told already."""


Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], Found]


def settled(found: Found) -> dict[str, Any]:
    """Slots that the tools settled."""
    report = found.report
    if report is None or report.gpu is None or report.gpu.endswith("class"):
        return {}
    return {"gpu": report.gpu, "gpu_count": report.gpu_count}


def failed(draft: Draft, result: ToolResult) -> Found:
    """The tool could not compute: its hint is told, and no figure is given."""
    if result.fields.get("error") == "AmbiguousModelError":
        return _which_model(draft, result)
    draft.add(quoted_hint(draft, result), importance=HEAD)
    return Found("not_applicable", None, None)


def _which_model(draft: Draft, result: ToolResult) -> Found:
    """A family without a size: what holds for any size, and which one is meant."""
    slots = draft.request.slots
    draft.add(quoted_hint(draft, result), importance=HEAD)
    if slots.task == "train":
        if (slots.gpu_count or 1) > 1:
            draft.say("memory.replicated")
        draft.say("memory.levers_train")
    draft.say("memory.ask_model")
    return Found("depends", None, None)


def quoted_hint(draft: Draft, result: ToolResult) -> str:
    """Why a tool could not compute, in the reader's language where the error is a known one."""
    fields = result.fields
    kind = fields.get("error", "")
    candidates = joined(draft, [str(c) for c in fields.get("candidates") or ()][:5])
    if kind.startswith(("Unknown", "Ambiguous")) and candidates:
        key = "fit.unknown_name" if kind.startswith("Unknown") else "fit.ambiguous_name"
        return draft.phrase(key, name=quoted(str(fields.get("given"))), candidates=candidates)
    if kind.startswith("Unknown"):
        return draft.phrase("fit.unlisted_name", name=quoted(str(fields.get("given"))))
    if kind == "BadQuantityError":
        given = quoted(str(fields.get("given")))
        return draft.phrase(
            "fit.bad_quantity",
            field=fields.get("field"),
            given=given,
            allowed=fields.get("allowed"),
        )
    if kind == "UnsupportedError":
        return draft.phrase("fit.unsupported", what=quoted(str(fields.get("what"))),
                            reason=fields.get("reason") or result.hint)  # fmt: skip
    return result.hint or ""
