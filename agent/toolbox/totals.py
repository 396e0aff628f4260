"""Cards by the total that a tool shows: nvidia-smi, or the text of a CUDA error (PyTorch's own).

The same card has three sizes: the label on the box, what nvidia-smi prints, and what a process can
get. The table of cards holds all three, so a total tells which cards it can be of.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from tools.gpus import GpuSpec

_SAME_MIB = 2
"""MiB by which two readings of nvidia-smi may differ by rounding."""
_SPREAD = 0.01
"""Share by which the total of a process differs between drivers."""


class CardTotal(NamedTuple):
    """What a total tells of the card."""

    cards: tuple[GpuSpec, ...]
    """Cards that show it, the nearest first."""
    others: tuple[GpuSpec, ...]
    """Cards of the same label that show another total."""
    label_gb: float
    """GB on the box."""
    usable_mib: int
    """MiB that a process can get."""
    is_of_process: bool
    """Whether it is the total that a process sees, not nvidia-smi's."""


@lru_cache(maxsize=64)
def card_total(total_mib: float) -> CardTotal | None:
    """The cards whose total it can be, by measured rows of the table; None where no card has it.

    Args:
        total_mib: Total as nvidia-smi or an out-of-memory text shows it, MiB.
    """
    from tools.gpus import all_gpus

    rows = [spec for spec in all_gpus() if _is_measured(spec)]
    exact = [s for s in rows if abs((s.memory_smi_mib or 0) - total_mib) <= _SAME_MIB]
    near = [s for s in rows if _could_show(s, total_mib)]
    cards = sorted(exact or near, key=lambda s: abs((s.memory_usable_mib or 0) - total_mib))
    if not cards:
        return None
    label = float(cards[0].memory_label_gb or 0)
    same = [s for s in cards if s.memory_label_gb == label]
    others = [s for s in rows if s.memory_label_gb == label and s not in exact + near]
    usable = min(s.memory_usable_mib or 0 for s in same) if exact else int(total_mib)
    return CardTotal(tuple(same), tuple(others), label, usable, not exact)


def _is_measured(spec: GpuSpec) -> bool:
    """Whether a total of the card was seen, and its memory is its own."""
    is_seen = spec.usable_basis == "seen" or spec.memory_smi_mib is not None
    return is_seen and bool(spec.memory_usable_mib and spec.memory_label_gb) and not spec.is_unified


def _could_show(spec: GpuSpec, total_mib: float) -> bool:
    """Whether a process on the card may see this total: no more than nvidia-smi prints."""
    usable = spec.memory_usable_mib or 0
    most = max(usable * (1 + _SPREAD), spec.memory_smi_mib or 0)
    return usable * (1 - _SPREAD) <= total_mib <= most
