"""A pasted config.json carried as a model name: `config.json{...}`, its fields in one line.

Tools take a model by name. A model that is only described by its configuration gets a name that
holds the fields that matter, so that every tool computes with the architecture itself and not
with a typical one of its size.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from tools.errors import UserInputError
from tools.models.hf_config import model_from_hf_config
from tools.models.spec import ModelSpec

PREFIX = "config.json{"
_LONGEST = 6000
_PARTS = (
    "text_config", "llm_config", "language_config", "thinker_config", "vision_config",
    "quantization_config", "ffn_config", "attn_config",
)  # fmt: skip
"""Nested parts that are read; other nesting says nothing about sizes."""
_LISTS = ("architectures", "layer_types", "mlp_only_layers")


def written_config(config: Mapping[str, Any]) -> str:
    """The name that carries a configuration.

    >>> written_config({"hidden_size": 64, "rope_scaling": {"factor": 2}})
    'config.json{"hidden_size": 64}'
    """
    return "config.json" + json.dumps(_kept(config), ensure_ascii=True)


def _kept(config: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            if key in _PARTS:
                kept[key] = _kept(value)
        elif isinstance(value, (int, float, str)) or key in _LISTS:
            kept[key] = value
    return kept


@lru_cache(maxsize=64)
def model_from_written(name: str) -> ModelSpec | None:
    """The record of a name that `written_config` made, or None for any other name.

    Raises:
        UserInputError: If the fields are not those of a model, or cannot be read.
    """
    if not name.startswith(PREFIX):
        return None
    if len(name) > _LONGEST:
        raise UserInputError("This config.json is too long; leave out what is not a dimension.")
    try:
        config = json.loads(name.removeprefix("config.json"))
    except ValueError as error:
        raise UserInputError(f"This config.json cannot be read: {error}.") from error
    spec = model_from_hf_config(config)
    kind = str(config.get("model_type") or "decoder")
    return dataclasses.replace(spec, name=f"config.json ({kind} {spec.params_total / 1e9:.3g}B)")
