"""Causal language models."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tools.memory.simulate.kinds.common import from_config, tokens
from tools.memory.simulate.request import SimulationRequest
from tools.memory.simulate.steps import LossOf


def build(request: SimulationRequest) -> nn.Module:
    """The causal model of the request's config."""
    return from_config(request, "AutoModelForCausalLM")


def feed(request: SimulationRequest) -> LossOf:
    """input_ids and labels (the same tensor); a prefill with its cache for inference."""
    ids = tokens(request, request.seq_len)
    inputs: dict[str, Any] = {"input_ids": ids}
    if request.padding_mask:
        inputs["attention_mask"] = torch.ones(ids.shape, dtype=torch.long)
    if request.task == "train":
        inputs["labels"] = ids
    else:
        inputs["use_cache"] = True
        inputs["logits_to_keep"] = 1 if request.logits == "last" else 0

    def forward(model: nn.Module) -> tuple[torch.Tensor, Any]:
        outputs = model(**inputs)
        return outputs.loss, outputs

    return forward
