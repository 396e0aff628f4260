"""The GPU table, and every way to write a card's name.

`find_gpu` reads one written name, `scan_gpus` reads free text, `memory_class` stands for a card
of which only the memory is known. Names are loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tools.gpus.index import closest_gpus
    from tools.gpus.names import find_gpu, scan_gpus, slices_of, unified_share
    from tools.gpus.registry import all_gpus, get_gpu, memory_class
    from tools.gpus.spec import GpuMatch, GpuMention, GpuSpec

_HOMES = {
    "index": ("closest_gpus",),
    "names": ("find_gpu", "scan_gpus", "slices_of", "unified_share"),
    "registry": ("all_gpus", "get_gpu", "memory_class"),
    "spec": ("GpuMatch", "GpuMention", "GpuSpec"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

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
    "slices_of",
    "unified_share",
]


def __getattr__(name: str) -> Any:
    """Loads a public name from its module at first use."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
