"""What the caching allocator holds beyond live tensors, by situation."""

from __future__ import annotations

import math

from tools.memory.resolve import TrainRun
from tools.memory.training import Peak

_MANY_TOKENS = 8192
_FUSED = 1.05
_QUANTIZED = 1.12
_FULL = 1.05
_FSDP = 1.18
_ZERO3 = 1.12
_PACKED_FULL = 1.22
_VARIABLE = ((2048, 43.0), (4096, 34.0), (8192, 28.0))
"""Bytes per logit that variable lengths leave reserved, by longest sample (observed)."""


def training_slack(run: TrainRun, peak: Peak, allocated: int) -> int:
    """Reserved less allocated, in bytes, of a training run."""
    kind = run.sharding.kind
    if run.asked.variable_length and not run.asked.packed and not run.fused_ce:
        return _variable_slack(run, peak, allocated)
    if kind == "fsdp":
        factor = _FSDP
    elif kind == "zero3":
        factor = _ZERO3
    elif run.quantization != "none":
        factor = _QUANTIZED
    else:
        factor = _FUSED if run.adapter else _FULL
        alone = run.sharding.kind in ("none", "ddp")
        if alone and not run.adapter and run.asked.packed and run.tokens >= _MANY_TOKENS:
            factor = _PACKED_FULL
    return math.ceil(allocated * (factor - 1))


def _variable_slack(run: TrainRun, peak: Peak, allocated: int) -> int:
    """Each new longest sample allocates new blocks for the logits and the old ones stay."""
    per_logit = _VARIABLE[-1][1]
    for length, value in _VARIABLE:
        if run.seq_len <= length:
            per_logit = value
            break
    logits = (run.spec.vocab_size or 0) * run.scored_tokens
    at_loss = peak.states.resident + peak.loss + logits * (per_logit - 12)
    return math.ceil(max(at_loss, allocated) - allocated + 0.02 * allocated)
