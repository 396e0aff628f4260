"""T5 and its kin."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tools.memory.simulate.kinds.common import from_config, tokens
from tools.memory.simulate.request import SimulationRequest
from tools.memory.simulate.steps import LossOf


def build(request: SimulationRequest) -> nn.Module:
    """The encoder-decoder of the request's config."""
    return from_config(request, "AutoModelForSeq2SeqLM")


def feed(request: SimulationRequest) -> LossOf:
    """input_ids of seq_len, labels of target_len."""
    inputs = {"input_ids": tokens(request, request.seq_len)}
    inputs["labels"] = tokens(request, request.target_len or request.seq_len)

    def forward(model: nn.Module) -> tuple[torch.Tensor, Any]:
        outputs = model(**inputs)
        return outputs.loss, outputs

    return forward
