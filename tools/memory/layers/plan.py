"""What one kind of layer of a model looks like: dimensions and module structure, read once."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from tools.memory.speccache import by_identity
from tools.models import LinearDims, MlaDims, ModelSpec, MoeDims


class LayerPlan(NamedTuple):
    """Dimensions of one layer on one card, and how its modules are put together."""

    hidden: float
    stream: float
    """Elements of the residual stream per token on one card (sequence parallelism splits it)."""
    heads: float
    kv_heads: float
    head_dim: int
    q: float
    kv: float
    width: float
    """Feed-forward width of a dense layer."""
    norm: str
    norms: str
    """pre, post, both, parallel, parallel2: where the norms of the layer stand."""
    gated: bool
    activation: str
    qkv_bias: bool
    o_bias: bool
    mlp_bias: bool
    qk_norm: bool
    q_groups: float
    kv_groups: float
    rotary: str
    """full, partial, float, none."""
    fused_qkv: bool
    fused_gate_up: bool
    hidden_dropout: bool
    attention_dropout: bool
    needs_eager: bool
    softcap: bool
    unfused_sdpa: bool
    kv_copied: bool
    scaled_query: bool
    qkv_clamp: bool
    output_gate: bool
    window: int | None
    """Tokens that the layer attends to; None for all."""
    masked: bool
    """A sliding layer longer than its window takes the masked path."""
    out_width: float
    keeps_product: bool
    """The input of the down projection is kept although it is frozen (seen with litgpt)."""
    mla: MlaDims | None
    moe: MoeDims | None
    linear_attention: LinearDims | None
    router_width: int
    router_float: bool
    """The router computes in fp32."""
    sinks: bool
    """Attention sinks and clamped gates (gpt-oss)."""
    split: float
    expert_split: float


@cache
def _families() -> dict[str, dict[str, Any]]:
    text = (resources.files("tools.memory") / "data/families.json").read_text(encoding="utf-8")
    rows: dict[str, dict[str, Any]] = json.loads(text)
    return rows


@by_identity
def family_row(spec: ModelSpec) -> dict[str, Any]:
    """The structure row of a model's family, over the row of its nearest general kind."""
    rows = _families()
    base = dict(rows["llama"])
    own = rows.get(spec.family or "")
    if own is None and spec.formula in ("bert", "deberta"):
        own = rows["bert"]
    if own is None and spec.norm == "ln":
        own = rows["gpt_neox"]
    if own is not None:
        base.update(own)
    return base


class LayerKinds(NamedTuple):
    """The kinds of layer of a model, and where each stands in the stack."""

    plans: tuple[LayerPlan, ...]
    order: tuple[int, ...]
    """Kind of each layer, from the embedding up."""


@by_identity
def layer_kinds(
    spec: ModelSpec, split: int = 1, expert_split: int = 1, code: str = "", sequence: bool = False,
    keys: int = 0,
) -> LayerKinds:  # fmt: skip
    """The layers of a decoder, sharded over `split` tensor-parallel cards.

    Args:
        spec: A model with decoder dimensions.
        split: Tensor-parallel cards that share heads and feed-forward columns.
        expert_split: Expert-parallel cards that share the experts.
        keys: Tokens of a sequence; a sliding layer shorter than that takes the masked path.
        sequence: Sequence parallelism: the stream is split over the tensor-parallel cards.
        code: Model code other than transformers': "fused-qkv" (repository code, Qwen-1 and
            kin) or "litgpt".
    """
    layers = spec.num_hidden_layers or 0
    plans: dict[LayerPlan, int] = {}
    order = []
    for index in range(layers):
        plan = _plan(spec, index, split, expert_split)
        if plan.window is not None and keys >= plan.window:
            plan = plan._replace(masked=True)
        if sequence:
            plan = plan._replace(stream=plan.hidden / split)
        if code:
            plan = plan._replace(fused_qkv=True)
        if code == "litgpt":
            plan = _litgpt(plan)
        order.append(plans.setdefault(plan, len(plans)))
    return LayerKinds(tuple(plans), tuple(order))


_SWITCHES = (
    "fused_qkv", "fused_gate_up", "hidden_dropout", "attention_dropout", "needs_eager", "softcap",
    "kv_copied", "scaled_query", "qkv_clamp",
)  # fmt: skip
"""Fields of a plan that a family's row turns on."""


def _heads_of(spec: ModelSpec, hidden: int, heads: int, *, is_global: bool) -> tuple[int, int]:
    """(key and value heads, width of a head); Gemma 4's global layers have their own."""
    kv_heads = spec.num_key_value_heads or heads
    if spec.gemma4 is not None and is_global:
        return spec.gemma4.num_global_key_value_heads or kv_heads, spec.gemma4.global_head_dim
    return kv_heads, spec.head_dim or hidden // heads


def _plan(spec: ModelSpec, index: int, split: int, expert_split: int) -> LayerPlan:
    row = family_row(spec)
    hidden = spec.hidden_size or 0
    heads = spec.num_attention_heads or 1
    is_linear = _is_linear(spec, index)
    window = None if is_linear else window_of(spec, index)
    kv_heads, head_dim = _heads_of(spec, hidden, heads, is_global=window is None)
    kv_split = min(split, kv_heads)
    per_head = spec.qk_norm == "head"
    gated = spec.mlp != "plain"
    width = dense_width(spec)
    mla = None if is_linear else spec.mla
    out_width = heads * (mla.v_head_dim if mla else head_dim) / split
    return LayerPlan(
        hidden=hidden,
        stream=hidden,
        heads=heads / split,
        kv_heads=(heads if mla else kv_heads) / (split if mla else kv_split),
        head_dim=head_dim,
        q=heads * head_dim / split,
        kv=kv_heads * head_dim / kv_split,
        width=width / split,
        norm=row["norm"],
        norms=_norm_places(spec, row),
        gated=gated,
        activation=row["activation"],
        qkv_bias=bool(spec.qkv_bias),
        o_bias=bool(spec.o_bias),
        mlp_bias=bool(spec.mlp_bias),
        qk_norm=spec.qk_norm is not None,
        q_groups=heads / split if per_head else 1,
        kv_groups=kv_heads / kv_split if per_head else 1,
        rotary=row["rotary"],
        **{name: bool(row.get(name)) for name in _SWITCHES},
        unfused_sdpa=bool(row.get("kv_copied")) and kv_heads == 1,
        output_gate=spec.linear is not None and bool(spec.linear.output_gate) and not is_linear,
        window=window,
        masked=False,
        out_width=out_width,
        keeps_product=False,
        mla=mla,
        moe=spec.moe if _is_moe(spec, index) else None,
        linear_attention=spec.linear if is_linear else None,
        router_width=int(row.get("router_width", 2)),
        router_float=bool(row.get("router_float")),
        sinks=spec.attn_sinks,
        split=split,
        expert_split=expert_split,
    )


def _litgpt(plan: LayerPlan) -> LayerPlan:
    """The same layer in litgpt's code: one GELU kernel, norms with their weight in fp32."""
    activation = "gelu" if plan.activation == "gelu_new" else plan.activation
    norm = "gemma" if plan.norm == "llama" else plan.norm
    plan = plan._replace(norm=norm)
    return plan._replace(activation=activation, fused_gate_up=False, keeps_product=True)


def _norm_places(spec: ModelSpec, row: dict[str, Any]) -> str:
    places = str(row["norms"])
    if row.get("norms") == "parallel" and spec.norms_per_layer == 2:
        places = "parallel2"
    return places


def dense_width(spec: ModelSpec) -> int:
    """Feed-forward width of a layer without experts."""
    if spec.intermediate_size is not None:
        return spec.intermediate_size
    return 4 * (spec.hidden_size or 0)


def masked_keys(spec: ModelSpec, tokens: int) -> int:
    """Sequence length as far as it matters to masks: the window when it is reached, else 0."""
    if spec.sliding is None or tokens < spec.sliding.window:
        return 0
    return spec.sliding.window


def window_of(spec: ModelSpec, index: int) -> int | None:
    """Tokens that layer `index` attends to; None for all of them."""
    sliding = spec.sliding
    if sliding is None:
        return None
    layers = spec.num_hidden_layers or 0
    full = sliding.full_layers or 0
    if full == 0:
        return sliding.window
    period = max(layers // full, 1)
    return None if (index + 1) % period == 0 else sliding.window


def _is_linear(spec: ModelSpec, index: int) -> bool:
    linear = spec.linear
    if linear is None:
        return False
    layers = spec.num_hidden_layers or 0
    full = layers - linear.num_linear_layers
    if full <= 0:
        return True
    return (index + 1) % max(layers // full, 1) != 0


def _is_moe(spec: ModelSpec, index: int) -> bool:
    moe = spec.moe
    if moe is None:
        return False
    after = (spec.num_hidden_layers or 0) - moe.first_dense_layers
    if index < moe.first_dense_layers:
        return False
    period = max(round(after / max(moe.num_moe_layers, 1)), 1)
    return (index - moe.first_dense_layers + 1) % period == 0
