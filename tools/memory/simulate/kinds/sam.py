"""Segment Anything of transformers: an image of 1,024 pixels, one box, its masks."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tools.memory.simulate.kinds.common import from_config, weights_dtype
from tools.memory.simulate.request import SimulationRequest
from tools.memory.simulate.steps import LossOf

_PX = 1024
"""The position tables are of this size: every image is resized to it."""


def build(request: SimulationRequest) -> nn.Module:
    """The encoder, prompt encoder and mask decoder of the request's config."""
    return from_config(request, "SamModel")


def feed(request: SimulationRequest) -> LossOf:
    """Images and one box each; mean of squares of the masks stands in for the loss."""
    dtype = weights_dtype(request)
    given = {
        "pixel_values": torch.empty((request.batch, 3, _PX, _PX), dtype=dtype),
        "input_boxes": torch.empty((request.batch, 1, 4), dtype=torch.float32),
        "multimask_output": False,
    }

    def forward(model: nn.Module) -> tuple[torch.Tensor, Any]:
        outputs = model(**given)
        return outputs.pred_masks.float().pow(2).mean(), outputs

    return forward
