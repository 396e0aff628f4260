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
