"""A model from the headers of safetensors files: names, dtypes and shapes, no weights.

A header is eight bytes of length and a JSON object (https://huggingface.co/docs/safetensors).
Beside a `config.json` the configuration gives the architecture and the headers the stored count
and dtype; alone, a decoder's dimensions are read off the tensor names.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import struct
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.errors import UserInputError
from tools.models.counting import count_params, kv_elems_per_token
from tools.models.hf_config import model_from_config_file
from tools.models.spec import ModelSpec, MoeDims

_MAX_HEADER_BYTES = 100_000_000
_MAX_FILES = 2_000
_MAX_TENSORS = 1_000_000
_MAX_ELEMENTS = 10**15
_DTYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "I64": "int64", "I32": "int32",
    "I8": "int8", "U8": "uint8",
}  # fmt: skip
_PACKED = ("qweight", "qzeros", "absmax", "quant_state", "quant_map", "_packed", "g_idx", "_blocks")
_LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks)\.(\d+)\.(.+)$")
_EXPERT = re.compile(r"experts\.(\d+)\.")
_COMMON_HEAD_DIM = 128


@dataclass(slots=True)
class _Tensors:
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    elements: Counter[str] = field(default_factory=Counter)
    """Elements by dtype."""
    is_packed: bool = False


def model_from_safetensors(path: str | Path) -> ModelSpec:
    """The record of a model stored as safetensors.

    Args:
        path: One file, or the folder of a checkpoint.

    Returns:
        A record with `origin` "safetensors". `checkpoint_params` is the stored count, unless the
        weights are packed in a quantized form.

    Raises:
        UserInputError: If nothing can be read, or the names are those of no known decoder and no
            config.json lies beside.
    """
    place = Path(path)
    folder = place if place.is_dir() else place.parent
    files = sorted(place.glob("*.safetensors"))[:_MAX_FILES] if place.is_dir() else [place]
    if not files:
        raise UserInputError(f"{place.name} holds no .safetensors file.")
    tensors = _Tensors()
    for file in files:
        _read_header(file, tensors)
    stored = sum(tensors.elements.values())
    main = tensors.elements.most_common(1)[0][0] if tensors.elements else "F32"
    dtype = _DTYPES.get(main, main.lower())
    config = folder / "config.json"
    if config.is_file():
        spec = model_from_config_file(config)
        has_all = not tensors.is_packed and stored > 0.5 * spec.params_total
        return dataclasses.replace(
            spec,
            origin="safetensors",
            dtype=spec.dtype if tensors.is_packed else dtype,
            checkpoint_params=stored if has_all else None,
            sources=(config.name, *(file.name for file in files[:3])),
        )
    return _from_shapes(tensors, dtype=dtype, stored=stored, name=place.name)


def _read_header(file: Path, tensors: _Tensors) -> None:
    try:
        with file.open("rb") as stream:
            raw = stream.read(8)
            length = struct.unpack("<Q", raw)[0] if len(raw) == 8 else 0
            if not 2 <= length <= _MAX_HEADER_BYTES:
                raise UserInputError(
                    f"{file.name} is no safetensors file: header of {length} bytes."
                )
            header = json.loads(stream.read(length))
    except OSError as error:
        raise UserInputError(f"{file.name} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise UserInputError(
            f"{file.name} is no safetensors file: its header is no JSON."
        ) from error
    if not isinstance(header, dict) or len(header) > _MAX_TENSORS:
        raise UserInputError(f"{file.name} is no safetensors file: its header lists no tensors.")
    for name, entry in header.items():
        if name != "__metadata__":
            _add(name, entry, tensors, file=file.name)


def _add(name: str, entry: Any, tensors: _Tensors, *, file: str) -> None:
    shape = entry.get("shape") if isinstance(entry, dict) else None
    is_shape = isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape)
    if not is_shape or shape is None or math.prod(shape) > _MAX_ELEMENTS:
        raise UserInputError(f"{file}: tensor {name[:80]!r} has no usable shape.")
    tensors.shapes[name] = tuple(shape)
    tensors.elements[str(entry.get("dtype"))] += math.prod(shape)
    tensors.is_packed |= name.endswith(_PACKED)


def _from_shapes(tensors: _Tensors, *, dtype: str, stored: int, name: str) -> ModelSpec:
    first, layers, experts = _layer_shapes(tensors.shapes)
    embedding = _ending(
        tensors.shapes, "embed_tokens.weight", "wte.weight", "word_embeddings.weight"
    )
    query, key = _ending(first, "q_proj.weight"), _ending(first, "k_proj.weight")
    gate = _ending(first, "gate_proj.weight", "w1.weight")
    if not (embedding and query and key and gate and layers) or tensors.is_packed:
        raise UserInputError(
            f"{name}: the tensor names are not those of a plain decoder; give the folder with its "
            f"config.json."
        )
    vocab, hidden = embedding[0], embedding[1]
    norm = _ending(first, "q_norm.weight")
    head_dim = norm[0] if norm and norm[0] <= 1024 else _COMMON_HEAD_DIM
    has_head = any(key.endswith("lm_head.weight") for key in tensors.shapes)
    moe = _moe(first, gate, layers=layers, experts=experts)
    spec = ModelSpec(
        name=name,
        kind="moe-lm" if moe else "decoder-lm",
        formula="decoder",
        params_total=stored,
        params_total_basis="elements of the file's tensors",
        checkpoint_params=stored,
        dtype=dtype,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=max(query[0] // head_dim, 1),
        num_key_value_heads=max(key[0] // head_dim, 1),
        head_dim=head_dim,
        intermediate_size=gate[0],
        vocab_size=vocab,
        tie_word_embeddings=not has_head,
        mlp="gated",
        norm="rms",
        norms_per_layer=2,
        qkv_bias=_ending(first, "q_proj.bias") is not None,
        o_bias=_ending(first, "o_proj.bias") is not None,
        mlp_bias=False,
        qk_norm="head" if norm else None,
        attention="mha" if key == query else "gqa",
        moe=moe,
        sources=(name,),
        origin="safetensors",
        note="dimensions read off the tensor shapes"
        + ("" if norm else "; head_dim assumed to be 128"),
    )
    return _counted(spec, stored)


def _counted(spec: ModelSpec, stored: int) -> ModelSpec:
    """The row with its active parameters and the elements of its cache."""
    counts = count_params(spec)
    active = counts.active if counts is not None and spec.moe else stored
    return dataclasses.replace(
        spec, params_active=active, kv_elems_per_token=kv_elems_per_token(spec)
    )


def _layer_shapes(
    shapes: Mapping[str, tuple[int, ...]],
) -> tuple[dict[str, tuple[int, ...]], int, int]:
    """Tensors of the last layer, the number of layers, the number of experts."""
    last: dict[str, tuple[int, ...]] = {}
    deepest, experts = -1, 0
    for name, shape in shapes.items():
        found = _LAYER.search(name)
        if found is None:
            continue
        number = int(found[1])
        if number > deepest:
            deepest, last = number, {}
        if number == deepest:
            last[found[2]] = shape
        expert = _EXPERT.search(name)
        experts = max(experts, int(expert[1]) + 1) if expert else experts
    return last, deepest + 1, experts


def _moe(
    first: Mapping[str, tuple[int, ...]], gate: tuple[int, ...], *, layers: int, experts: int
) -> MoeDims | None:
    if experts < 2:
        return None
    shared = next(
        (shape for key, shape in first.items() if "shared" in key and "gate_proj" in key), None
    )
    return MoeDims(
        num_experts=experts,
        experts_per_token=min(8, experts),
        moe_intermediate_size=gate[0],
        shared_intermediate_size=shared[0] if shared else None,
        num_moe_layers=layers,
        first_dense_layers=0,
        note="experts per token assumed: the shapes do not tell",
    )


def _ending(shapes: Mapping[str, tuple[int, ...]], *endings: str) -> tuple[int, ...] | None:
    return next((shape for name, shape in shapes.items() if name.endswith(endings)), None)
