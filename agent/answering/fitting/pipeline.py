"""Image and video pipelines on a small card, their parts waiting in host memory."""

from __future__ import annotations

from agent.answer import Verdict
from agent.answering.telling.draft import Draft
from agent.answering.telling.numbers import gib
from agent.toolbox.memory import ChangeOut, MemoryReport
from tools.models import DENOISER_KINDS

_NARROW = "pipeline_offload=model-nf4"
_MILD = 1
"""Rank up to which a change costs only time."""


def judged_pipeline(draft: Draft, report: MemoryReport, verdict: Verdict) -> Verdict:
    """Open where a whole pipeline is too large and one of its parts at a time is not."""
    slots = draft.request.slots
    if report.kind not in DENOISER_KINDS:
        return verdict
    if report.host_ram_bytes:
        draft.figure("pipeline_in_host_memory", report.host_ram_bytes, "B",
                     formula="weights of all parts of the pipeline")  # fmt: skip
        draft.say(f"pipeline.{slots.pipeline_offload or 'model'}", ram=gib(report.host_ram_bytes))
    if verdict != "does_not_fit" or slots.pipeline_offload or slots.offload:
        return verdict
    way = _mildest(report)
    narrow = next((c for c in report.changes if c.fits and c.name == _NARROW), None)
    if way is None and narrow is not None:
        draft.lead("pipeline.depends_narrow", need=gib(narrow.after_bytes))
        return "depends"
    if way is None:
        ways = [c for c in report.changes if c.fits]
        if ways and all("sequential" in c.name for c in ways):
            draft.lead("pipeline.only_slow", need=gib(ways[0].after_bytes))
            return "depends"
        return verdict
    draft.lead("pipeline.depends", need=gib(way.after_bytes))
    return "depends"


def _mildest(report: MemoryReport) -> ChangeOut | None:
    """The change that makes it fit for the price of some time, in parts or in tiles."""
    names = ("pipeline_offload=", "vae_tiling=", "vae_slicing=")
    open_ = [c for c in report.changes if c.fits and c.cost_rank <= _MILD]
    return next((c for c in open_ if c.name.startswith(names)), None)
