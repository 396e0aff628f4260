"""What the caching allocator holds beyond live tensors, by situation."""

from __future__ import annotations

import math

from tools.memory.resolve import TrainRun
from tools.memory.training import Peak

_FUSED = 1.05
_QUANTIZED = 1.12
_FULL = 1.05
_FSDP = 1.18
_ZERO3 = 1.08


def training_slack(run: TrainRun, peak: Peak, allocated: int) -> int:
    """Reserved less allocated, in bytes, of a training run."""
    kind = run.sharding.kind
    if kind == "fsdp":
        factor = _FSDP
    elif kind == "zero3":
        factor = _ZERO3
    elif run.quantization != "none":
        factor = _QUANTIZED
    else:
        factor = _FUSED if run.adapter else _FULL
    return math.ceil(allocated * (factor - 1))
