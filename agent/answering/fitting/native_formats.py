"""Weights that are published in a narrow format, and what 16 bit would take instead."""

from __future__ import annotations

from agent.answering.telling.draft import Draft
from agent.answering.telling.numbers import gib
from agent.answering.telling.run_words import FORMATS, format_name, outcome
from agent.toolbox.memory import MemoryReport
from agent.toolbox.registries import GpuReport

_PUBLISHED_NARROW = frozenset(FORMATS)


def say_native_format(
    draft: Draft, report: MemoryReport, wide: MemoryReport | None, card: GpuReport | None
) -> bool:
    """That the weights count as they are published, and what 16 bit would take instead.

    Returns:
        Whether there was such a thing to say.
    """
    given = next((a for a in report.assumptions if a.name == "weight_format"), None)
    if given is None or str(given.value) not in _PUBLISHED_NARROW:
        return False
    form = str(given.value)
    draft.say("memory.native", format=format_name(form), weights=gib(report.weights_bytes))
    if wide is not None:
        key = "memory.native_wide" if wide.verdict else "memory.native_wide_plain"
        draft.say(key, need=gib(wide.process_bytes), weights=gib(wide.weights_bytes),
                  outcome=outcome(draft, wide) if wide.verdict else "")  # fmt: skip
    if card is not None and card.compute_capability is not None:
        _say_arithmetic(draft, card, card.compute_capability, form)
    return True


def _say_arithmetic(draft: Draft, card: GpuReport, capability: float, form: str) -> None:
    """How a card without units for a format computes with it."""
    is_eight = form == "fp8-block"
    if is_eight and card.fp8_supported is False:
        is_ampere = capability >= _WEIGHT_ONLY_FROM
        key = "memory.native_weight_only" if is_ampere else "memory.native_impossible"
        draft.say(key, gpu=card.name, format=format_name(form))
    elif not is_eight and capability < _FP4_FROM:
        draft.say("memory.native_four", gpu=card.name, format=format_name(form))


_WEIGHT_ONLY_FROM = 8.0
"""Compute capability from which servers run FP8 weights with 16-bit arithmetic (FP8 Marlin)."""


_FP4_FROM = 10.0
"""Compute capability from which tensor cores compute in FP4 (Blackwell)."""
