"""GGUF and safetensors headers, good and hostile; the files are written here byte by byte."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.errors import UserInputError
from tools.models import model_from_gguf, model_from_safetensors

HIDDEN, LAYERS, FFN, VOCAB, HEADS, KV, DIM = 64, 2, 160, 320, 4, 2, 16
LAYER = HIDDEN * DIM * (2 * HEADS + 2 * KV) + 3 * HIDDEN * FFN + 2 * HIDDEN
UNTIED = 2 * VOCAB * HIDDEN + LAYERS * LAYER + HIDDEN


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def _entry(key: str, value: Any) -> bytes:
    if isinstance(value, str):
        return _text(key) + struct.pack("<I", 8) + _text(value)
    if isinstance(value, list):
        items = b"".join(_text(item) for item in value)
        return _text(key) + struct.pack("<IIQ", 9, 8, len(value)) + items
    return _text(key) + struct.pack("<II", 4, value)


def _gguf(
    metadata: dict[str, Any], tensors: dict[str, tuple[int, ...]], *, kind: int = 12
) -> bytes:
    parts = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(metadata))]
    parts += [_entry(key, value) for key, value in metadata.items()]
    for name, shape in tensors.items():
        dims = struct.pack(f"<{len(shape)}Q", *shape)
        parts.append(
            _text(name) + struct.pack("<I", len(shape)) + dims + struct.pack("<IQ", kind, 0)
        )
    return b"".join(parts)


def _tensors() -> dict[str, tuple[int, ...]]:
    tensors: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (HIDDEN, VOCAB), "output.weight": (HIDDEN, VOCAB),
        "output_norm.weight": (HIDDEN,),
    }  # fmt: skip
    for layer in range(LAYERS):
        tensors |= {
            f"blk.{layer}.attn_q.weight": (HIDDEN, HEADS * DIM),
            f"blk.{layer}.attn_k.weight": (HIDDEN, KV * DIM),
            f"blk.{layer}.attn_v.weight": (HIDDEN, KV * DIM),
            f"blk.{layer}.attn_output.weight": (HEADS * DIM, HIDDEN),
            f"blk.{layer}.ffn_gate.weight": (HIDDEN, FFN),
            f"blk.{layer}.ffn_up.weight": (HIDDEN, FFN),
            f"blk.{layer}.ffn_down.weight": (FFN, HIDDEN),
            f"blk.{layer}.attn_norm.weight": (HIDDEN,),
            f"blk.{layer}.ffn_norm.weight": (HIDDEN,),
        }
    return tensors


METADATA = {
    "general.architecture": "llama", "general.name": "Tiny", "general.file_type": 15,
    "llama.embedding_length": HIDDEN, "llama.block_count": LAYERS, "llama.context_length": 4096,
    "llama.feed_forward_length": FFN, "llama.attention.head_count": HEADS,
    "llama.attention.head_count_kv": KV, "tokenizer.ggml.tokens": ["<s>", "a", "b"],
}  # fmt: skip


def test_a_gguf_header_gives_dimensions_parameters_and_quantization(tmp_path: Path) -> None:
    file = tmp_path / "tiny-q4_k_m.gguf"
    file.write_bytes(_gguf(METADATA, _tensors()))
    spec = model_from_gguf(file)
    assert (spec.hidden_size, spec.num_hidden_layers, spec.vocab_size) == (HIDDEN, LAYERS, VOCAB)
    assert (spec.num_attention_heads, spec.num_key_value_heads, spec.head_dim) == (HEADS, KV, DIM)
    assert spec.params_total == UNTIED
    assert spec.dtype == "q4_k_m"
    assert spec.tie_word_embeddings is False
    assert spec.kv_elems_per_token == 2 * LAYERS * KV * DIM
    assert spec.max_position_embeddings == 4096
    assert spec.origin == "gguf"


def test_a_part_of_a_split_file_counts_the_whole_model(tmp_path: Path) -> None:
    file = tmp_path / "tiny-00001-of-00002.gguf"
    some = dict(list(_tensors().items())[:5])
    file.write_bytes(_gguf({**METADATA, "split.count": 2}, some))
    spec = model_from_gguf(file)
    assert spec.params_total == UNTIED
    assert "split" in (spec.note or "")


def test_a_gguf_mixture_has_experts_and_a_type_by_its_tensors(tmp_path: Path) -> None:
    metadata = {key: value for key, value in METADATA.items() if key != "general.file_type"}
    metadata |= {"llama.expert_count": 8, "llama.expert_used_count": 2}
    file = tmp_path / "moe.gguf"
    file.write_bytes(_gguf(metadata, _tensors(), kind=8))
    spec = model_from_gguf(file)
    assert spec.kind == "moe-lm"
    assert spec.moe is not None
    assert (spec.moe.num_experts, spec.moe.experts_per_token) == (8, 2)
    assert spec.dtype == "q8_0"


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "ends inside"),
        (b"PK\x03\x04" + bytes(100), "GGUF"),
        (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "version 1"),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**63, 0), "entries"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 2**62), "string"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + _text("k") + struct.pack("<I", 99), "type 99"),
        (
            b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + _text("k") + struct.pack("<IIQ", 9, 4, 2**60),
            "array",
        ),
        (
            b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + _text("t") + struct.pack("<I", 2**31),
            "dimensions",
        ),
    ],
    ids=["empty", "zip", "old", "count", "string", "type", "array", "dims"],
)
def test_a_hostile_gguf_file_is_refused_in_one_sentence(
    tmp_path: Path, content: bytes, word: str
) -> None:
    file = tmp_path / "bad.gguf"
    file.write_bytes(content)
    with pytest.raises(UserInputError, match=word):
        model_from_gguf(file)


def test_missing_metadata_is_named(tmp_path: Path) -> None:
    file = tmp_path / "thin.gguf"
    file.write_bytes(_gguf({"general.architecture": "llama"}, {}))
    with pytest.raises(UserInputError, match="hidden_size"):
        model_from_gguf(file)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 400), st.integers(0, 255))
def test_a_damaged_gguf_file_never_breaks_the_reader(
    tmp_path_factory: pytest.TempPathFactory, at: int, value: int
) -> None:
    data = bytearray(_gguf(METADATA, _tensors()))
    data[at % len(data)] = value
    file = tmp_path_factory.mktemp("gguf") / "damaged.gguf"
    file.write_bytes(bytes(data[: len(data) - at % 7]))
    try:
        spec = model_from_gguf(file)
    except UserInputError:
        return
    assert spec.params_total >= 0


def _safetensors(tensors: dict[str, tuple[int, ...]], dtype: str = "BF16") -> bytes:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name, shape in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, offset]}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text


def _hub_tensors(dim: int = 128) -> dict[str, tuple[int, ...]]:
    tensors: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (VOCAB, HIDDEN), "model.norm.weight": (HIDDEN,),
    }  # fmt: skip
    for layer in range(LAYERS):
        at = f"model.layers.{layer}"
        tensors |= {
            f"{at}.self_attn.q_proj.weight": (HEADS * dim, HIDDEN),
            f"{at}.self_attn.k_proj.weight": (KV * dim, HIDDEN),
            f"{at}.self_attn.v_proj.weight": (KV * dim, HIDDEN),
            f"{at}.self_attn.o_proj.weight": (HIDDEN, HEADS * dim),
            f"{at}.mlp.gate_proj.weight": (FFN, HIDDEN),
            f"{at}.mlp.up_proj.weight": (FFN, HIDDEN),
            f"{at}.mlp.down_proj.weight": (HIDDEN, FFN),
            f"{at}.input_layernorm.weight": (HIDDEN,),
            f"{at}.post_attention_layernorm.weight": (HIDDEN,),
        }
    return tensors


def test_safetensors_shapes_give_a_decoder(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes(_safetensors(_hub_tensors()))
    spec = model_from_safetensors(file)
    layer = HIDDEN * 128 * (2 * HEADS + 2 * KV) + 3 * HIDDEN * FFN + 2 * HIDDEN
    assert spec.params_total == VOCAB * HIDDEN + LAYERS * layer + HIDDEN
    assert (spec.num_attention_heads, spec.num_key_value_heads) == (HEADS, KV)
    assert spec.tie_word_embeddings is True
    assert spec.dtype == "bfloat16"
    assert "assumed" in (spec.note or "")


def test_experts_are_counted_by_their_names(tmp_path: Path) -> None:
    tensors = {name: shape for name, shape in _hub_tensors().items() if ".mlp." not in name}
    for layer in range(LAYERS):
        for expert in range(4):
            at = f"model.layers.{layer}.mlp.experts.{expert}"
            tensors |= {
                f"{at}.gate_proj.weight": (FFN, HIDDEN), f"{at}.up_proj.weight": (FFN, HIDDEN),
                f"{at}.down_proj.weight": (HIDDEN, FFN),
            }  # fmt: skip
    file = tmp_path / "moe.safetensors"
    file.write_bytes(_safetensors(tensors))
    spec = model_from_safetensors(file)
    assert spec.moe is not None
    assert spec.moe.num_experts == 4
    assert "assumed" in (spec.moe.note or "")


def test_a_folder_with_a_config_uses_both(tmp_path: Path) -> None:
    tensors = _hub_tensors()
    names = list(tensors)
    for number, part in enumerate((names[:9], names[9:])):
        chunk = {name: tensors[name] for name in part}
        (tmp_path / f"model-{number}.safetensors").write_bytes(_safetensors(chunk, "F16"))
    config = {"model_type": "llama", "hidden_size": HIDDEN, "intermediate_size": FFN,
              "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "head_dim": 128,
              "num_key_value_heads": KV, "vocab_size": VOCAB,
              "tie_word_embeddings": True}  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    spec = model_from_safetensors(tmp_path)
    assert spec.origin == "safetensors"
    assert spec.dtype == "float16"
    assert spec.checkpoint_params == spec.params_total


@pytest.mark.parametrize(
    "content",
    [
        b"",
        struct.pack("<Q", 2**60) + b"{}",
        struct.pack("<Q", 4) + b"[1]}",
        struct.pack("<Q", 30) + b'{"a": {"dtype": "F32"}}       ',
        struct.pack("<Q", 200_000) + b"[" * 200_000,
    ],
    ids=["empty", "length", "list", "no shape", "nested"],
)
def test_a_hostile_safetensors_file_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "bad.safetensors"
    file.write_bytes(content)
    with pytest.raises(UserInputError):
        model_from_safetensors(file)


def test_tensors_of_no_decoder_ask_for_the_config(tmp_path: Path) -> None:
    file = tmp_path / "unet.safetensors"
    file.write_bytes(_safetensors({"conv.weight": (3, 3, 3, 3)}))
    with pytest.raises(UserInputError, match=r"config\.json"):
        model_from_safetensors(file)
    empty = tmp_path / "nothing"
    empty.mkdir()
    with pytest.raises(UserInputError, match="holds no"):
        model_from_safetensors(empty)
