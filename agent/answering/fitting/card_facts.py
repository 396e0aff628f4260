"""What a card really gives, and what it lacks of what the run would use."""

from __future__ import annotations

from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import gib
from agent.toolbox.memory import MemoryReport
from agent.toolbox.registries import GpuReport
from tools.units import GIB, MIB


def say_card(draft: Draft, report: MemoryReport, card: GpuReport | None) -> None:
    """Label against usable memory, and what the card cannot do."""
    if report.usable_bytes is None or report.gpu is None or report.label_gb is None:
        return
    usable = gib(report.usable_bytes)
    draft.figure("memory_label", report.label_gb, "GB", sources=(f"data:gpus.csv#{report.gpu}",))
    if report.slice_memory_gb is not None:
        parts = round(report.label_gb / report.slice_memory_gb)
        draft.figure("slice_memory", report.slice_memory_gb, "GB", sources=("data:gpus.csv",))
        draft.say("memory.slice", slice=f"{report.slice_memory_gb:g}", label=f"{report.label_gb:g}",
                  parts=parts, usable=usable)  # fmt: skip
        _say_larger_slice(draft, report, report.slice_memory_gb)
    elif report.gpu.endswith("class"):
        draft.say("memory.card_class", label=f"{report.label_gb:g}", usable=usable)
    else:
        exact = f"{report.usable_bytes / 1024**3:.2f} GiB"
        draft.say("memory.card", gpu=report.gpu, label=f"{report.label_gb:g}", usable=exact,
                  mib=f"{report.usable_bytes // MIB:,}")  # fmt: skip
    if card is not None:
        _say_unified(draft, card)
        _say_stack(draft, report, card)
        say_precision(draft, card)


def _say_larger_slice(draft: Draft, report: MemoryReport, size_gb: float) -> None:
    """The smallest larger slice of the same card that holds the run, where this one does not."""
    from tools.gpus import slices_of

    profiles = slices_of(report.gpu or "")
    if not profiles or report.verdict != "does_not_fit":
        return
    larger = (s for s in profiles if s[1] > size_gb)
    found = next((s for s in larger if s[1] * GIB - _KEPT_BYTES >= report.process_bytes), None)
    if found is None:
        draft.say("memory.slice_whole", label=f"{report.label_gb:g}")
        return
    draft.figure("larger_slice", found[1], "GB", sources=("data:gpus.csv",))
    draft.say("memory.slice_larger", profile=found[0])


_KEPT_BYTES = GIB // 2
"""Of a slice, what a process cannot get."""


def is_unified(card: GpuReport | None) -> bool:
    """Whether the card's memory is the machine's own, shared with the CPU."""
    return card is not None and card.is_unified


def is_metal(gpu: str | None) -> bool:
    """Whether a card is an Apple chip: one a machine, without kernels made for CUDA."""
    return gpu is not None and gpu.startswith("Apple")


def _say_unified(draft: Draft, card: GpuReport) -> None:
    """That unified memory holds as much as its size, at a fraction of a GPU's bandwidth."""
    if is_unified(card) and card.mem_bandwidth_gbs is not None:
        draft.say("memory.unified", gpu=card.name, rate=f"{card.mem_bandwidth_gbs:,.0f}",
                  importance=HEAD)  # fmt: skip


def _say_stack(draft: Draft, report: MemoryReport, card: GpuReport) -> None:
    """What PyTorch runs on where it is no CUDA: AMD's ROCm, and 4-bit training on it."""
    if (card.vendor or "").upper() != "AMD":
        return
    is_four_bit = report.task == "train" and report.method == "qlora"
    draft.say(f"memory.rocm{'_four_bit' if is_four_bit else ''}", gpu=card.name)


def say_precision(draft: Draft, card: GpuReport) -> None:
    """bf16, FlashAttention and FP8 where the card lacks what the run would use."""
    slots = draft.request.slots
    cc = f"{card.compute_capability:g}" if card.compute_capability is not None else ""
    is_corrected = any("bf16" in c.premise.casefold() for c in draft.corrections)
    if card.bf16_supported is False and cc and not is_corrected:
        flash = (
            "" if card.flash_attention2_supported is not False else draft.phrase("memory.no_flash")
        )
        draft.say("memory.no_bf16", gpu=card.name, cc=cc, flash=flash)
    is_corrected = any("fp8" in c.premise.casefold() for c in draft.corrections)
    if card.fp8_supported is False and slots.quantization == "fp8" and not is_corrected:
        why = draft.phrase("memory.no_fp8_cc", cc=cc) if cc else ""
        draft.say("memory.no_fp8", gpu=card.name, cc=why, importance=HEAD)
