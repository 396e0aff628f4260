"""SegFormer for semantic segmentation."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tools.memory.simulate.kinds.common import from_config, weights_dtype
from tools.memory.simulate.request import SimulationRequest
from tools.memory.simulate.steps import LossOf


def build(request: SimulationRequest) -> nn.Module:
    """The segmenter of the request's config; its attention has the eager form only."""
    import dataclasses

    eager = dataclasses.replace(request, attention="eager")
    return from_config(eager, "AutoModelForSemanticSegmentation")


def feed(request: SimulationRequest) -> LossOf:
    """Images and one label a pixel."""
    px = request.image_px or 512
    images = torch.empty((request.batch, 3, px, px), dtype=weights_dtype(request))
    wanted = torch.empty((request.batch, px, px), dtype=torch.long)

    def forward(model: nn.Module) -> tuple[torch.Tensor, Any]:
        outputs = model(pixel_values=images, labels=wanted)
        return outputs.loss, outputs

    return forward
