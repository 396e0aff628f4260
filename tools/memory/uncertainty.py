"""Intervals: how far off each counter may be, from what is unknown."""

from __future__ import annotations

import math

from tools.memory.result import Interval, MemoryEstimate
from tools.memory.workload import Counter

_KNOWN = {"allocated": (0.97, 1.05), "reserved": (0.93, 1.12), "process": (0.92, 1.12)}
_OPEN = {"allocated": (0.85, 1.25), "reserved": (0.82, 1.35), "process": (0.80, 1.38)}


def interval(estimate: MemoryEstimate, counter: Counter) -> Interval:
    """Bounds around one counter of an estimate."""
    value = getattr(estimate, f"{counter}_bytes")
    low, high = (_OPEN if estimate.assumed else _KNOWN)[counter]
    return Interval(math.floor(value * low), math.ceil(value * high))


def interval_for(estimate: MemoryEstimate, counter: str) -> Interval:
    """Bounds for the counter that a measured row names."""
    if counter in ("weights", "kv_cache"):
        value = getattr(estimate, f"{counter}_bytes")
        return Interval(math.floor(value * 0.97), math.ceil(value * 1.04))
    if counter == "allocated":
        return interval(estimate, "allocated")
    if counter == "reserved":
        return interval(estimate, "reserved")
    if counter == "process":
        return interval(estimate, "process")
    return Interval(
        interval(estimate, "allocated").low_bytes, interval(estimate, "process").high_bytes
    )
