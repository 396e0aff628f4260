"""The parts of a Hugging Face configuration that make a decoder special.

Experts, latent attention, linear attention and sliding windows, each under the field names that
architectures use.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from tools.errors import UnsupportedError, UserInputError
from tools.models.spec import IndexerDims, LinearDims, MlaDims, MoeDims, SlidingDims

_LIMIT = 10**9
"""No dimension of a real model is larger."""


@cache
def architecture_tables() -> dict[str, Any]:
    """data/architectures.json."""
    text = (resources.files("tools.models") / "data/architectures.json").read_text("utf-8")
    tables: dict[str, Any] = json.loads(text)
    return tables


def first_count(config: Mapping[str, Any], names: Sequence[str]) -> int | None:
    """The first of several spellings of a whole number.

    Raises:
        UserInputError: If it is not a whole number between 0 and the limit.
    """
    for key in names:
        value = config.get(key)
        if value is None or isinstance(value, (list, dict, str)):
            continue
        if isinstance(value, bool) or value != int(value) or not 0 <= value < _LIMIT:
            raise UserInputError(f"config field {key!r} is {value!r}; a count is expected.")
        return int(value)
    return None


def read_mla(config: Mapping[str, Any]) -> MlaDims | None:
    """Latent attention (`kv_lora_rank`, ...), or None.

    Raises:
        UnsupportedError: If some of its fields are missing; named in the message.
    """
    latent = first_count(config, ("kv_lora_rank",))
    if not latent:
        return None
    dims = {
        key: first_count(config, (key,))
        for key in ("qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim")
    }
    missing = [key for key, value in dims.items() if value is None]
    if missing:
        raise UnsupportedError("config.json", reason=f"latent attention lacks {', '.join(missing)}")
    heads, dim = first_count(config, ("index_n_heads",)), first_count(config, ("index_head_dim",))
    indexer = None
    if heads and dim:
        indexer = IndexerDims(heads=heads, dim=dim, topk=first_count(config, ("index_topk",)))
    return MlaDims(
        q_lora_rank=first_count(config, ("q_lora_rank",)) or None,
        kv_lora_rank=latent,
        qk_rope_head_dim=dims["qk_rope_head_dim"] or 0,
        qk_nope_head_dim=dims["qk_nope_head_dim"] or 0,
        v_head_dim=dims["v_head_dim"] or 0,
        indexer=indexer,
    )


def read_moe(config: Mapping[str, Any], traits: Mapping[str, Any], layers: int) -> MoeDims | None:
    """Experts under any of their field names, or None for a dense model."""
    fields = {
        key: first_count(config, names) for key, names in architecture_tables()["experts"].items()
    }
    experts, width = fields["num_experts"], fields["moe_intermediate_size"]
    if not experts or experts < 2 or not width:
        return None
    first = min(fields["first_dense_layers"] or 0, layers)
    if traits.get("llama4"):
        fields["shared_intermediate_size"] = width
        fields["num_shared_experts"] = 1
    count = fields["num_shared_experts"]
    shared = fields["shared_intermediate_size"] or ((count or 0) * width) or None
    return MoeDims(
        num_experts=experts,
        experts_per_token=fields["experts_per_token"] or 1,
        moe_intermediate_size=width,
        shared_intermediate_size=shared,
        num_shared_experts=count,
        shared_gate=bool(traits.get("shared_gate")) and shared is not None,
        expert_bias=bool(traits.get("expert_bias")),
        router_bias=bool(traits.get("router_bias")),
        first_dense_layers=first,
        num_moe_layers=_moe_layers(config, layers, first),
    )


def _moe_layers(config: Mapping[str, Any], layers: int, first: int) -> int:
    step = (
        first_count(config, ("decoder_sparse_step", "moe_layer_freq", "interleave_moe_layer_step"))
        or 1
    )
    dense = config.get("mlp_only_layers") or []
    listed = config.get("moe_layer_freq")
    if isinstance(listed, list):
        return sum(1 for value in listed[:layers] if value)
    dense_count = len(set(dense)) if isinstance(dense, list) else 0
    return max((layers - first) // step - dense_count, 0)


def read_linear(
    config: Mapping[str, Any], traits: Mapping[str, Any], layers: int
) -> LinearDims | None:
    """Gated DeltaNet layers of a hybrid (`linear_num_key_heads`, ...), or None.

    Raises:
        UnsupportedError: If some of its fields are missing; named in the message.
    """
    kind = traits.get("linear")
    if kind is None:
        return None
    types = config.get("layer_types")
    if isinstance(types, list):
        count = sum(1 for layer in types[:layers] if layer == "linear_attention")
    else:
        every = first_count(config, ("full_attention_interval",)) or 4
        count = layers - layers // every
    keys = {
        "num_key_heads": "linear_num_key_heads",
        "key_head_dim": "linear_key_head_dim",
        "num_value_heads": "linear_num_value_heads",
        "value_head_dim": "linear_value_head_dim",
    }
    dims = {field: first_count(config, (key,)) for field, key in keys.items()}
    missing = [keys[field] for field, value in dims.items() if not value]
    if missing:
        raise UnsupportedError("config.json", reason=f"linear attention lacks {', '.join(missing)}")
    key_dim, value_dim = dims["key_head_dim"] or 0, dims["value_head_dim"] or 0
    kernel = first_count(config, ("linear_conv_kernel_dim",)) or 4
    value_heads, key_heads = dims["num_value_heads"] or 0, dims["num_key_heads"] or 0
    conv = (2 * key_heads * key_dim + value_heads * value_dim) * kernel
    return LinearDims(
        type=kind,
        num_linear_layers=count,
        conv_kernel=kernel,
        output_gate=True,
        state_elems_per_layer=value_heads * key_dim * value_dim,
        conv_state_elems_per_layer=conv,
        **dims,
    )


def read_sliding(
    config: Mapping[str, Any], traits: Mapping[str, Any], layers: int
) -> SlidingDims | None:
    """Layers under a sliding window, as the architecture lays them out, or None."""
    window = first_count(config, ("sliding_window",))
    mode = traits.get("slides")
    if not window or mode is None:
        return None
    if mode == "switch" and not config.get("use_sliding_window"):
        return None
    types = config.get("layer_types")
    if isinstance(types, list) and types:
        sliding = sum(1 for layer in types[:layers] if layer == "sliding_attention")
    elif mode == "alternate":
        sliding = (layers + 1) // 2
    elif mode == "pattern":
        every = first_count(config, ("sliding_window_pattern",)) or traits["pattern_default"]
        sliding = layers - layers // every
    elif mode == "switch":
        sliding = max(layers - (first_count(config, ("max_window_layers",)) or 0), 0)
    else:
        sliding = layers
    if sliding == 0:
        return None
    return SlidingDims(
        window=window, sliding_layers=sliding, full_layers=layers - sliding, kind="sliding"
    )
