"""The VRAM calculator: what a training or serving workload needs on each card.

from tools.memory import TrainingWorkload, estimate, fit
need = estimate(TrainingWorkload(get_model("Qwen/Qwen2.5-7B"), method="lora"))
fit(need, get_gpu("A10").usable_bytes).verdict
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tools.memory.cases import answer_case, case_workload
    from tools.memory.changes import what_to_change
    from tools.memory.engine_words import GGUF_ENGINES, is_gguf
    from tools.memory.estimator import estimate
    from tools.memory.fitting import fit, likely, likely_verdict, waiting_bytes
    from tools.memory.inverse import (
        fewest_cards,
        largest_batch,
        longest_context,
        most_concurrent,
        most_kv_tokens,
        smallest_card,
    )
    from tools.memory.kernels import KernelFloor, kernel_floor, workload_floor
    from tools.memory.pools import CachePool, cache_pool, known_pool
    from tools.memory.result import (
        Change,
        FitResult,
        Interval,
        MemoryEstimate,
        Part,
        SmallestCard,
        Swing,
    )
    from tools.memory.tables import closest_format_names, is_format
    from tools.memory.workload import (
        Goal,
        InferenceWorkload,
        TrainingWorkload,
        Workload,
        split_method,
    )

_HOMES = {
    "estimator": ("estimate",),
    "fitting": ("fit", "likely", "likely_verdict", "waiting_bytes"),
    "cases": ("answer_case", "case_workload"),
    "changes": ("what_to_change",),
    "inverse": (
        "fewest_cards", "largest_batch", "longest_context", "most_concurrent", "most_kv_tokens",
        "smallest_card",
    ),
    "kernels": ("KernelFloor", "kernel_floor", "workload_floor"),
    "pools": ("CachePool", "cache_pool", "known_pool"),
    "result": (
        "Change", "FitResult", "Interval", "MemoryEstimate", "Part", "SmallestCard", "Swing",
    ),
    "engine_words": ("GGUF_ENGINES", "is_gguf"),
    "tables": ("closest_format_names", "is_format"),
    "workload": ("Goal", "InferenceWorkload", "TrainingWorkload", "Workload", "split_method"),
}  # fmt: skip
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "GGUF_ENGINES",
    "CachePool",
    "Change",
    "FitResult",
    "Goal",
    "InferenceWorkload",
    "Interval",
    "KernelFloor",
    "MemoryEstimate",
    "Part",
    "SmallestCard",
    "Swing",
    "TrainingWorkload",
    "Workload",
    "answer_case",
    "cache_pool",
    "case_workload",
    "closest_format_names",
    "estimate",
    "fewest_cards",
    "fit",
    "is_format",
    "is_gguf",
    "kernel_floor",
    "known_pool",
    "largest_batch",
    "likely",
    "likely_verdict",
    "longest_context",
    "most_concurrent",
    "most_kv_tokens",
    "smallest_card",
    "split_method",
    "waiting_bytes",
    "what_to_change",
    "workload_floor",
]


def __getattr__(name: str) -> Any:
    """Loads a public name from its module at first use."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
