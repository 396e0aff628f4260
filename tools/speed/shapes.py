"""The dimensions of a model that its speed depends on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from tools.errors import (
    AmbiguousModelError,
    BadQuantityError,
    UnknownModelError,
    UnsupportedError,
)
from tools.provenance import Assumption

ENCODER_KINDS = {"encoder", "embedding", "reranker"}
SIZE_TOLERANCE = 0.25
"""A registry row whose size is further off than this from the stated one is not the model meant."""
USUAL_EXPERTS = 64
"""Experts of a layer where the model does not say."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Dimensions of a transformer; parameters are counts, not billions."""

    name: str
    params_total: float
    params_active: float
    """Parameters that one token passes through."""
    layers: int
    hidden: int
    heads_dim: int
    """Attention heads times their size: the width of the attention sum."""
    kv_elems: float
    """Cache elements that one token adds over all layers."""
    vocab: int
    embedding_params: float
    """Parameters that are looked up and never multiplied."""
    window: int | None
    """Tokens that every layer's attention sees at most; None when unlimited."""
    is_encoder: bool
    is_moe: bool
    kind: str
    assumptions: tuple[Assumption, ...] = ()
    experts: int | None = None
    """Routed experts of a layer; None for dense models and where it is not known."""
    experts_per_token: int | None = None
    positions: int | None = None
    """Tokens that the model was made for; None where that is not known."""

    @property
    def matmul_params(self) -> float:
        """Active parameters that take part in a matrix product, the output head included."""
        return max(self.params_active - self.embedding_params, 0.05 * self.params_active)

    @property
    def read_params(self) -> float:
        """Parameters read for one token: the active ones without the input embedding."""
        return self.matmul_params


def shape_of_size(params: float, *, active: float | None = None, name: str | None = None) -> Shape:
    """A decoder of `params` parameters with the usual proportions.

    Args:
        params: Parameters (count).
        active: Active parameters of a Mixture-of-Experts model.
        name: How it is called in assumptions.

    Raises:
        BadQuantityError: If params is not above zero.

    Source: params = 12 * layers * hidden**2 with hidden = 128 * layers, which gives Llama-7B's
    32 x 4096 at 6.6 B.

    >>> shape_of_size(6.6e9).layers
    32
    """
    if not params > 0:
        raise BadQuantityError(field="params", given=params, allowed="above 0")
    dense = active or params
    layers = max(2, round((dense / (12 * 128**2)) ** (1 / 3)))
    hidden = max(64, round((dense / (12 * layers)) ** 0.5 / 64) * 64)
    grouped = dense > 2.5e10
    kv_width = 1024 if grouped else hidden
    vocab = 50_000
    why = "dimensions of a decoder of this size with the usual proportions"
    label = name or f"{params / 1e9:.3g}B"
    return Shape(
        name=label,
        params_total=params,
        params_active=dense,
        layers=layers,
        hidden=hidden,
        heads_dim=hidden,
        kv_elems=2.0 * layers * kv_width,
        vocab=vocab,
        embedding_params=0.0 if params < 3e9 else float(vocab * hidden),
        window=None,
        is_encoder=False,
        is_moe=active is not None and active < 0.9 * params,
        kind="decoder-lm",
        assumptions=(Assumption("model", label, "", why),),
    )


def shape_from_spec(spec: Any) -> Shape:
    """Dimensions of a registry row (a `ModelSpec` of tools.models)."""
    total = float(spec.params_total)
    fallback = shape_of_size(total, active=spec.params_active)
    hidden = spec.hidden_size or fallback.hidden
    layers = (spec.num_hidden_layers or fallback.layers) + (spec.num_decoder_layers or 0)
    heads = spec.num_attention_heads
    head_dim = spec.head_dim or (hidden // heads if heads else None)
    heads_dim = heads * head_dim if heads and head_dim else hidden
    vocab = spec.vocab_size or 0
    if spec.kv_elems_per_token:
        kv_elems = float(spec.kv_elems_per_token)
    elif spec.num_key_value_heads and head_dim:
        kv_elems = 2.0 * layers * spec.num_key_value_heads * head_dim
    else:
        kv_elems = 2.0 * layers * hidden
    window = None
    if spec.sliding is not None and not spec.sliding.full_layers:
        window = spec.sliding.window
    return Shape(
        name=spec.name,
        params_total=total,
        params_active=float(spec.params_active or total),
        layers=layers,
        hidden=hidden,
        heads_dim=heads_dim,
        kv_elems=kv_elems,
        vocab=vocab,
        embedding_params=_looked_up(spec, vocab, hidden),
        window=window,
        is_encoder=spec.kind in ENCODER_KINDS,
        is_moe=bool(spec.is_moe),
        kind=spec.kind,
        experts=spec.moe.num_experts if spec.moe else None,
        experts_per_token=spec.moe.experts_per_token if spec.moe else None,
        positions=spec.max_position_embeddings,
    )


def _looked_up(spec: Any, vocab: int, hidden: int) -> float:
    """Parameters of tables that are only looked up.

    A tied head is a product for every token of a decoder; an encoder scores a few tokens or none.
    """
    if spec.tie_word_embeddings and spec.kind not in ENCODER_KINDS:
        return 0.0
    return float(vocab * hidden)


def _written_dimensions(text: str) -> tuple[int, int] | None:
    """(hidden, layers) where a name states them: `1536 hidden x 16 layers`."""
    found = re.search(r"(\d+)\s*hidden\s*[x×]\s*(\d+)\s*layers", text)
    return (int(found[1]), int(found[2])) if found else None


@cache
def shape_of(model: str | None, params_b: float | None = None) -> Shape:
    """Dimensions of a model by any spelling, or of its size alone.

    Args:
        model: A name as written; may be None.
        params_b: Size in billions, used when the name is not known.

    Raises:
        UnknownModelError: If the name is not known and no size is given.
        AmbiguousModelError: If it stands for several models and no size is given.
        BadQuantityError: If neither is given.
    """
    if model:
        from tools.models import find_model

        try:
            spec = find_model(model).spec
        except (UnknownModelError, AmbiguousModelError):
            if params_b is None:
                return _from_the_name(model)
        else:
            off = params_b is not None and abs(spec.params_total / 1e9 / params_b - 1)
            if not off or off <= SIZE_TOLERANCE:
                return shape_from_spec(spec)
        written = _written_dimensions(model)
        if written:
            return _shape_of_dimensions(model, *written)
        if params_b is not None and re.search(r"bert", model, re.IGNORECASE):
            return _encoder(shape_of_size(params_b * 1e9, name=model))
    if params_b is None:
        raise BadQuantityError(field="model", given=model, allowed="a model name or a size")
    return shape_of_size(params_b * 1e9, name=model)


def _from_the_name(model: str) -> Shape:
    """Dimensions that the name itself states: hidden x layers, a depth, or a size in billions.

    Raises:
        UnknownModelError: If it states none.
    """
    written = _written_dimensions(model)
    if written:
        return _shape_of_dimensions(model, *written)
    depth = re.match(r"nanochat\s+d(\d+)", model, re.IGNORECASE)
    if depth:  # width = 64 * depth (karpathy/nanochat)
        return _shape_of_dimensions(model, 64 * int(depth[1]), int(depth[1]))
    size = re.search(r"(?<![\w.])(\d+(?:\.\d+)?)\s*[bB](?![\w])", re.sub("[-_]", " ", model))
    if size is None:
        raise UnknownModelError(model)
    active = re.search(r"\b[aA](\d+(?:\.\d+)?)[bB]\b", model)
    return shape_of_size(
        float(size[1]) * 1e9, active=float(active[1]) * 1e9 if active else None, name=model
    )


def _shape_of_dimensions(name: str, hidden: int, layers: int) -> Shape:
    vocab = 50_304
    params = 12.0 * layers * hidden**2 + vocab * hidden
    base = shape_of_size(params, name=name)
    return Shape(
        **{
            **{field: getattr(base, field) for field in base.__slots__},
            "layers": layers,
            "hidden": hidden,
            "heads_dim": hidden,
            "kv_elems": 2.0 * layers * hidden,
            "vocab": vocab,
            "embedding_params": 0.0,
        }
    )


def _encoder(base: Shape) -> Shape:
    return Shape(
        **{
            **{field: getattr(base, field) for field in base.__slots__},
            "is_encoder": True,
            "kind": "encoder",
        }
    )


_ENCODER_LAYER = 12
"""Weights of an encoder layer in squares of its width: attention 4, feed-forward 8."""
_DECODER_LAYER = 16
"""The same of a decoder layer, with 4 for the attention over the audio."""
_CROSS = 2
"""Keys and values of the audio, made once per window and layer."""


@dataclass(frozen=True, slots=True)
class SpeechShape:
    """Dimensions of a speech model."""

    name: str
    width: int
    encoder_layers: int
    decoder_layers: int
    vocab: int

    def decoder_params(self) -> float:
        """Weights that one decoded token reads."""
        blocks = self.decoder_layers * (_DECODER_LAYER - _CROSS) * self.width**2
        return float(blocks + self.vocab * self.width)

    def window_flops(self, positions: float) -> float:
        """FLOP of the encoder over one window, with the decoder's keys and values of the audio."""
        layers = self.encoder_layers * _ENCODER_LAYER + self.decoder_layers * _CROSS
        sums = 4 * positions * self.encoder_layers * self.width
        return positions * (2.0 * layers * self.width**2 + sums)

    def cross_elements(self, positions: float) -> float:
        """Cache elements that one decoded token reads: keys and values of the audio."""
        return 2.0 * positions * self.decoder_layers * self.width


def speech_shape(name: str) -> SpeechShape:
    """Dimensions of a speech model by any spelling.

    Raises:
        UnknownModelError: If the name is not known.
        UnsupportedError: If it is not a speech model with known dimensions.
    """
    from tools.models import find_model

    spec: Any = find_model(name).spec
    if spec.kind != "speech" or not spec.hidden_size or not spec.num_hidden_layers:
        raise UnsupportedError(
            spec.name,
            reason="it is not a speech model with known dimensions",
            instead="Name a Whisper or wav2vec 2.0 model.",
        )
    return SpeechShape(
        spec.name,
        spec.hidden_size,
        spec.num_hidden_layers,
        spec.num_decoder_layers or 0,
        (spec.vocab_size or 0) if spec.num_decoder_layers else 0,
    )
