"""Intervals: how far off each counter may be, and which assumption moves it most.

Two sources of width. What the closed forms cannot see (allocator, kernels, library versions) is
a range observed over published runs, by counter and situation. What was not said is explored:
each assumed field takes its other plausible values and the estimate is computed again.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

from tools.errors import UserInputError
from tools.memory.result import Interval, MemoryEstimate, Swing
from tools.memory.workload import Counter, InferenceWorkload, TrainingWorkload, Workload

_TRAINING_FIELDS = (
    "precision", "quantization", "optimizer", "micro_batch_size", "seq_len",
    "gradient_checkpointing",
)  # fmt: skip
_SERVING_FIELDS = ("engine", "weight_format", "context_len", "kv_dtype", "gpu_count")
_STEADY = {"allocated": (0.955, 1.06), "reserved": (0.91, 1.12), "process": (0.91, 1.12)}
"""One card, a plain training step: what a published figure was over the estimate."""
_SHARDED = {"allocated": (0.90, 1.12), "reserved": (0.89, 1.11), "process": (0.90, 1.12)}
_SERVING = {"allocated": (0.91, 1.06), "reserved": (0.90, 1.10), "process": (0.90, 1.12)}
_OPEN = {"allocated": (0.85, 1.20), "reserved": (0.85, 1.25), "process": (0.85, 1.25)}
_OPEN_SERVING = {"allocated": (0.88, 1.12), "reserved": (0.88, 1.15), "process": (0.88, 1.17)}
_WIDEST = 1.95
"""High over low beyond which an interval says nothing; open fields are clipped to it."""
_WIDEST_COMPLETE = 1.245

_ALTERNATIVES: dict[str, tuple[Any, ...]] = {
    "gradient_checkpointing": ("none", "full"),
    "seq_len": (512, 2048),
    "micro_batch_size": (2,),
    "optimizer": ("adamw", "adamw-8bit"),
    "optimizer_impl": ("fused", "foreach"),
    "precision": ("bf16-mixed", "pure-bf16"),
    "fused_ce": (True, False),
    "kbit_prepared": (True, False),
    "double_quant": (True, False),
    "lora_rank": (8, 64),
    "lora_targets": (("q_proj", "v_proj"), "all-linear"),
    "method": ("lora", "qlora"),
    "kv_dtype": ("bf16", "fp8"),
    "context_len": (2048, 8192),
    "prompt_len": (512,),
    "batch": (4,),
    "beams": (5,),
    "engine": ("vllm", "transformers"),
}


def is_complete(workload: Workload) -> bool:
    """Whether every field that moves the number was said."""
    if isinstance(workload, TrainingWorkload):
        return all(getattr(workload, field) is not None for field in _TRAINING_FIELDS)
    said = all(getattr(workload, field) is not None for field in _SERVING_FIELDS)
    return said and (workload.batch is not None or workload.concurrency is not None)


def swings(
    workload: Workload, assumed: tuple[tuple[str, Any], ...], process_bytes: int
) -> tuple[Swing, ...]:
    """What each assumed value moves, as process bytes, largest first.

    Args:
        workload: With only what was said.
        assumed: Name and value of each field that was not said.
        process_bytes: The estimate with the assumed values, one end of most swings.
    """
    found = []
    for name, value in assumed:
        figures = [need.process_bytes for need in _alternatives(workload, name, value)]
        if figures:
            figures.append(process_bytes)
            found.append(Swing(name, min(figures), max(figures)))
    return tuple(sorted(found, key=lambda swing: swing.low_bytes - swing.high_bytes))


def _alternatives(workload: Workload, name: str, value: Any) -> Iterator[MemoryEstimate]:
    from tools.memory.estimator import estimate

    choices = _ALTERNATIVES.get(name, ())
    if not choices or not hasattr(workload, name):
        return
    for choice in dict.fromkeys(choices):
        if choice == value:
            continue
        try:
            yield estimate(dataclasses.replace(workload, **{name: choice}))
        except UserInputError:
            continue


def interval(estimate: MemoryEstimate, counter: Counter) -> Interval:
    """Bounds around one counter of an estimate."""
    value = float(getattr(estimate, f"{counter}_bytes"))
    low, high = _observed(estimate)[counter]
    bounds = [value * low, value * high]
    if not is_complete(estimate.workload):
        shift = value - estimate.process_bytes
        for swing in estimate.swings:
            bounds[0] = min(bounds[0], swing.low_bytes + shift)
            bounds[1] = max(bounds[1], swing.high_bytes + shift)
        bounds = _clipped(value, bounds[0], bounds[1], _WIDEST)
    return Interval(math.floor(bounds[0]), math.ceil(bounds[1]))


def _observed(estimate: MemoryEstimate) -> dict[Counter, tuple[float, float]]:
    workload = estimate.workload
    if not is_complete(workload):
        serves = isinstance(workload, InferenceWorkload)
        return _OPEN_SERVING if serves else _OPEN  # type: ignore[return-value]  # counters
    if workload.model.is_reference:
        return _SHARDED  # type: ignore[return-value]
    if isinstance(workload, InferenceWorkload):
        return _SERVING  # type: ignore[return-value]
    alone = estimate.gpu_count == 1 and workload.parallelism in (None, "none")
    return _STEADY if alone else _SHARDED  # type: ignore[return-value]


def _clipped(value: float, low: float, high: float, widest: float) -> list[float]:
    """The same bounds drawn in around the value until high is at most widest x low."""
    if high <= widest * low:
        return [low, high]
    below = min(value / max(low, 1.0), math.sqrt(widest))
    above = widest / below
    if high < value * above:
        above = high / value
        below = widest / above
    return [value / below, value * above]


def interval_for(estimate: MemoryEstimate, counter: str) -> Interval:
    """Bounds for the counter that a measured row names."""
    complete = is_complete(estimate.workload)
    if counter in ("weights", "kv_cache"):
        value = getattr(estimate, f"{counter}_bytes")
        low, high = (0.96, 1.05) if complete else (0.90, 1.12)
        return Interval(math.floor(value * low), math.ceil(value * high))
    if counter == "allocated":
        return interval(estimate, "allocated")
    if counter == "reserved":
        return interval(estimate, "reserved")
    if counter == "process":
        return interval(estimate, "process")
    low = interval(estimate, "allocated").low_bytes
    high = interval(estimate, "process").high_bytes
    widest = _WIDEST_COMPLETE if complete else _WIDEST
    middle = math.sqrt(float(estimate.allocated_bytes) * estimate.process_bytes)
    bounds = _clipped(middle, low, high, widest)
    return Interval(math.floor(bounds[0]), math.ceil(bounds[1]))
