"""Whisper for generation, wav2vec 2.0 for classification."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tools.memory.simulate.kinds.common import (
    from_config,
    hf_class_config,
    labels,
    tokens,
    weights_dtype,
)
from tools.memory.simulate.request import SimulationRequest
from tools.memory.simulate.steps import LossOf

_MEL_FRAMES = 3000
"""30 s of log-Mel, whatever the clip."""


def build(request: SimulationRequest) -> nn.Module:
    """The speech model of the request's config; wav2vec 2.0 without masking and layer drop."""
    config = hf_class_config(request)
    if request.kind == "whisper":
        return from_config(request, "AutoModelForSpeechSeq2Seq", config)
    config.mask_time_prob = config.mask_feature_prob = config.layerdrop = 0.0
    return from_config(request, "AutoModelForAudioClassification", config)


def feed(request: SimulationRequest) -> LossOf:
    """Log-Mel features and text labels (whisper), or the wave form and one label."""
    given: dict[str, Any]
    dtype = weights_dtype(request)
    if request.kind == "whisper":
        bins = int(request.config.get("num_mel_bins", 80))
        features = torch.empty((request.batch, bins, _MEL_FRAMES), dtype=dtype)
        given = {"input_features": features, "labels": tokens(request, request.seq_len)}
    else:
        wave = torch.empty((request.batch, request.audio_samples or 160_000), dtype=dtype)
        given = {"input_values": wave, "labels": labels(request)}

    def forward(model: nn.Module) -> tuple[torch.Tensor, Any]:
        outputs = model(**given)
        return outputs.loss, outputs

    return forward
