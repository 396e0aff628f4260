"""How many parameters of a model are what: matrices, experts, embedding, head, the rest."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

from tools.errors import UnsupportedError
from tools.memory.layers.decoder import build_layer
from tools.memory.layers.ops import Linear, Mode
from tools.memory.layers.plan import layer_kinds
from tools.memory.speccache import by_identity
from tools.models import ModelSpec, get_model, reference_model

_UNEXPLAINED = 0.05
"""Share of parameters outside known matrices above which they are matrices not known to us."""

DECODER_KINDS = frozenset({"decoder-lm", "moe-lm", "vlm", "embedding", "reranker"})


_LANGUAGE_KINDS = DECODER_KINDS - {"embedding", "reranker"}


@by_identity
def decoder_of(spec: ModelSpec) -> ModelSpec | None:
    """The model with decoder dimensions filled in where its row has only a total.

    A vision-language row borrows its text backbone's layers, any other language model those of
    the reference architecture of its size. None for models that are no decoders.
    """
    if is_decoder(spec) or is_encoder(spec):
        return spec
    if spec.kind not in _LANGUAGE_KINDS:
        return None
    text = spec.params_total - (spec.vision_params or 0)
    body = get_model(spec.text_backbone) if spec.text_backbone else reference_model(text / 1e9)
    return dataclasses.replace(
        body, name=spec.name, kind=spec.kind, params_total=spec.params_total,
        vision_params=spec.vision_params, is_reference=spec.text_backbone is None,
    )  # fmt: skip


class ParamGroups(NamedTuple):
    """Parameters by what formats and shards do to them (counts over the whole model)."""

    total: int
    linear: int
    """Matrices inside layers that quantisation and all-linear adapters touch."""
    experts: int
    """Routed experts."""
    embedding: int
    head: int
    """Output head that is a matrix of its own; 0 when tied."""
    vision: int
    other: int
    """Norms, biases, routers, positions and whatever else stays in 16 bit."""
    largest_tensor: int
    layer_largest: int
    """Largest tensor inside a layer."""
    per_layer: int
    """Parameters of the largest layer."""


def is_decoder(spec: ModelSpec) -> bool:
    """Whether the closed forms of decoder layers cover this model."""
    return spec.kind in DECODER_KINDS and bool(
        spec.hidden_size and spec.num_hidden_layers and spec.vocab_size and spec.formula != "bert"
    )


def is_encoder(spec: ModelSpec) -> bool:
    """Whether the model is a BERT-like encoder: no cache, no output head of its own."""
    return spec.formula in ("bert", "deberta") and bool(spec.hidden_size and spec.vocab_size)


@by_identity
def layer_linears(spec: ModelSpec, code: str = "") -> tuple[tuple[Linear, int], ...]:
    """Every matrix inside the layers, with the number of layers that have it."""
    kinds = layer_kinds(spec, code=code)
    found: list[tuple[Linear, int]] = []
    for number, plan in enumerate(kinds.plans):
        count = kinds.order.count(number)
        found += [(linear, count) for linear in build_layer(plan, Mode()).linears]
    return tuple(found)


@by_identity
def param_groups(spec: ModelSpec) -> ParamGroups:
    """Parameters of a decoder by group; they sum to the registry's exact total.

    Raises:
        UnsupportedError: If the model's dimensions are not known.
    """
    if not is_decoder(spec) and not is_encoder(spec):
        raise UnsupportedError(
            spec.name, reason=f"no layer dimensions of a decoder are known (kind {spec.kind})"
        )
    hidden, vocab = spec.hidden_size or 0, spec.vocab_size or 0
    linear = sum(int(m.params) * count for m, count in layer_linears(spec) if m.quantizable)
    experts = _expert_params(spec)
    width = spec.embed_proj_dim or hidden
    embedding = vocab * width
    headless = spec.tie_word_embeddings or spec.no_lm_head or is_encoder(spec)
    head = 0 if headless else vocab * width
    vision = spec.vision_params or 0
    other = spec.params_total - linear - experts - embedding - head - vision
    if other < 0 or other > _UNEXPLAINED * spec.params_total:
        linear, other = max(linear + other, 0), 0
    largest_matrix = max((int(m.params) for m, _ in layer_linears(spec)), default=0)
    if spec.moe is not None:
        per_expert = 2 * spec.moe.moe_intermediate_size * hidden
        largest_matrix = max(largest_matrix, per_expert * spec.moe.num_experts)
    layers = spec.num_hidden_layers or 1
    return ParamGroups(
        total=spec.params_total, linear=linear, experts=experts, embedding=embedding, head=head,
        vision=vision, other=other, largest_tensor=max(embedding, largest_matrix),
        layer_largest=largest_matrix, per_layer=(linear + experts) // layers,
    )  # fmt: skip


def _expert_params(spec: ModelSpec) -> int:
    moe = spec.moe
    if moe is None:
        return 0
    matrices = 3 if spec.mlp != "plain" else 2
    one = matrices * moe.moe_intermediate_size * (spec.hidden_size or 0)
    return one * moe.num_experts * moe.num_moe_layers
