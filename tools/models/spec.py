"""What a model is made of: one frozen record a registry row, with Hugging Face config names.

A field that a row does not state is None, which means "not known" and never zero or false.
Plain slotted dataclasses rather than pydantic: the whole registry has to be there within
milliseconds of a cold start, and `spec_from_row` checks every field's type all the same.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from tools.errors import DataError
from tools.provenance import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class MoeDims:
    """Mixture-of-experts part of a decoder. Every expert is resident; few compute."""

    num_experts: int
    experts_per_token: int
    """Routed experts that one token passes through (shared ones not counted)."""
    moe_intermediate_size: int
    """Width of one routed expert."""
    num_moe_layers: int
    first_dense_layers: int
    shared_intermediate_size: int | None = None
    """Width of all shared experts together; None when there is none."""
    num_shared_experts: int | None = None
    shared_gate: bool = False
    expert_bias: bool = False
    router_bias: bool = False
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexerDims:
    """Sparse-attention indexer beside MLA (DeepSeek-V3.2, GLM-5)."""

    heads: int
    dim: int
    topk: int | None = None
    """Cached tokens that attention reads; None when not stated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MlaDims:
    """Multi-head latent attention: the cache holds kv_lora_rank + qk_rope_head_dim a layer."""

    q_lora_rank: int | None
    kv_lora_rank: int
    qk_rope_head_dim: int
    qk_nope_head_dim: int
    v_head_dim: int
    indexer: IndexerDims | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SlidingDims:
    """Layers that keep only the last `window` tokens."""

    window: int
    """Tokens."""
    sliding_layers: int | None = None
    """Layers under the window; None when the row only states the window."""
    full_layers: int | None = None
    kind: str | None = None
    """sliding or chunked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearDims:
    """Linear-attention layers of a hybrid: a state per sequence instead of a growing cache."""

    type: str
    """gated-deltanet, kda or lightning."""
    num_linear_layers: int
    state_elems_per_layer: int | None = None
    """Elements of recurrent state per layer and sequence (fp32 in the reference code)."""
    conv_state_elems_per_layer: int | None = None
    num_heads: int | None = None
    head_dim: int | None = None
    num_key_heads: int | None = None
    key_head_dim: int | None = None
    num_value_heads: int | None = None
    value_head_dim: int | None = None
    conv_kernel: int | None = None
    output_gate: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gemma4Dims:
    """What Gemma 4 adds: full-attention layers with heads of their own size."""

    global_head_dim: int
    num_global_key_value_heads: int | None
    attention_k_eq_v: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """One model: its dimensions, its parameter counts and where they were read."""

    name: str
    """Registry name, mostly the Hugging Face id."""
    kind: str
    """decoder-lm, moe-lm, vlm, encoder, embedding, reranker, seq2seq, speech, vit, cnn,
    detector, segmentation, dit or diffusion-unet."""
    params_total: int
    """Unique parameters of the loaded module: tied head once, no MTP layer, no buffers."""
    formula: str = "none"
    """Closed formula that rebuilds params_total: decoder, bert, deberta, t5, whisper, none."""
    family: str | None = None
    aliases: tuple[str, ...] = ()
    released: str | None = None
    """Year and month, where a source states it."""
    released_source: str | None = None
    params_active: int | None = None
    """Parameters that one token passes through, embeddings and head included."""
    params_active_note: str | None = None
    params_total_basis: str | None = None
    checkpoint_params: int | None = None
    """Parameters stored in the published checkpoint (MTP layers, duplicated heads): for
    download and disk size, not for memory."""
    params_embedding: int | None = None
    vision_params: int | None = None
    """Everything outside the language model: tower and projector."""
    text_backbone: str | None = None
    dtype: str | None = None
    """Dtype of the published weights: a default, not a sourced fact."""

    hidden_size: int | None = None
    num_hidden_layers: int | None = None
    num_decoder_layers: int | None = None
    """Encoder-decoder models only; num_hidden_layers is then the encoder."""
    num_attention_heads: int | None = None
    num_key_value_heads: int | None = None
    head_dim: int | None = None
    intermediate_size: int | None = None
    vocab_size: int | None = None
    max_position_embeddings: int | None = None
    tie_word_embeddings: bool | None = None
    kv_elems_per_token: int | None = None
    """Cache elements (not bytes) that each token adds over all layers that grow."""

    attention: str | None = None
    """mha, gqa, mqa, mla, sliding, hybrid-linear, ..."""
    attention_note: str | None = None
    attn_sinks: bool = False
    mlp: str | None = None
    """gated (three matrices) or plain (two)."""
    norm: str | None = None
    """rms, ln or ln-nobias."""
    norms_per_layer: int | None = None
    final_norm: bool | None = None
    qk_norm: str | None = None
    """head: one vector of head_dim for q and one for k; full: over all heads."""
    qkv_bias: bool | None = None
    o_bias: bool | None = None
    mlp_bias: bool | None = None
    lm_head_bias: bool = False
    no_lm_head: bool = False
    position: str | None = None
    learned_positions: int | None = None
    position_buckets: int | None = None
    rotary_pct: float | None = None
    type_vocab_size: int | None = None
    pooler: bool | None = None
    head_params: int | None = None
    embed_norm: bool = False
    embed_proj_dim: int | None = None
    mel_bins: int | None = None
    cla_share_factor: int | None = None
    """Layers that share one cache (cross-layer attention)."""
    cross_attention_layers: int | None = None
    num_kv_shared_layers: int | None = None
    per_layer_input_dim: int | None = None

    moe: MoeDims | None = None
    mla: MlaDims | None = None
    sliding: SlidingDims | None = None
    linear: LinearDims | None = None
    gemma4: Gemma4Dims | None = None

    sources: tuple[str, ...] = ()
    verified: bool = False
    verify_level: str = "none"
    """published-exact, published-explained, source+published, source+meta or none."""
    unverified_reason: str | None = None
    note: str | None = None
    is_reference: bool = False
    """True for a nominal size that stands for no published model."""
    origin: str = "registry"
    """registry, reference, hf_config, gguf or safetensors."""

    @property
    def source(self) -> Source:
        """Where the row comes from, as a provenance record."""
        if self.origin == "registry":
            return Source(f"hf:{self.name}", "vendor", "; ".join(self.sources))
        if self.origin == "reference":
            return Source("rule:reference-architecture", "assumed", "; ".join(self.sources))
        return Source(f"data:{self.name}", "user", "; ".join(self.sources))

    @property
    def is_moe(self) -> bool:
        """Whether only part of the parameters computes for a token."""
        if self.moe is not None or self.kind == "moe-lm":
            return True
        return self.params_active is not None and self.params_active < self.params_total


class ModelMatch(NamedTuple):
    """The row that a written name stands for."""

    spec: ModelSpec
    quantization: str | None = None
    """Weight format that the name carries, such as awq, gptq-int4 or q4_k_m."""
    notes: tuple[str, ...] = ()
    """What was cut or fell back, in plain English, to be said in the answer."""


class ModelMention(NamedTuple):
    """A model named in free text."""

    match: ModelMatch
    start: int
    end: int
    text: str


_SUBRECORDS: dict[str, type] = {
    "MoeDims | None": MoeDims,
    "MlaDims | None": MlaDims,
    "SlidingDims | None": SlidingDims,
    "LinearDims | None": LinearDims,
    "Gemma4Dims | None": Gemma4Dims,
    "IndexerDims | None": IndexerDims,
}
_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "bool": (bool,),
    "str | None": (str, type(None)),
    "int | None": (int, type(None)),
    "bool | None": (bool, type(None)),
    "float | None": (float, type(None)),
}


@cache
def _field_types(record: type) -> dict[str, str]:
    return {field.name: str(field.type) for field in dataclasses.fields(record)}


def record_from_row(record: type, row: Mapping[str, Any], *, where: str) -> Any:
    """A record built from a mapping, every field known and of its declared type.

    Raises:
        DataError: If a field is unknown, missing or of another type; names row and field.
    """
    types = _field_types(record)
    values: dict[str, Any] = {}
    for key, value in row.items():
        declared = types.get(key)
        if declared is None:
            raise DataError(f"{where}: unknown field {key!r}; known: {', '.join(types)}.")
        values[key] = _checked(value, declared, where=f"{where}: {key!r}")
    try:
        return record(**values)
    except TypeError as error:
        raise DataError(f"{where}: {error}.") from error


def _checked(value: Any, declared: str, *, where: str) -> Any:
    allowed = _TYPES.get(declared)
    if allowed is not None:
        if type(value) not in allowed:
            raise DataError(f"{where} is {value!r}; it must be {declared}.")
        return value
    if declared == "tuple[str, ...]":
        if not isinstance(value, list) or not all(type(item) is str for item in value):
            raise DataError(f"{where} is {value!r}; it must be a list of strings.")
        return tuple(value)
    if value is None:
        return None
    if not isinstance(value, dict):
        raise DataError(f"{where} is {value!r}; it must be an object.")
    return record_from_row(_SUBRECORDS[declared], value, where=where)


def spec_from_row(row: Mapping[str, Any], *, where: str) -> ModelSpec:
    """A `ModelSpec` from one row of a data file.

    Raises:
        DataError: See `record_from_row`; also when params_total is not positive.
    """
    build: Callable[..., ModelSpec] = record_from_row
    spec = build(ModelSpec, row, where=where)
    if spec.params_total <= 0:
        raise DataError(f"{where}: 'params_total' is {spec.params_total}; it must be positive.")
    return spec
