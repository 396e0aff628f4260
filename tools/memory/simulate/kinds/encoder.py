"""BERT-like encoders: classification, masked language modelling, contrastive embedding."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

from tools.memory.simulate.kinds.common import from_config, labels, tokens
from tools.memory.simulate.request import SimulationRequest
from tools.memory.simulate.steps import LossOf

_QUERY_TOKENS = 64
_TEMPERATURE = 0.02
_CLASSES = {
    "bert": "AutoModelForSequenceClassification",
    "mlm": "AutoModelForMaskedLM",
    "embed": "AutoModel",
}


def build(request: SimulationRequest) -> nn.Module:
    """The encoder with the head of its kind."""
    return from_config(request, _CLASSES[request.kind])


def feed(request: SimulationRequest) -> LossOf:
    """Token ids with a label a row (bert), a label a token (mlm), or pairs of texts (embed)."""
    ids = tokens(request, request.seq_len)
    if request.kind == "embed":
        return _pairs(tokens(request, request.target_len or _QUERY_TOKENS), ids, request)
    inputs = {"input_ids": ids, **_mask(ids, request)}
    if request.task == "train":
        inputs["labels"] = labels(request) if request.kind == "bert" else ids

    def forward(model: nn.Module) -> tuple[torch.Tensor, Any]:
        outputs = model(**inputs)
        return outputs.loss, outputs

    return forward


def _mask(ids: torch.Tensor, request: SimulationRequest) -> dict[str, torch.Tensor]:
    if not request.padding_mask:
        return {}
    return {"attention_mask": torch.ones(ids.shape, dtype=torch.long)}


def _pairs(queries: torch.Tensor, documents: torch.Tensor, request: SimulationRequest) -> LossOf:
    wanted = torch.empty((request.batch,), dtype=torch.long)

    def forward(model: nn.Module) -> tuple[torch.Tensor, Any]:
        vectors = []
        for ids in (queries, documents):
            hidden = model(input_ids=ids, **_mask(ids, request)).last_hidden_state
            vectors.append(functional.normalize(hidden[:, 0], dim=-1))
        scores = vectors[0] @ vectors[1].T / _TEMPERATURE
        return functional.cross_entropy(scores.float(), wanted), vectors

    return forward
