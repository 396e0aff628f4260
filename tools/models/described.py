"""A model that is only described: "GPT 498M (1536 hidden x 16 layers)", "h4096 L32 a32".

What the words give is taken, the rest is that of GPT-2's family (plain feed-forward of four
times the width, LayerNorm, its vocabulary); a size that is given too decides the feed-forward
width. Without width and depth the size alone gives the reference architecture.
"""

from __future__ import annotations

import dataclasses
import re

from tools.folding import fold
from tools.models.counting import count_params, kv_elems_per_token
from tools.models.reference import reference_model
from tools.models.spec import ModelSpec

_HIDDEN = re.compile(
    r"\bh\s*[=:]?\s*(\d{4,5})\b|\bhidden(?:[ _]?(?:size|dim))?\s*[=:]?\s*(\d{2,5})\b|"
    r"(\d{2,5})\s*hidden|"
    r"\bd_model\s*[=:]?\s*(\d{2,5})|\bn_embd\s*[=:]?\s*(\d{2,5})|隐藏(?:层)?(?:维度|大小)\s*[=:是]?\s*(\d{2,5})"
)
_LAYERS = re.compile(
    r"\bl(?:ayers?)?\s*[=:]?\s*(\d{1,3})\b|\b(\d{1,3})[ -]?layers?\b|"
    r"\b(?:n_layers?|num_layers|num_hidden_layers|depth)\s*[=:]?\s*(\d{1,3})|(\d{1,3})\s*层"
)
_HEADS = re.compile(
    r"\ba\s*[=:]?\s*(\d{1,3})\b|\b(\d{1,3})[ -]?(?:attention )?heads?\b|"
    r"\b(?:n_heads?|num_attention_heads|heads)\s*[=:]?\s*(\d{1,3})|(\d{1,3})\s*个?头"
)
_SIZE = re.compile(r"(?<![a-z0-9.])(\d{1,5}(?:\.\d+)?)\s?([bm])(?![a-z0-9])")
_ACTIVE = re.compile(r"(?<![a-z0-9])a(\d{1,4}(?:\.\d+)?)b(?![a-z0-9])")
_VOCAB = 50_257
_POSITIONS = 2048
_SAME = 0.03
"""A given size this near to the usual shape's count is that shape."""


def described_model(text: str, *, params_b: float | None = None) -> ModelSpec | None:
    """The architecture that a description gives, or None where it gives neither size nor shape.

    Args:
        text: A name or sentence that is no registry name.
        params_b: Parameters in billions, where they are known from elsewhere.

    >>> spec = described_model("GPT 498M (1536 hidden x 16 layers)")
    >>> spec.hidden_size, spec.num_hidden_layers, round(spec.params_total / 1e6)
    (1536, 16, 498)
    """
    folded = fold(text[:1000])
    hidden, layers = _first(_HIDDEN, folded), _first(_LAYERS, folded)
    size = _SIZE.search(folded)
    if params_b is None and size is not None:
        params_b = float(size[1]) / (1 if size[2] == "b" else 1000)
    if hidden is not None and layers is not None and hidden >= 32 and 1 <= layers <= 999:
        return _shaped(hidden, layers, _first(_HEADS, folded), params_b)
    if params_b is None or not 0.001 <= params_b <= 1_000_000:
        return None
    active = _ACTIVE.search(folded)
    active_b = float(active[1]) if active is not None else None
    has_active = active_b is not None and 0 < active_b < params_b
    return reference_model(params_b, active_b=active_b if has_active else None)


def _first(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    return int(next(group for group in found.groups() if group)) if found else None


def _shaped(hidden: int, layers: int, heads: int | None, params_b: float | None) -> ModelSpec:
    heads = heads if heads and hidden % heads == 0 else max(1, hidden // 64)
    heads = heads if hidden % heads == 0 else 1
    spec = ModelSpec(
        name="described architecture",
        kind="decoder-lm",
        family="reference",
        formula="decoder",
        params_total=1,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        head_dim=hidden // heads,
        intermediate_size=4 * hidden,
        vocab_size=_VOCAB,
        max_position_embeddings=_POSITIONS,
        learned_positions=_POSITIONS,
        tie_word_embeddings=True,
        attention="mha",
        mlp="plain",
        norm="ln",
        norms_per_layer=2,
        qkv_bias=True,
        o_bias=True,
        mlp_bias=True,
        dtype="bfloat16",
        sources=("described in words",),
        is_reference=True,
        origin="reference",
        note="width and depth as described; the rest as in GPT-2",
    )
    spec = _of_size(spec, params_b)
    counts = count_params(spec)
    total = counts.total if counts is not None else 1
    return dataclasses.replace(
        spec,
        name=f"{total / 1e9:.3g}B described architecture ({hidden} x {layers})",
        params_total=total,
        params_active=total,
        params_embedding=counts.embedding if counts is not None else None,
        params_total_basis="closed formula",
        kv_elems_per_token=kv_elems_per_token(spec),
    )


def _of_size(spec: ModelSpec, params_b: float | None) -> ModelSpec:
    """The feed-forward width solved for a size that the usual shape does not have."""
    counts = count_params(spec)
    if params_b is None or counts is None or abs(counts.total / 1e9 / params_b - 1) <= _SAME:
        return spec
    hidden, layers = spec.hidden_size or 1, spec.num_hidden_layers or 1
    width = (spec.intermediate_size or 0) + (params_b * 1e9 - counts.total) / (2 * layers * hidden)
    if width < hidden / 4:
        return spec
    return dataclasses.replace(spec, intermediate_size=round(width))
