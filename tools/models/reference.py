"""A typical architecture of a nominal size: what "7B" stands for when no model is named.

Hidden size and depth are interpolated, on the logarithm of the parameter count, between
well-known rows of the registry (data/reference.json names them). Heads are 128 wide with eight
key-value heads (four in a mixture of experts), and the feed-forward width is solved so that the
closed formula gives the size asked for. The record says that it is no published model, and an
estimate built on it carries a wider interval.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Any

from tools.errors import BadQuantityError
from tools.models.counting import count_params, kv_elems_per_token
from tools.models.registry import get_model
from tools.models.spec import ModelSpec, MoeDims

_MIN_PARAMS_B = 0.001
_MAX_PARAMS_B = 1_000_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rules:
    """data/reference.json."""

    ladder: tuple[str, ...]
    moe_ladder: tuple[str, ...]
    hidden_sizes: tuple[int, ...]
    head_dim: int
    wide_head_from: int
    vocab_size: int
    small_vocab_size: int
    small_below_params: int
    tied_below_params: int
    max_experts: int
    experts_per_token: int


@cache
def _rules() -> _Rules:
    text = (resources.files("tools.models") / "data/reference.json").read_text(encoding="utf-8")
    raw: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in json.loads(text).items()
    }
    return _Rules(**raw)


@lru_cache(maxsize=256)
def reference_model(params_b: float, *, active_b: float | None = None) -> ModelSpec:
    """The reference architecture of a nominal size.

    Args:
        params_b: Parameters in billions, as in "7B".
        active_b: Active parameters in billions of a mixture of experts, as in "30B-A3B".

    Returns:
        A named record with `is_reference` true whose closed count is the size asked for
        (within 0.5 % from 0.1 B up).

    Raises:
        BadQuantityError: If a size is not between 0.001 and 1,000,000 B, or more parameters are
            active than there are.

    >>> reference_model(7).name, reference_model(7).hidden_size, reference_model(7).is_reference
    ('7B reference architecture', 4096, True)
    """
    if not (math.isfinite(params_b) and _MIN_PARAMS_B <= params_b <= _MAX_PARAMS_B):
        raise BadQuantityError(
            field="params_b", given=params_b, allowed="0.001 to 1000000 (billions of parameters)"
        )
    if active_b is None:
        return _finished(_dense(params_b * 1e9), f"{_written(params_b)}B")
    if not (math.isfinite(active_b) and 0 < active_b < params_b):
        raise BadQuantityError(
            field="active_b", given=active_b, allowed=f"above 0 and below params_b ({params_b:g})"
        )
    return _finished(_mixture(params_b * 1e9, active_b * 1e9), f"{params_b:g}B-A{active_b:g}B")


def _written(params_b: float) -> str:
    """Billions as they are said: without an exponent, however many.

    >>> _written(7), _written(0.5), _written(1_000_000)
    ('7', '0.5', '1000000')
    """
    return f"{params_b:g}" if params_b < _MAX_PARAMS_B else f"{params_b:.0f}"


def _finished(spec: ModelSpec, size: str) -> ModelSpec:
    counts = count_params(spec)
    if counts is None:
        raise AssertionError("a reference architecture is a decoder, which has a closed formula")
    return dataclasses.replace(
        spec,
        name=f"{size} reference architecture",
        params_total=counts.total,
        params_active=counts.active,
        params_embedding=counts.embedding,
        params_total_basis="closed formula",
        kv_elems_per_token=kv_elems_per_token(spec),
    )


@cache
def _ladder(names: tuple[str, ...]) -> tuple[ModelSpec, ...]:
    return tuple(sorted((get_model(name) for name in names), key=lambda spec: spec.params_total))


def _interpolate(
    params: float, rows: Sequence[ModelSpec], value: Callable[[ModelSpec], int]
) -> float:
    """Value at `params` on the straight line through the two nearest rows, log against log."""
    upper = next((i for i, row in enumerate(rows) if row.params_total >= params), len(rows) - 1)
    upper = max(upper, 1)
    low, high = rows[upper - 1], rows[upper]
    span = math.log(high.params_total / low.params_total)
    share = math.log(params / low.params_total) / span
    bottom, top = math.log(value(low)), math.log(value(high))
    if not 0 <= share <= 1:
        return _extrapolate(params, low if share < 0 else high, value)
    return math.exp(bottom + share * (top - bottom))


def _extrapolate(params: float, nearest: ModelSpec, value: Callable[[ModelSpec], int]) -> float:
    """Beyond the rows, width and depth grow as the cube root of the parameters."""
    return float(value(nearest) * (params / nearest.params_total) ** (1 / 3))


def _hidden(spec: ModelSpec) -> int:
    return spec.hidden_size or 1


def _layers(spec: ModelSpec) -> int:
    return spec.num_hidden_layers or 1


def _body(params: float, rows: Sequence[ModelSpec]) -> ModelSpec:
    """Everything but the feed-forward part."""
    rules = _rules()
    hidden = _nearest_width(_interpolate(params, rows, _hidden))
    layers = max(2, _rounded(_interpolate(params, rows, _layers), 2))
    head_dim = rules.head_dim if hidden >= rules.wide_head_from else rules.head_dim // 2
    heads = hidden // head_dim
    kv_heads = next(count for count in (8, 4, 2, 1) if heads % count == 0)
    is_small = params < rules.small_below_params
    vocab = rules.small_vocab_size if is_small else rules.vocab_size
    vocab = min(vocab, max(256, int(params / 3 / hidden)))
    return ModelSpec(
        name="reference",
        kind="decoder-lm",
        family="reference",
        formula="decoder",
        params_total=1,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=head_dim,
        intermediate_size=0,
        vocab_size=vocab,
        tie_word_embeddings=params < rules.tied_below_params,
        attention="gqa" if kv_heads < heads else "mha",
        mlp="gated",
        norm="rms",
        norms_per_layer=2,
        qkv_bias=False,
        o_bias=False,
        mlp_bias=False,
        dtype="bfloat16",
        sources=(f"interpolated between {', '.join(row.name for row in rows)}",),
        is_reference=True,
        origin="reference",
        note="typical dimensions of this size; no published model",
    )


def _nearest_width(value: float) -> int:
    """The usual hidden size nearest to `value`; a larger value never gives a smaller one."""
    widths = _rules().hidden_sizes
    if value > widths[-1]:
        return _rounded(value, 1024)
    return min(widths, key=lambda width: abs(width - value))


def _rounded(value: float, step: int) -> int:
    return max(step, round(value / step) * step)


def _count(spec: ModelSpec) -> int:
    counts = count_params(spec)
    return counts.total if counts is not None else 0


def _dense(params: float) -> ModelSpec:
    body = _body(params, _ladder(_rules().ladder))
    per_width = 3 * _layers(body) * _hidden(body)
    width = (params - _count(body)) / per_width
    return dataclasses.replace(body, intermediate_size=_rounded(width, _width_step(width)))


def _width_step(width: float) -> int:
    """Widths are round numbers as far as that moves the size by less than half a percent."""
    return next((step for step in (64, 16, 4) if width >= 100 * step), 1)


def _mixture(total: float, active: float) -> ModelSpec:
    """Routed experts hold what is not active; a shared expert takes what is left of the active.

    Total and active give two equations: L 3 H (E - k) F = total - active, and the shared width
    is what the active count leaves after k experts.
    """
    rules = _rules()
    body = _narrowed(_body(total, _ladder(rules.moe_ladder)), active)
    kv_heads = next(count for count in (4, 2, 1) if (body.num_attention_heads or 1) % count == 0)
    body = dataclasses.replace(body, num_key_value_heads=kv_heads)
    layers, hidden = _layers(body), _hidden(body)
    ratio = (total - _count(body)) / max(active - _count(body), 0.1 * active)
    chosen = max(1, min(rules.experts_per_token, int(rules.max_experts / ratio)))
    experts = max(chosen + 1, math.ceil(chosen * ratio))
    fixed = _count(body) + layers * hidden * experts
    per_width = 3 * layers * hidden
    width = (total - active) / per_width / (experts - chosen)
    shared = max(0, round((active - fixed) / per_width - chosen * width))
    moe = MoeDims(
        num_experts=experts,
        experts_per_token=chosen,
        moe_intermediate_size=_rounded(width, _width_step(width)),
        shared_intermediate_size=shared if shared > width / 10 else None,
        num_moe_layers=layers,
        first_dense_layers=0,
    )
    return dataclasses.replace(
        body, kind="moe-lm", moe=moe, intermediate_size=moe.moe_intermediate_size
    )


def _narrowed(body: ModelSpec, active: float) -> ModelSpec:
    """The body made thinner until what is always active leaves room for experts."""
    while _count(body) > 0.8 * active and _hidden(body) > 256:
        hidden = _rounded(_hidden(body) * 0.85, 128)
        if hidden == _hidden(body):
            hidden -= 128
        heads = hidden // 128
        body = dataclasses.replace(
            body,
            hidden_size=hidden,
            num_attention_heads=heads,
            num_key_value_heads=next(count for count in (8, 4, 2, 1) if heads % count == 0),
            head_dim=128,
        )
    return body
