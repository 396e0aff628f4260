"""DETR: a ResNet with frozen norms, then an encoder-decoder on its last stage."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import nn

from tools.memory.simulate.kinds.common import from_config, weights_dtype
from tools.memory.simulate.request import SimulationRequest
from tools.memory.simulate.steps import LossOf

_TRAINED_STAGES = ("stages.1.", "stages.2.", "stages.3.")
"""Of the backbone: the stem and the first stage stay frozen, as its authors train it."""


def build(request: SimulationRequest) -> nn.Module:
    """The detector of the request's config, attention in the eager form as its authors ran it."""
    eager = dataclasses.replace(request, attention="eager")
    model = from_config(eager, "AutoModelForObjectDetection")
    for name, parameter in model.named_parameters():
        is_norm = "normalization" in name
        if any(stage in name for stage in _TRAINED_STAGES) and not is_norm:
            parameter.requires_grad_(True)
    return model


def feed(request: SimulationRequest) -> LossOf:
    """Images; mean of squares of classes and boxes stands in for the matched loss."""
    px = request.image_px or 1024
    images = torch.empty((request.batch, 3, px, px), dtype=weights_dtype(request))

    def forward(model: nn.Module) -> tuple[torch.Tensor, Any]:
        outputs = model(pixel_values=images)
        squares = [t.float().pow(2).mean() for t in (outputs.logits, outputs.pred_boxes)]
        return torch.stack(squares).sum(), outputs

    return forward
