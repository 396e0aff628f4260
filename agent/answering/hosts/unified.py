"""Boards whose memory is one for system and GPU and was never measured: what a run can have."""

from __future__ import annotations

from agent.answer import Verdict
from agent.answering.hosts import shares
from agent.answering.telling.draft import Draft
from agent.request import Slots
from agent.toolbox.memory import MemoryReport
from agent.toolbox.registries import GpuReport
from tools.units import bytes_from_gb


def board_bytes(draft: Draft, card: GpuReport | None, slots: Slots) -> int | None:
    """Bytes a run can have on a board with unified memory; None for any other card."""
    label = slots.gpu_mem_gb or (card.memory_label_gb if card is not None else None)
    if card is None or not card.is_unified or card.usable_bytes is not None or not label:
        return None
    usable = bytes_from_gb(label * shares.PROCESS)
    draft.figure("memory", label, "GB", sources=(card.source,))
    draft.figure("usable", usable, "B", formula=f"memory * {shares.PROCESS}")
    return usable


def judged_on_board(report: MemoryReport, card: GpuReport, usable: int) -> MemoryReport:
    """An estimate without a verdict, held against the memory of a board."""
    verdict: Verdict = "fits" if report.high_bytes <= usable else "tight"
    if report.process_bytes > usable:
        verdict = "does_not_fit"
    return report.model_copy(update={
        "usable_bytes": usable, "headroom_bytes": usable - report.process_bytes,
        "verdict": verdict, "label_gb": card.memory_label_gb,
        "gpu": report.gpu or card.name,
    })  # fmt: skip
