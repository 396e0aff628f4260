"""Dimensions of a model out of its `config.json`: under any name, and those that it leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tools.errors import UnsupportedError
from tools.models.hf_parts import architecture_tables, first_count
from tools.models.registry import all_models
from tools.models.spec import LinearDims, MlaDims, ModelSpec, SlidingDims

_NEEDED = ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")


def dims_of(config: Mapping[str, Any], traits: Mapping[str, Any]) -> dict[str, Any]:
    """The dimensions of a model under the names of a record.

    Raises:
        UnsupportedError: If one that is needed is missing or zero; named with its spellings.
    """
    renames = architecture_tables()["renames"]
    dims: dict[str, Any] = {field: first_count(config, names) for field, names in renames.items()}
    hidden, heads = dims["hidden_size"], dims["num_attention_heads"]
    missing = [field for field in _NEEDED if not dims[field]]
    if missing or not hidden or not heads:
        spelled = "; ".join(f"{field} ({' or '.join(renames[field])})" for field in missing)
        raise UnsupportedError("config.json", reason=f"these fields are missing or zero: {spelled}")
    if traits.get("halved_intermediate") and dims["intermediate_size"]:
        dims["intermediate_size"] //= 2
    if not dims["intermediate_size"] and (width := width_left_out(config, traits)) is not None:
        dims["intermediate_size"] = width.size
    if traits.get("chatglm") and not config.get("multi_query_attention"):
        dims["num_key_value_heads"] = None
    if traits.get("llama4") and config.get("intermediate_size_mlp"):
        dims["intermediate_size"] = first_count(config, ("intermediate_size_mlp",))
    if traits.get("falcon"):
        dims["num_key_value_heads"] = _falcon_heads(config, heads, dims["num_key_value_heads"])
    if traits.get("multi_query") and config.get("multi_query", True):
        dims["num_key_value_heads"] = 1
    if not dims["head_dim"] and not config.get("kv_lora_rank"):
        dims["head_dim"] = traits.get("head_dim_default") or hidden // heads
    dims["num_key_value_heads"] = dims["num_key_value_heads"] or heads
    return dims


class Width(NamedTuple):
    """A feed-forward width that the file leaves out, and where it comes from."""

    size: int
    why: str


def width_left_out(config: Mapping[str, Any], traits: Mapping[str, Any]) -> Width | None:
    """Width of a published model of the same shape, else what transformers fills in for the type.

    The configuration class has one number; for another hidden size its proportion is kept.
    """
    tables = architecture_tables()
    hidden = first_count(config, tables["renames"]["hidden_size"]) or 0
    if traits.get("wide_default"):
        return Width(
            int(traits["wide_default"]) * hidden,
            "a multiple of the hidden size, as the type defines it",
        )
    model_type = str(config.get("model_type") or "")
    twin = _twin(config, model_type)
    if twin is not None and twin.intermediate_size:
        return Width(twin.intermediate_size, f"that of {twin.name}, which has the same dimensions")
    defaults, known = tables["ffn_defaults"], model_type in tables["types"]
    like = model_type if known else "llama"  # unknown types are counted as Llama-like
    row = defaults.get(like)
    if row is None or not hidden:
        return None
    own, width = row
    if own == hidden:
        return Width(width, f"the default of transformers for {like}")
    scaled = round(width / own * hidden / 64) * 64
    return Width(scaled, f"the proportion {width}:{own} of transformers' default for {like}")


def _twin(config: Mapping[str, Any], model_type: str) -> ModelSpec | None:
    """A model of the registry with the same type and dimensions, where the file has enough."""
    renames = architecture_tables()["renames"]
    fields = ("hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
              "vocab_size")  # fmt: skip
    said = {field: value for field in fields if (value := first_count(config, renames[field]))}
    if len(said) < len(fields) - 1:
        return None
    same = [
        spec
        for spec in all_models()
        if spec.family == model_type and all(getattr(spec, f) == v for f, v in said.items())
    ]
    return min(same, key=lambda spec: len(spec.name), default=None)


def _falcon_heads(config: Mapping[str, Any], heads: int, listed: int | None) -> int:
    if config.get("new_decoder_architecture"):
        return listed or heads
    return 1 if config.get("multi_query", True) else heads


def attention_name(
    dims: Mapping[str, Any],
    *,
    mla: MlaDims | None,
    linear: LinearDims | None,
    sliding: SlidingDims | None,
) -> str:
    """Kind of attention, as a record calls it."""
    if mla is not None:
        return "mla"
    if linear is not None:
        return "hybrid-linear"
    if sliding is not None:
        return "sliding"
    heads, kv = dims["num_attention_heads"], dims["num_key_value_heads"]
    return "mha" if kv == heads else "mqa" if kv == 1 else "gqa"
