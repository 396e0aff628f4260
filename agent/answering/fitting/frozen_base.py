"""Adapters of a diffusion transformer: how its frozen base lies on the card decides."""

from __future__ import annotations

from agent.answering.fitting.changes import change_name
from agent.answering.telling.draft import Draft
from agent.answering.telling.found import Found
from agent.answering.telling.numbers import gib
from agent.answering.telling.run_words import memory_range
from agent.toolbox.memory import ChangeOut, MemoryReport
from tools.models import DENOISER_KINDS

_WAYS = ("quantization=", "blocks_to_swap=")
_ADAPTERS = ("lora", "dora")


def base_is_open(draft: Draft, report: MemoryReport) -> Found | None:
    """An open verdict where the base in 16 bit is too large and trainers have leaner ones.

    None where the base's format was said, or where nothing but another method makes it fit.
    """
    slots = draft.request.slots
    is_said = slots.quantization or slots.precision or slots.blocks_to_swap
    if report.kind not in DENOISER_KINDS or report.method not in _ADAPTERS or is_said:
        return None
    way = _mildest(report)
    if way is None or report.usable_bytes is None:
        return None
    draft.figure(f"after {way.name}", way.after_bytes, "B", formula="estimate again")
    draft.lead("frozen_base.depends", need=gib(report.process_bytes),
               usable=gib(report.usable_bytes), weights=gib(report.weights_bytes),
               name=change_name(draft, way.name, report), after=gib(way.after_bytes))  # fmt: skip
    return Found("depends", memory_range(report), report)


def _mildest(report: MemoryReport) -> ChangeOut | None:
    fitting = [c for c in report.changes if c.fits and c.name.startswith(_WAYS)]
    return min(fitting, key=lambda c: (c.cost_rank, c.after_bytes), default=None)


def say_cached(draft: Draft, report: MemoryReport) -> None:
    """That text encoders and autoencoder are not on the card beside the training."""
    held = {a.name: a.value for a in report.assumptions}
    if report.kind in DENOISER_KINDS and held.get("text_cached"):
        draft.say("frozen_base.cached")
    if report.host_ram_bytes and draft.request.slots.blocks_to_swap:
        draft.figure("swapped_blocks", report.host_ram_bytes, "B", formula="weights * share")
        draft.say("frozen_base.swapped", ram=gib(report.host_ram_bytes))
