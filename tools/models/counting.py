"""Closed formulas: parameters and cache of a model from its dimensions.

The formulas are those of the data's README (H hidden, L layers, V vocabulary, ...). They rebuild
the counts of every registry row that names one, and count models read from a config or a file
header that the registry does not know.
"""

from __future__ import annotations

from typing import NamedTuple

from tools.models.spec import LinearDims, MlaDims, ModelSpec, MoeDims

_T5_BUCKETS = 32
_WHISPER_SOURCE_POSITIONS = 1500
_WHISPER_TARGET_POSITIONS = 448
_DEBERTA_BUCKETS_DEFAULT = 256


class ParamCounts(NamedTuple):
    """Parameters by closed formula."""

    total: int
    active: int
    """Parameters that one token passes through, embeddings and head included."""
    embedding: int
    """The input embedding matrix alone."""


def count_params(spec: ModelSpec) -> ParamCounts | None:
    """Parameters of a model by the closed formula of its row; None where no formula applies.

    `params_total` of the record is not read, so a record under construction may carry any.
    """
    if spec.formula == "decoder":
        return _decoder(spec)
    count = {"bert": _bert, "deberta": _deberta, "t5": _t5, "whisper": _whisper}.get(spec.formula)
    if count is None:
        return None
    total = count(spec)
    return ParamCounts(total, total, _need(spec.vocab_size) * _need(spec.hidden_size))


def kv_elems_per_token(spec: ModelSpec) -> int | None:
    """Cache elements that one token adds over all layers that grow; None without a formula.

    Attention with fewer heads: 2 L kv d. MLA: L (kv_lora + rope), and the indexer's key where
    there is one. Hybrid models: only full-attention layers grow. Shared caches divide.
    """
    if spec.formula != "decoder" or not spec.num_hidden_layers:
        return None
    layers = spec.num_hidden_layers - (spec.linear.num_linear_layers if spec.linear else 0)
    if spec.mla is not None:
        indexer = spec.mla.indexer.dim if spec.mla.indexer else 0
        return layers * (spec.mla.kv_lora_rank + spec.mla.qk_rope_head_dim + indexer)
    return 2 * layers * _kv_heads(spec) * _head_dim(spec) // (spec.cla_share_factor or 1)


def _need(value: int | None) -> int:
    if value is None:
        raise ValueError("a dimension that the closed formula needs is not known")
    return value


def _head_dim(spec: ModelSpec) -> int:
    if spec.head_dim is not None:
        return spec.head_dim
    return _need(spec.hidden_size) // _need(spec.num_attention_heads)


def _kv_heads(spec: ModelSpec) -> int:
    heads = spec.num_key_value_heads
    return _need(spec.num_attention_heads) if heads is None else heads


def _norm_size(spec: ModelSpec) -> int:
    hidden = _need(spec.hidden_size)
    return 2 * hidden if spec.norm == "ln" else hidden


def _decoder(spec: ModelSpec) -> ParamCounts:
    layers = _need(spec.num_hidden_layers)
    linear_layers = spec.linear.num_linear_layers if spec.linear else 0
    moe_layers = spec.moe.num_moe_layers if spec.moe else 0
    embedding = _need(spec.vocab_size) * (spec.embed_proj_dim or _need(spec.hidden_size))
    outside = embedding + _head(spec, embedding) + _positions(spec) + _final_norm(spec)
    per_layer_norms = (2 if spec.norms_per_layer is None else spec.norms_per_layer) * _norm_size(
        spec
    )
    inside = layers * per_layer_norms + (layers - linear_layers) * _attention(spec)
    inside -= (
        _shared_kv_layers(spec) * 2 * _need(spec.hidden_size) * _kv_heads(spec) * _head_dim(spec)
    )
    if spec.linear is not None:
        inside += linear_layers * _delta_net(spec, spec.linear)
    if layers > moe_layers:
        inside += (layers - moe_layers) * _mlp(spec)
    total = active = outside + inside
    if spec.moe is not None:
        experts = spec.moe.num_experts
        total += moe_layers * _moe_layer(spec, spec.moe, experts=experts)
        active += moe_layers * _moe_layer(spec, spec.moe, experts=spec.moe.experts_per_token)
    return ParamCounts(total + (spec.vision_params or 0), active, embedding)


def _shared_kv_layers(spec: ModelSpec) -> int:
    """Layers without key and value matrices of their own (cross-layer attention)."""
    layers = _need(spec.num_hidden_layers)
    return layers - layers // spec.cla_share_factor if spec.cla_share_factor else 0


def _head(spec: ModelSpec, embedding: int) -> int:
    if spec.no_lm_head:
        return spec.head_params or 0
    bias = _need(spec.vocab_size) if spec.lm_head_bias else 0
    return bias + (0 if spec.tie_word_embeddings else embedding)


def _positions(spec: ModelSpec) -> int:
    hidden = _need(spec.hidden_size)
    projected = 2 * spec.embed_proj_dim * hidden if spec.embed_proj_dim else 0
    embed_norm = 2 * hidden if spec.embed_norm else 0
    return (spec.learned_positions or 0) * hidden + projected + embed_norm


def _final_norm(spec: ModelSpec) -> int:
    return 0 if spec.final_norm is False else _norm_size(spec)


def _attention(spec: ModelSpec) -> int:
    if spec.mla is not None:
        return _mla(spec, spec.mla)
    hidden, heads = _need(spec.hidden_size), _need(spec.num_attention_heads)
    kv, dim = _kv_heads(spec), _head_dim(spec)
    has_gate = spec.linear is not None and bool(spec.linear.output_gate)
    query = hidden * heads * dim * (2 if has_gate else 1)
    total = query + 2 * hidden * kv * dim + heads * dim * hidden
    total += (heads + 2 * kv) * dim if spec.qkv_bias else 0
    total += hidden if spec.o_bias else 0
    total += {"head": 2 * dim, "full": (heads + kv) * dim}.get(spec.qk_norm or "", 0)
    return total + (heads if spec.attn_sinks else 0)


def _mla(spec: ModelSpec, mla: MlaDims) -> int:
    hidden, heads = _need(spec.hidden_size), _need(spec.num_attention_heads)
    rope, nope, value = mla.qk_rope_head_dim, mla.qk_nope_head_dim, mla.v_head_dim
    rank, latent = mla.q_lora_rank, mla.kv_lora_rank
    if rank is None:
        query = hidden * heads * (nope + rope)
    else:
        query = hidden * rank + rank + rank * heads * (nope + rope)
    total = query + hidden * (latent + rope) + latent
    total += latent * heads * (nope + value) + heads * value * hidden
    if mla.indexer is not None:
        width, dim = mla.indexer.heads, mla.indexer.dim
        total += _need(rank) * width * dim + hidden * dim + 2 * dim + hidden * width
    return total


def _delta_net(spec: ModelSpec, linear: LinearDims) -> int:
    hidden = _need(spec.hidden_size)
    keys = _need(linear.num_key_heads) * _need(linear.key_head_dim)
    heads, dim = _need(linear.num_value_heads), _need(linear.value_head_dim)
    values = heads * dim
    total = hidden * (2 * keys + 2 * values) + 2 * hidden * heads
    return (
        total + (2 * keys + values) * _need(linear.conv_kernel) + 2 * heads + dim + values * hidden
    )


def _mlp(spec: ModelSpec) -> int:
    hidden, width = _need(spec.hidden_size), _need(spec.intermediate_size)
    gated = spec.mlp != "plain"
    bias = ((2 * width if gated else width) + hidden) if spec.mlp_bias else 0
    return (3 if gated else 2) * hidden * width + bias


def _moe_layer(spec: ModelSpec, moe: MoeDims, *, experts: int) -> int:
    hidden, width = _need(spec.hidden_size), moe.moe_intermediate_size
    bias = 2 * width + hidden if moe.expert_bias else 0
    router = hidden * moe.num_experts + (moe.num_experts if moe.router_bias else 0)
    shared = 3 * hidden * (moe.shared_intermediate_size or 0)
    return (
        experts * (3 * hidden * width + bias) + router + shared + (hidden if moe.shared_gate else 0)
    )


def _bert(spec: ModelSpec) -> int:
    hidden, layers = _need(spec.hidden_size), _need(spec.num_hidden_layers)
    width = _need(spec.intermediate_size)
    tables = _need(spec.vocab_size) + (spec.learned_positions or 0) + (spec.type_vocab_size or 0)
    layer = 4 * hidden * hidden + 4 * hidden + 2 * hidden * width + width + hidden + 4 * hidden
    pooler = hidden * hidden + hidden if spec.pooler else 0
    return tables * hidden + 2 * hidden + layers * layer + pooler + (spec.head_params or 0)


def _deberta(spec: ModelSpec) -> int:
    hidden, layers = _need(spec.hidden_size), _need(spec.num_hidden_layers)
    width = _need(spec.intermediate_size)
    layer = 4 * hidden * hidden + 4 * hidden + 2 * hidden * width + width + hidden + 4 * hidden
    buckets = 2 * (spec.position_buckets or _DEBERTA_BUCKETS_DEFAULT)
    return (
        _need(spec.vocab_size) * hidden
        + 2 * hidden
        + layers * layer
        + buckets * hidden
        + 2 * hidden
    )


def _t5(spec: ModelSpec) -> int:
    hidden, inner = _need(spec.hidden_size), _need(spec.num_attention_heads) * _head_dim(spec)
    feed = (3 if spec.mlp != "plain" else 2) * hidden * _need(spec.intermediate_size)
    encoder = _need(spec.num_hidden_layers) * (4 * hidden * inner + feed + 2 * hidden)
    decoder = _need(spec.num_decoder_layers) * (8 * hidden * inner + feed + 3 * hidden)
    relative = 2 * _T5_BUCKETS * _need(spec.num_attention_heads)
    copies = 1 if spec.tie_word_embeddings else 2
    return encoder + decoder + 2 * hidden + relative + copies * _need(spec.vocab_size) * hidden


def _whisper(spec: ModelSpec) -> int:
    hidden, width = _need(spec.hidden_size), _need(spec.intermediate_size)
    stem = _need(spec.mel_bins) * 3 * hidden + hidden + 3 * hidden * hidden + hidden
    positions = (_WHISPER_SOURCE_POSITIONS + _WHISPER_TARGET_POSITIONS) * hidden
    attention = 4 * hidden * hidden + 3 * hidden
    feed = 2 * hidden * width + width + hidden
    encoder = _need(spec.num_hidden_layers) * (attention + feed + 4 * hidden)
    decoder = _need(spec.num_decoder_layers) * (2 * attention + feed + 6 * hidden)
    norms = 4 * hidden
    return stem + positions + _need(spec.vocab_size) * hidden + encoder + decoder + norms
