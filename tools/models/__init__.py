"""The model registry: dimensions, parameter counts, and every way to name or describe a model.

`find_model` reads a written name, `scan_models` reads free text, `reference_model` answers a
nominal size, and `model_from_hf_config`, `model_from_gguf` and `model_from_safetensors` read a
model that is not in the registry. Names are loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tools.models.counting import ParamCounts, count_params, kv_elems_per_token
    from tools.models.described import described_model
    from tools.models.gguf import model_from_gguf
    from tools.models.hf_config import (
        hf_field_names,
        is_hf_config,
        model_from_config_file,
        model_from_hf_config,
    )
    from tools.models.kinds import (
        DENOISER_KINDS,
        ENCODER_KINDS,
        LANGUAGE_KINDS,
        SEEING_KINDS,
        SMALL_KINDS,
        WRITING_KINDS,
    )
    from tools.models.names import (
        Family,
        closest_names,
        find_family,
        find_model,
        try_find_model,
        usual_member,
    )
    from tools.models.reference import reference_model
    from tools.models.registry import all_models, get_model
    from tools.models.safetensors import model_from_safetensors
    from tools.models.scan import FamilyMention, scan_families, scan_models
    from tools.models.spec import (
        IndexerDims,
        LinearDims,
        MlaDims,
        ModelMatch,
        ModelMention,
        ModelSpec,
        MoeDims,
        SlidingDims,
    )
    from tools.models.written import written_config

_HOMES = {
    "hf_config": (
        "hf_field_names", "is_hf_config", "model_from_config_file", "model_from_hf_config",
    ),
    "gguf": ("model_from_gguf",),
    "safetensors": ("model_from_safetensors",),
    "counting": ("ParamCounts", "count_params", "kv_elems_per_token"),
    "described": ("described_model",),
    "kinds": (
        "DENOISER_KINDS", "ENCODER_KINDS", "LANGUAGE_KINDS", "SEEING_KINDS", "SMALL_KINDS",
        "WRITING_KINDS",
    ),
    "reference": ("reference_model",),
    "scan": ("FamilyMention", "scan_families", "scan_models"),
    "registry": ("all_models", "get_model"),
    "written": ("written_config",),
    "names": (
        "Family", "closest_names", "find_family", "find_model", "try_find_model", "usual_member",
    ),
    "spec": (
        "IndexerDims", "LinearDims", "MlaDims", "ModelMatch", "ModelMention", "ModelSpec",
        "MoeDims", "SlidingDims",
    ),
}  # fmt: skip
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "DENOISER_KINDS",
    "ENCODER_KINDS",
    "LANGUAGE_KINDS",
    "SEEING_KINDS",
    "SMALL_KINDS",
    "WRITING_KINDS",
    "Family",
    "FamilyMention",
    "IndexerDims",
    "LinearDims",
    "MlaDims",
    "ModelMatch",
    "ModelMention",
    "ModelSpec",
    "MoeDims",
    "ParamCounts",
    "SlidingDims",
    "all_models",
    "closest_names",
    "count_params",
    "described_model",
    "find_family",
    "find_model",
    "get_model",
    "hf_field_names",
    "is_hf_config",
    "kv_elems_per_token",
    "model_from_config_file",
    "model_from_gguf",
    "model_from_hf_config",
    "model_from_safetensors",
    "reference_model",
    "scan_families",
    "scan_models",
    "try_find_model",
    "usual_member",
    "written_config",
]


def __getattr__(name: str) -> Any:
    """Loads a public name from its module at first use."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
