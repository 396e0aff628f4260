"""A model from the header of a GGUF file: metadata and tensor shapes, no weights.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (versions 2 and 3, little
endian). The file may be anybody's: every length is checked before anything is allocated, and no
more than `_MAX_HEADER_BYTES` are read.
"""

from __future__ import annotations

import dataclasses
import struct
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from tools.errors import UserInputError
from tools.models.counting import count_params, kv_elems_per_token
from tools.models.spec import ModelSpec, MoeDims, SlidingDims

_MAX_HEADER_BYTES = 256 * 1024 * 1024
_MAX_STRING_BYTES = 1024 * 1024
_MAX_ENTRIES = 1_000_000
_MAX_ARRAY = 4_000_000
_MAX_DIMS = 8
_STRING, _ARRAY = 8, 9
_SCALARS = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q",
    12: "<d",
}  # fmt: skip
_FILE_TYPES = {
    0: "fp32", 1: "fp16", 2: "q4_0", 3: "q4_1", 7: "q8_0", 8: "q5_0", 9: "q5_1", 10: "q2_k",
    11: "q3_k_s", 12: "q3_k_m", 13: "q3_k_l", 14: "q4_k_s", 15: "q4_k_m", 16: "q5_k_s",
    17: "q5_k_m", 18: "q6_k", 19: "iq2_xxs", 20: "iq2_xs", 21: "q2_k_s", 22: "iq3_xs",
    23: "iq3_xxs", 24: "iq1_s", 25: "iq4_nl", 26: "iq3_s", 27: "iq3_m", 28: "iq2_s", 29: "iq2_m",
    30: "iq4_xs", 31: "iq1_m", 32: "bf16", 36: "tq1_0", 37: "tq2_0", 38: "mxfp4",
}  # fmt: skip
_TENSOR_TYPES = {
    0: "fp32", 1: "fp16", 2: "q4_0", 3: "q4_1", 6: "q5_0", 7: "q5_1", 8: "q8_0", 10: "q2_k",
    11: "q3_k", 12: "q4_k", 13: "q5_k", 14: "q6_k", 30: "bf16", 39: "mxfp4",
}  # fmt: skip
_QKV_BIASED = frozenset({"qwen2", "qwen2moe", "qwen2vl", "qwen"})


@dataclass(slots=True)
class GgufHeader:
    """What a header says."""

    metadata: dict[str, Any] = field(default_factory=dict)
    """Scalars and strings; arrays as their length under `<key>#`."""
    tensors: dict[str, tuple[int, ...]] = field(default_factory=dict)
    tensor_types: Counter[int] = field(default_factory=Counter)
    """Elements by ggml type."""


class _Reader:
    """Reads little-endian values and never more than the limit."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream, self._name, self._left = stream, name, _MAX_HEADER_BYTES

    def bytes(self, count: int) -> bytes:
        if count > self._left:
            raise self.bad(f"header longer than {_MAX_HEADER_BYTES} bytes")
        self._left -= count
        data = self._stream.read(count)
        if len(data) != count:
            raise self.bad("the file ends inside its header")
        return data

    def scalar(self, code: str) -> Any:
        return struct.unpack(code, self.bytes(struct.calcsize(code)))[0]

    def string(self) -> str:
        length = self.scalar("<Q")
        if length > _MAX_STRING_BYTES:
            raise self.bad(f"a string of {length} bytes")
        return self.bytes(length).decode("utf-8", errors="replace")

    def bad(self, why: str) -> UserInputError:
        return UserInputError(f"{self._name} is not a readable GGUF file: {why}.")

    def value(self, kind: int, *, depth: int = 0) -> Any:
        """A metadata value; an array is skipped and gives its length."""
        if kind == _STRING:
            return self.string()
        if kind == _ARRAY:
            return self._array(depth)
        code = _SCALARS.get(kind)
        if code is None:
            raise self.bad(f"unknown value type {kind}")
        return self.scalar(code)

    def _array(self, depth: int) -> list[Any]:
        kind, length = self.scalar("<I"), self.scalar("<Q")
        if length > _MAX_ARRAY or depth > 2:
            raise self.bad(f"an array of {length} entries")
        code = _SCALARS.get(kind)
        if code is not None:
            data = self.bytes(length * struct.calcsize(code))
            return list(struct.unpack(f"<{length}{code[1]}", data))
        return [self.value(kind, depth=depth + 1) for _ in range(length)]


def read_gguf_header(path: str | Path) -> GgufHeader:
    """Metadata and tensor shapes of a GGUF file.

    Raises:
        UserInputError: If the file cannot be read or is no GGUF file of version 2 or 3.
    """
    file = Path(path)
    try:
        with file.open("rb") as stream:
            return _read_header(_Reader(stream, file.name))
    except OSError as error:
        raise UserInputError(f"{file.name} cannot be read: {error.strerror}.") from error


def _read_header(reader: _Reader) -> GgufHeader:
    if reader.bytes(4) != b"GGUF":
        raise reader.bad("it does not begin with GGUF")
    version = reader.scalar("<I")
    if version not in (2, 3):
        raise reader.bad(f"version {version}; versions 2 and 3 are read")
    tensor_count, entry_count = reader.scalar("<Q"), reader.scalar("<Q")
    if max(tensor_count, entry_count) > _MAX_ENTRIES:
        raise reader.bad(f"{max(tensor_count, entry_count)} entries")
    header = GgufHeader()
    for _ in range(entry_count):
        key = reader.string()
        value = reader.value(reader.scalar("<I"))
        header.metadata[key] = value
    for _ in range(tensor_count):
        name = reader.string()
        dims = reader.scalar("<I")
        if dims > _MAX_DIMS:
            raise reader.bad(f"a tensor of {dims} dimensions")
        shape = tuple(reader.scalar("<Q") for _ in range(dims))
        kind = reader.scalar("<I")
        reader.scalar("<Q")
        header.tensors[name] = shape
        header.tensor_types[kind] += _product(shape)
    return header


def _product(shape: tuple[int, ...]) -> int:
    total = 1
    for size in shape:
        total *= size
    return total


def model_from_gguf(path: str | Path) -> ModelSpec:
    """The record of a model in a GGUF file.

    Parameters are the elements of the tensors the file lists, so a part of a split file counts
    only its own; the note says so. `dtype` is the file's quantization.

    Raises:
        UserInputError: If the file cannot be read or lacks the usual metadata.
    """
    header = read_gguf_header(path)
    name = Path(path).name
    meta = header.metadata
    arch = str(meta.get("general.architecture", ""))
    dims = _dims(meta, arch, header.tensors)
    missing = [key for key, value in dims.items() if value is None]
    if missing:
        raise UserInputError(
            f"{name} lacks the metadata {', '.join(missing)} of {arch or 'a model'}."
        )
    moe = _moe(meta, arch, dims)
    spec = _record(meta, arch, header, dims, moe=moe, name=name)
    counts = count_params(spec)
    total = sum(_product(shape) for shape in header.tensors.values())
    notes = [f"architecture {arch}"]
    if _is_split(meta):
        notes.append("one part of a split file: parameters by closed formula, head untied")
        total = counts.total if counts else total
    expected = counts.total if counts else total
    active = counts.active if counts and abs(expected - total) <= 0.02 * total else total
    return dataclasses.replace(
        spec,
        params_total=total,
        params_active=active if moe else total,
        params_embedding=(dims["vocab_size"] or 0) * (dims["hidden_size"] or 0),
        kv_elems_per_token=kv_elems_per_token(spec),
        note="; ".join(notes),
    )


def _is_split(meta: Mapping[str, Any]) -> bool:
    return (_number(meta, "split.count") or 1) > 1


def _number(meta: Mapping[str, Any], key: str) -> int | None:
    value = meta.get(key)
    if isinstance(value, list):
        numbers = [item for item in value if isinstance(item, int)]
        value = max(numbers, default=None)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 10**9:
        return None
    return value


def _dims(
    meta: Mapping[str, Any], arch: str, tensors: Mapping[str, tuple[int, ...]]
) -> dict[str, int | None]:
    hidden = _number(meta, f"{arch}.embedding_length")
    heads = _number(meta, f"{arch}.attention.head_count")
    embedding = tensors.get("token_embd.weight", ())
    tokens = meta.get("tokenizer.ggml.tokens")
    listed = len(tokens) if isinstance(tokens, list) else _number(meta, f"{arch}.vocab_size")
    key_length = _number(meta, f"{arch}.attention.key_length")
    return {
        "hidden_size": hidden,
        "num_hidden_layers": _number(meta, f"{arch}.block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": _number(meta, f"{arch}.attention.head_count_kv") or heads,
        "head_dim": key_length or (hidden // heads if hidden and heads else None),
        "intermediate_size": _number(meta, f"{arch}.feed_forward_length")
        or _number(meta, f"{arch}.expert_feed_forward_length"),
        "vocab_size": embedding[1] if len(embedding) == 2 else listed,
    }


def _moe(meta: Mapping[str, Any], arch: str, dims: Mapping[str, int | None]) -> MoeDims | None:
    experts = _number(meta, f"{arch}.expert_count")
    if not experts:
        return None
    first = _number(meta, f"{arch}.leading_dense_block_count") or 0
    width = _number(meta, f"{arch}.expert_feed_forward_length") or dims["intermediate_size"] or 1
    shared_count = _number(meta, f"{arch}.expert_shared_count") or 0
    shared = _number(meta, f"{arch}.expert_shared_feed_forward_length") or shared_count * width
    return MoeDims(
        num_experts=experts,
        experts_per_token=_number(meta, f"{arch}.expert_used_count") or 1,
        moe_intermediate_size=width,
        shared_intermediate_size=shared or None,
        num_shared_experts=shared_count or None,
        first_dense_layers=first,
        num_moe_layers=max((dims["num_hidden_layers"] or 0) - first, 0),
    )


def _record(
    meta: Mapping[str, Any],
    arch: str,
    header: GgufHeader,
    dims: dict[str, int | None],
    *,
    moe: MoeDims | None,
    name: str,
) -> ModelSpec:
    window = _number(meta, f"{arch}.attention.sliding_window")
    known: dict[str, Any] = dict(dims)
    return ModelSpec(
        name=str(meta.get("general.name") or name),
        kind="moe-lm" if moe else "decoder-lm",
        family=arch or None,
        formula="decoder",
        params_total=1,
        params_total_basis="elements of the file's tensors",
        dtype=_dtype(header),
        max_position_embeddings=_number(meta, f"{arch}.context_length"),
        tie_word_embeddings="output.weight" not in header.tensors and not _is_split(meta),
        mlp="gated" if _has_gate(header.tensors) else "plain",
        norm="rms",
        norms_per_layer=2,
        qkv_bias="blk.0.attn_q.bias" in header.tensors or arch in _QKV_BIASED,
        qk_norm="head" if "blk.0.attn_q_norm.weight" in header.tensors else None,
        o_bias=False,
        mlp_bias=False,
        attention="sliding" if window else "gqa",
        sliding=SlidingDims(window=window) if window else None,
        moe=moe,
        sources=(name,),
        origin="gguf",
        **known,
    )


def _has_gate(tensors: Mapping[str, tuple[int, ...]]) -> bool:
    has_up = any("ffn_up" in name for name in tensors)
    return not has_up or any("ffn_gate" in name for name in tensors)


def _dtype(header: GgufHeader) -> str | None:
    named = _FILE_TYPES.get(_number(header.metadata, "general.file_type") or -1)
    if named is not None or not header.tensor_types:
        return named or ("fp32" if header.metadata.get("general.file_type") == 0 else None)
    return _TENSOR_TYPES.get(header.tensor_types.most_common(1)[0][0])
