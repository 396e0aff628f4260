"""What was assumed, in one line."""

from __future__ import annotations

from agent.answer import AssumptionOut
from agent.answering.telling.draft import DETAIL, Draft
from agent.answering.telling.phrases import sentences
from agent.answering.telling.run_words import value_name
from agent.toolbox.memory import MemoryReport

_SAMPLE_RATE = 16_000
"""Samples a second that speech models hear."""


def say_assumptions(draft: Draft, *reports: MemoryReport) -> None:
    """What was assumed, in one line."""
    for report in reports:
        draft.assume(report.assumptions)
    told = [
        draft.phrase(f"assumptions.{a.name}", value=_assumed_value(draft, a))
        for a in draft.assumptions
        if a.name in sentences("assumptions")
    ]
    if told:
        separator = ", " if draft.language == "en" else "、"
        draft.say("memory.assumed", items=separator.join(told), importance=DETAIL)


def _assumed_value(draft: Draft, assumption: AssumptionOut) -> str:
    if isinstance(assumption.value, bool):
        return str(assumption.value).lower()
    if assumption.name == "audio_samples":
        return f"{float(assumption.value) / _SAMPLE_RATE:g}"
    return value_name(draft, assumption.name, str(assumption.value))
