"""CLIP of transformers: images and captions of one batch, contrasted with each other."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tools.memory.simulate.kinds.common import from_config, tokens, weights_dtype
from tools.memory.simulate.request import SimulationRequest
from tools.memory.simulate.steps import LossOf

_TEXT_TOKENS = 77
_PX = 224
"""The position table is of this size."""


def build(request: SimulationRequest) -> nn.Module:
    """Both towers of the request's config."""
    return from_config(request, "CLIPModel")


def feed(request: SimulationRequest) -> LossOf:
    """Images, and captions padded to the context's length."""
    given = {
        "pixel_values": torch.empty((request.batch, 3, _PX, _PX), dtype=weights_dtype(request)),
        "input_ids": tokens(request, _TEXT_TOKENS),
    }

    def forward(model: nn.Module) -> tuple[torch.Tensor, Any]:
        outputs = model(**given, return_loss=True)
        return outputs.loss, outputs

    return forward
