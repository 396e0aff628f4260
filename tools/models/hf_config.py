"""A model from its Hugging Face `config.json`, with the parameters counted again.

What is special about an architecture is a row of data/architectures.json; the fields are the
usual ones under their various names. A field that is missing and needed is named in the error;
fields that look structural and were not read are named in the record's note.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools.errors import UnsupportedError, UserInputError
from tools.models.counting import count_params, kv_elems_per_token
from tools.models.hf_dims import attention_name, dims_of, width_left_out
from tools.models.hf_parts import (
    architecture_tables,
    first_count,
    read_linear,
    read_mla,
    read_moe,
    read_sliding,
)
from tools.models.names import try_find_model
from tools.models.spec import ModelSpec
from tools.models.vision import vision_params

_TEXT_KEYS = ("text_config", "llm_config", "language_config", "thinker_config")
_MAX_CONFIG_BYTES = 4_000_000
_DIMENSIONS = (
    "hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim",
    "intermediate_size", "vocab_size", "max_position_embeddings", "tie_word_embeddings",
)  # fmt: skip
_HEADED = ("ForCausalLM", "LMHead", "ForConditionalGeneration", "ForVision2Seq", "ImageTextToText")


def model_from_hf_config(config: Mapping[str, Any], *, name: str = "config.json") -> ModelSpec:
    """The record of a model described by a Hugging Face configuration.

    Args:
        config: The parsed `config.json`. A model with a text part (`text_config`, ...) is read
            from there, its tower estimated from `vision_config`.
        name: What the record is called.

    Returns:
        A record with `origin` "hf_config", parameters counted by closed formula.

    Raises:
        UnsupportedError: If a needed field is missing or no closed formula covers the model; the
            message names the fields.
        UserInputError: If a field has an impossible value.
    """
    outer = dict(config)
    text = _complete(_flat(_text_part(outer)))
    model_type = str(text.get("model_type") or outer.get("model_type") or _type_of_class(text))
    if not text.get("model_type"):
        text = {**text, "model_type": model_type}
    if model_type in architecture_tables()["refused"]:
        raise UnsupportedError(
            name,
            reason=f"no closed formula covers model_type {model_type!r}",
            instead="Name the model, or give its size (7B).",
        )
    traits, known = _traits(model_type)
    spec = _record(text, traits, name=name, model_type=model_type)
    tie = outer.get("tie_word_embeddings", text.get("tie_word_embeddings"))
    if tie is not None and traits["formula"] != "t5":
        spec = dataclasses.replace(spec, tie_word_embeddings=bool(tie))
    notes = _notes(text, known=known, model_type=model_type, traits=traits)
    tower = 0
    if text is not outer or isinstance(outer.get("vision_config"), Mapping):
        vision = outer.get("vision_config")
        if isinstance(vision, Mapping):
            tower = vision_params(vision, text_hidden_size=spec.hidden_size or 0)
            notes.append("the vision tower is estimated from its width and depth")
    return _counted(spec, tower=tower, notes=notes, name=name)


def hf_field_names() -> frozenset[str]:
    """Every spelling of a dimension that a config.json may use."""
    names = architecture_tables()["renames"].values()
    return frozenset(name for spellings in names for name in spellings)


def is_hf_config(config: Mapping[str, Any]) -> bool:
    """Whether a mapping has the dimensions of a model: width, depth and heads, or names its base.

    >>> is_hf_config({"n_embd": 1600, "n_layer": 48, "n_head": 25}), is_hf_config({"dim": 4096})
    (True, False)
    """
    text = _flat(_text_part(dict(config)))
    renames = architecture_tables()["renames"]
    needed = ("hidden_size", "num_hidden_layers", "num_attention_heads")
    return all(any(isinstance(text.get(name), int) for name in renames[field]) for field in needed)


def model_from_config_file(path: str | Path) -> ModelSpec:
    """`model_from_hf_config` of a file.

    Raises:
        UserInputError: If the file cannot be read or is not a JSON object.
    """
    file = Path(path)
    try:
        if file.stat().st_size > _MAX_CONFIG_BYTES:
            raise UserInputError(f"{file.name} is too large for a config.json (over 4 MB).")
        config = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserInputError(f"{file.name} cannot be read as JSON: {error}.") from error
    if not isinstance(config, dict):
        raise UserInputError(f"{file.name} holds no JSON object; a config.json does.")
    return model_from_hf_config(config, name=file.parent.name or file.name)


def _text_part(config: dict[str, Any]) -> dict[str, Any]:
    for key in _TEXT_KEYS:
        inner = config.get(key)
        if isinstance(inner, Mapping) and inner:
            merged = {k: v for k, v in config.items() if not isinstance(v, Mapping)}
            merged.update(_text_part(dict(inner)))
            return merged
    return config


def _flat(config: dict[str, Any]) -> dict[str, Any]:
    """DBRX and MPT keep part of their fields in `ffn_config` and `attn_config`."""
    inner: dict[str, Any] = {}
    for key in ("ffn_config", "attn_config"):
        part = config.get(key)
        if isinstance(part, Mapping):
            inner.update({name: value for name, value in part.items() if name != "model_type"})
    return {**inner, **config} if inner else config


def _complete(config: dict[str, Any]) -> dict[str, Any]:
    """A text part that only names its base model (LLaVA) gets the dimensions of that model."""
    base = config.get("_name_or_path")
    if any(config.get(key) for key in ("hidden_size", "n_embd", "d_model")) or not base:
        return config
    match = try_find_model(str(base))
    if match is None or match.spec.hidden_size is None:
        return config
    known = {field: getattr(match.spec, field) for field in _DIMENSIONS}
    return {**{key: value for key, value in known.items() if value is not None}, **config}


_CLASS_TAIL = re.compile(r"(?:For[A-Z]\w*|LMHeadModel|Model)$")


def _type_of_class(config: Mapping[str, Any]) -> str:
    """The model type that the first architecture's name says: LlamaForCausalLM is llama."""
    named = config.get("architectures")
    if not isinstance(named, list) or not named or not isinstance(named[0], str):
        return ""
    head = _CLASS_TAIL.sub("", named[0]).casefold()
    types = {key.replace("_", "").replace("-", ""): key for key in architecture_tables()["types"]}
    return str(types.get(head, ""))


def _traits(model_type: str) -> tuple[dict[str, Any], bool]:
    tables = architecture_tables()
    row = tables["types"].get(model_type) or tables["types"].get(model_type.replace("-", "_"))
    return {**tables["defaults"], **(row or {})}, row is not None


def _record(
    config: Mapping[str, Any], traits: Mapping[str, Any], *, name: str, model_type: str
) -> ModelSpec:
    dims = dims_of(config, traits)
    layers = dims["num_hidden_layers"] or 0
    moe = read_moe(config, traits, layers)
    mla = read_mla(config)
    linear = read_linear(config, traits, layers)
    sliding = read_sliding(config, traits, layers)
    dtype = config.get("torch_dtype") or config.get("dtype")
    kind = traits.get("kind") or ("moe-lm" if moe else "decoder-lm")
    learned = traits.get("learned_positions")
    positions = dims["max_position_embeddings"]
    return ModelSpec(
        name=name,
        kind=kind,
        family=model_type or None,
        formula=traits["formula"],
        params_total=1,
        dtype=str(dtype) if dtype else None,
        moe=moe,
        mla=mla,
        linear=linear,
        sliding=sliding,
        attention=attention_name(dims, mla=mla, linear=linear, sliding=sliding),
        learned_positions=(positions or 0) + traits.get("extra_positions", 0) if learned else None,
        mlp=_mlp_kind(config, traits),
        norm=traits["norm"],
        norms_per_layer=_norms(config, traits),
        qk_norm=_qk_norm(config, traits),
        attn_sinks=bool(traits.get("attn_sinks")),
        lm_head_bias=bool(traits.get("lm_head_bias")),
        no_lm_head=_is_headless(config, traits),
        embed_norm=bool(traits.get("embed_norm")),
        embed_proj_dim=_projection(config, dims["hidden_size"]),
        final_norm=False if _projection(config, dims["hidden_size"]) else None,
        tie_word_embeddings=_tied(config, traits),
        type_vocab_size=first_count(config, ("type_vocab_size",)),
        position_buckets=first_count(config, ("position_buckets",)),
        pooler=traits.get("pooler"),
        mel_bins=first_count(config, ("num_mel_bins",)),
        **_biases(config, traits),
        **dims,
    )


def _is_headless(config: Mapping[str, Any], traits: Mapping[str, Any]) -> bool:
    """Whether the checkpoint is a bare decoder (embedding models), by its architecture names."""
    named = config.get("architectures")
    if traits["formula"] != "decoder" or not isinstance(named, list) or not named:
        return False
    return not any(part in str(name) for name in named for part in _HEADED)


def _tied(config: Mapping[str, Any], traits: Mapping[str, Any]) -> bool:
    if traits["formula"] == "t5":
        gated = str(config.get("feed_forward_proj", "")).startswith("gated")
        return not gated and bool(config.get("tie_word_embeddings", traits["tie_word_embeddings"]))
    return bool(config.get("tie_word_embeddings", traits["tie_word_embeddings"]))


def _mlp_kind(config: Mapping[str, Any], traits: Mapping[str, Any]) -> str:
    if traits["formula"] == "t5":
        return (
            "gated" if str(config.get("feed_forward_proj", "relu")).startswith("gated") else "plain"
        )
    return str(traits["mlp"])


def _norms(config: Mapping[str, Any], traits: Mapping[str, Any]) -> int:
    if traits.get("falcon"):
        if config.get("new_decoder_architecture"):
            return int(config.get("num_ln_in_parallel_attn") or 2)
        return 1 if config.get("parallel_attn", True) else 2
    return int(traits["norms_per_layer"])


def _qk_norm(config: Mapping[str, Any], traits: Mapping[str, Any]) -> str | None:
    switch = traits.get("qk_norm_from")
    if switch is not None:
        kind: str = traits.get("qk_norm_kind", "head")
        return kind if config.get(switch) else None
    return traits.get("qk_norm")


def _projection(config: Mapping[str, Any], hidden: int | None) -> int | None:
    width = first_count(config, ("word_embed_proj_dim",))
    return width if width and width != hidden else None


def _biases(config: Mapping[str, Any], traits: Mapping[str, Any]) -> dict[str, Any]:
    biases: dict[str, Any] = {key: bool(traits[key]) for key in ("qkv_bias", "o_bias", "mlp_bias")}
    switch = traits.get("bias")
    if switch is not None:
        on = bool(config.get(switch, traits.get("bias_default", False)))
        biases["qkv_bias"] = on
        biases["o_bias"] = on and traits.get("bias_out", True)
        biases["mlp_bias"] = on if traits.get("bias_mlp") else bool(config.get("mlp_bias", False))
    if traits.get("falcon"):
        on = bool(config.get("bias", False))
        biases = dict.fromkeys(biases, on)
    return biases


def _notes(
    config: Mapping[str, Any], *, known: bool, model_type: str, traits: Mapping[str, Any]
) -> list[str]:
    tables = architecture_tables()
    notes: list[str] = []
    if not known:
        notes.append(
            f"model_type {model_type!r} is not known here: counted as a Llama-like decoder"
        )
    if not first_count(config, tables["renames"]["intermediate_size"]):
        width = width_left_out(config, traits)
        if width is not None:
            notes.append(f"intermediate_size is not in the file: {width.size}, {width.why}")
    read = {name for names in tables["renames"].values() for name in names}
    read |= {name for names in tables["experts"].values() for name in names}
    read |= {*tables["read_otherwise"], *tables["harmless"], str(traits.get("bias"))}
    unread = sorted(
        key
        for key, value in config.items()
        if key not in read
        and isinstance(value, (int, float))
        and not isinstance(value, bool)
        and any(word in key for word in tables["structural_words"])
    )
    if unread:
        notes.append(f"fields not read that may change the count: {', '.join(unread[:8])}")
    quantized = config.get("quantization_config")
    if isinstance(quantized, Mapping):
        method = quantized.get("quant_method", "unknown method")
        bits = quantized.get("bits") or quantized.get("weight_bits")
        notes.append(f"the checkpoint is quantized: {method}" + (f", {bits} bit" if bits else ""))
    return notes


def _counted(spec: ModelSpec, *, tower: int, notes: list[str], name: str) -> ModelSpec:
    try:
        counts = count_params(spec)
    except ValueError as error:
        raise UnsupportedError(name, reason=f"{error} (feed-forward width or a sibling)") from error
    if counts is None:
        raise UnsupportedError(name, reason="no closed formula covers this architecture")
    kind = "vlm" if tower else spec.kind
    return dataclasses.replace(
        spec,
        kind=kind,
        params_total=counts.total + tower,
        params_active=counts.active,
        params_embedding=counts.embedding,
        params_total_basis="closed formula from config.json",
        vision_params=tower or None,
        kv_elems_per_token=kv_elems_per_token(spec),
        sources=(name,),
        origin="hf_config",
        note="; ".join(notes) or None,
    )
