"""The GPU table, and every way to write a card's name.

`find_gpu` reads one written name, `scan_gpus` reads free text, `memory_class` stands for a card
of which only the memory is known.
"""

from __future__ import annotations

from tools.gpus.index import closest_gpus
from tools.gpus.names import find_gpu, scan_gpus
from tools.gpus.registry import all_gpus, get_gpu, memory_class
from tools.gpus.spec import GpuMatch, GpuMention, GpuSpec

__all__ = [
    "GpuMatch",
    "GpuMention",
    "GpuSpec",
    "all_gpus",
    "closest_gpus",
    "find_gpu",
    "get_gpu",
    "memory_class",
    "scan_gpus",
]
