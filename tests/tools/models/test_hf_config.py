"""Models read from config.json: published configurations against published counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tools.errors import UnsupportedError, UserInputError
from tools.models import (
    all_models,
    find_model,
    model_from_config_file,
    model_from_hf_config,
    try_find_model,
    written_config,
)
from tools.models.hf_parts import architecture_tables
from tools.models.spec import ModelSpec

QWEN2_5_7B: dict[str, Any] = {
    "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 3584,
    "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28,
    "num_key_value_heads": 4, "vocab_size": 152064, "tie_word_embeddings": False,
    "max_position_embeddings": 131072, "sliding_window": 131072, "use_sliding_window": False,
    "max_window_layers": 28, "torch_dtype": "bfloat16",
}  # fmt: skip
GPT2 = {
    "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": 768, "n_layer": 12,
    "n_head": 12, "n_positions": 1024, "n_ctx": 1024, "vocab_size": 50257,
}  # fmt: skip
CHATGLM3 = {
    "model_type": "chatglm", "add_qkv_bias": True, "ffn_hidden_size": 13696, "hidden_size": 4096,
    "kv_channels": 128, "multi_query_attention": True, "multi_query_group_num": 2,
    "num_attention_heads": 32, "num_layers": 28, "padded_vocab_size": 65024, "seq_length": 8192,
}  # fmt: skip
FALCON_7B = {
    "model_type": "falcon", "bias": False, "hidden_size": 4544, "multi_query": True,
    "new_decoder_architecture": False, "num_attention_heads": 71, "num_hidden_layers": 32,
    "parallel_attn": True, "vocab_size": 65024,
}  # fmt: skip
BLOOM_560M = {"model_type": "bloom", "n_embed": 1024, "hidden_size": 1024, "n_layer": 24,
              "num_attention_heads": 16, "vocab_size": 250880}  # fmt: skip
MIXTRAL = {
    "model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336,
    "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 32,
    "num_local_experts": 8, "num_experts_per_tok": 2, "vocab_size": 32000, "sliding_window": None,
}  # fmt: skip
DEEPSEEK_V3 = {
    "model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432,
    "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1,
    "num_experts_per_tok": 8, "first_k_dense_replace": 3, "moe_layer_freq": 1,
    "num_attention_heads": 128, "num_key_value_heads": 128, "num_hidden_layers": 61,
    "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128,
    "v_head_dim": 128, "vocab_size": 129280, "num_nextn_predict_layers": 1, "n_group": 8,
}  # fmt: skip
GPT_OSS_20B = {
    "model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880, "head_dim": 64,
    "num_attention_heads": 64, "num_key_value_heads": 8, "num_hidden_layers": 24,
    "num_local_experts": 32, "num_experts_per_tok": 4, "vocab_size": 201088,
    "sliding_window": 128, "layer_types": ["sliding_attention", "full_attention"] * 12,
    "quantization_config": {"quant_method": "mxfp4"},
}  # fmt: skip
GEMMA3_4B = {
    "model_type": "gemma3",
    "text_config": {
        "model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240,
        "num_hidden_layers": 34, "num_attention_heads": 8, "num_key_value_heads": 4,
        "head_dim": 256, "vocab_size": 262208, "sliding_window": 1024,
    },
    "vision_config": {"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27,
                      "patch_size": 14, "image_size": 896},
}  # fmt: skip
BERT = {"model_type": "bert", "hidden_size": 768, "num_hidden_layers": 12,
        "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 30522,
        "max_position_embeddings": 512,
        "type_vocab_size": 2}  # fmt: skip
T5_BASE = {"model_type": "t5", "d_model": 768, "d_ff": 3072, "d_kv": 64, "num_heads": 12,
           "num_layers": 12, "num_decoder_layers": 12, "vocab_size": 32128}  # fmt: skip
FLAN_T5_BASE = {**T5_BASE, "d_ff": 2048, "feed_forward_proj": "gated-gelu",
                "tie_word_embeddings": False}  # fmt: skip
WHISPER_SMALL = {
    "model_type": "whisper", "d_model": 768, "encoder_layers": 12, "decoder_layers": 12,
    "encoder_attention_heads": 12, "encoder_ffn_dim": 3072, "vocab_size": 51865, "num_mel_bins": 80,
}  # fmt: skip
OPT_350M = {"model_type": "opt", "hidden_size": 1024, "ffn_dim": 4096, "num_hidden_layers": 24,
            "num_attention_heads": 16, "vocab_size": 50272, "word_embed_proj_dim": 512,
            "max_position_embeddings": 2048}  # fmt: skip


@pytest.mark.parametrize(
    ("config", "total"),
    [
        # totals as the Hub shows them, or printed by the library that loads the model
        (QWEN2_5_7B, 7_615_616_512),
        (GPT2, 124_439_808),
        (CHATGLM3, 6_243_584_000),
        (FALCON_7B, 6_921_720_704),
        (BLOOM_560M, 559_214_592),
        (MIXTRAL, 46_702_792_704),
        (DEEPSEEK_V3, 671_026_404_352),
        (GPT_OSS_20B, 20_914_757_184),
        (BERT, 109_482_240),
        (T5_BASE, 222_903_552),
        (FLAN_T5_BASE, 247_577_856),
        (WHISPER_SMALL, 241_734_912),
        (OPT_350M, 331_196_416),
    ],
    ids=lambda value: value["model_type"] if isinstance(value, dict) else str(value),
)
def test_published_configurations_give_published_counts(config: dict[str, Any], total: int) -> None:
    assert model_from_hf_config(config).params_total == total


def test_a_vision_model_is_read_through_its_text_config() -> None:
    spec = model_from_hf_config(GEMMA3_4B, name="my-gemma")
    assert spec.kind == "vlm"
    assert spec.params_total == pytest.approx(4_300_079_472, rel=0.005)
    assert spec.vision_params == pytest.approx(419_816_304, rel=0.05)
    assert spec.sliding is not None
    assert (spec.sliding.sliding_layers, spec.sliding.full_layers) == (29, 5)
    assert spec.note is not None
    assert "estimated" in spec.note


def test_nested_parts_of_dbrx_are_read() -> None:
    config = {
        "model_type": "dbrx", "d_model": 6144, "n_heads": 48, "n_layers": 40, "vocab_size": 100352,
        "max_seq_len": 32768, "attn_config": {"kv_n_heads": 8, "model_type": ""},
        "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4},
    }  # fmt: skip
    spec = model_from_hf_config(config)
    assert spec.params_total == 131_596_523_520
    assert spec.params_active == pytest.approx(36.5e9, rel=0.01)


def test_a_text_part_that_only_names_its_base_gets_its_dimensions() -> None:
    config = {
        "model_type": "llava",
        "text_config": {"_name_or_path": "lmsys/vicuna-7b-v1.5", "model_type": "llama"},
        "vision_config": {"hidden_size": 1024, "intermediate_size": 4096, "image_size": 336,
                          "num_hidden_layers": 24, "patch_size": 14},
    }  # fmt: skip
    spec = model_from_hf_config(config)
    assert spec.hidden_size == 4096
    assert spec.params_total == pytest.approx(7_062_902_784, rel=0.002)


@pytest.mark.parametrize("model_type", ["mamba", "rwkv", "clip", "jamba"])
def test_what_is_no_decoder_of_layers_is_refused(model_type: str) -> None:
    with pytest.raises(UnsupportedError, match=model_type):
        model_from_hf_config({**QWEN2_5_7B, "model_type": model_type})


def test_layer_types_give_the_sliding_layers_and_the_note_names_the_quantization() -> None:
    spec = model_from_hf_config(GPT_OSS_20B)
    assert spec.sliding is not None
    assert (spec.sliding.window, spec.sliding.sliding_layers) == (128, 12)
    assert spec.params_active == 4_187_440_704
    assert "mxfp4" in (spec.note or "")


@pytest.mark.parametrize(
    ("changes", "sliding", "full"),
    [
        ({"model_type": "mistral", "sliding_window": 4096}, 28, 0),
        ({"model_type": "gemma2", "sliding_window": 4096}, 14, 14),
        ({"use_sliding_window": True, "max_window_layers": 20}, 8, 20),
        ({"model_type": "gemma3_text", "sliding_window": 512, "sliding_window_pattern": 4}, 21, 7),
    ],
    ids=["every layer", "every second", "after n layers", "pattern"],
)
def test_sliding_layers_by_architecture(changes: dict[str, Any], sliding: int, full: int) -> None:
    spec = model_from_hf_config({**QWEN2_5_7B, **changes})
    assert spec.sliding is not None
    assert (spec.sliding.sliding_layers, spec.sliding.full_layers) == (sliding, full)


def test_layers_that_are_dense_in_a_mixture_are_counted_so() -> None:
    sparse = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 1024}
    every_second = {**QWEN2_5_7B, **sparse, "model_type": "qwen2_moe", "decoder_sparse_step": 2}
    assert model_from_hf_config(every_second).moe is not None
    moe = model_from_hf_config(every_second).moe
    assert moe is not None
    assert moe.num_moe_layers == 14
    listed = model_from_hf_config({**QWEN2_5_7B, **sparse, "mlp_only_layers": [0, 1, 2]}).moe
    assert listed is not None
    assert listed.num_moe_layers == 25
    as_list = model_from_hf_config({**QWEN2_5_7B, **sparse, "moe_layer_freq": [0, 1] * 14}).moe
    assert as_list is not None
    assert as_list.num_moe_layers == 14


@pytest.mark.parametrize(
    ("config", "word"),
    [
        ({**QWEN2_5_7B, "kv_lora_rank": 512}, "qk_rope_head_dim"),
        ({**QWEN2_5_7B, "model_type": "qwen3_next"}, "linear_num_key_heads"),
    ],
)
def test_half_described_attention_names_what_is_missing(config: dict[str, Any], word: str) -> None:
    with pytest.raises(UnsupportedError, match=word):
        model_from_hf_config(config)


def test_a_window_that_is_switched_off_is_no_window() -> None:
    assert model_from_hf_config(QWEN2_5_7B).sliding is None


def test_missing_fields_are_named_with_their_spellings() -> None:
    with pytest.raises(UnsupportedError) as caught:
        model_from_hf_config({"model_type": "llama", "hidden_size": 4096, "vocab_size": 32000})
    assert "num_hidden_layers (num_hidden_layers or n_layer" in str(caught.value)
    assert "num_attention_heads" in str(caught.value)


def test_a_missing_width_is_that_of_the_published_model_of_the_same_shape() -> None:
    config = {k: v for k, v in QWEN2_5_7B.items() if k != "intermediate_size"}
    spec = model_from_hf_config(config)
    assert spec.intermediate_size == QWEN2_5_7B["intermediate_size"]
    assert "intermediate_size is not in the file" in (spec.note or "")


def test_a_missing_width_of_no_known_shape_is_the_default_of_the_class() -> None:
    shape = {"hidden_size": 4096, "num_hidden_layers": 7, "num_attention_heads": 32,
             "vocab_size": 1000}  # fmt: skip
    llama = model_from_hf_config({**shape, "model_type": "llama"})
    assert llama.intermediate_size == 11_008  # LlamaConfig of transformers 5.24.0
    half = model_from_hf_config({**shape, "model_type": "llama", "hidden_size": 2048})
    assert half.intermediate_size == 5_504
    assert "proportion" in (half.note or "")
    new = model_from_hf_config({**shape, "model_type": "brandnew"})
    assert new.intermediate_size == 11_008  # counted as Llama-like, and said so
    assert "brandnew" in (new.note or "")
    named = model_from_hf_config({**shape, "architectures": ["GPTNeoXForCausalLM"]})
    assert (named.family, named.intermediate_size) == ("gpt_neox", 16_384)


def test_a_configuration_travels_as_a_name() -> None:
    name = written_config({**QWEN2_5_7B, "rope_scaling": {"factor": 2.0}})
    spec = find_model(name).spec
    assert spec.params_total == model_from_hf_config(QWEN2_5_7B).params_total
    assert spec.num_key_value_heads == QWEN2_5_7B["num_key_value_heads"]
    assert "rope" not in name
    assert try_find_model('config.json{"hidden_size": 8}') is None


def test_an_unknown_type_counts_as_llama_like_and_says_so() -> None:
    config = {**QWEN2_5_7B, "model_type": "brandnew", "num_memory_heads": 4}
    spec = model_from_hf_config(config)
    assert "brandnew" in (spec.note or "")
    assert "num_memory_heads" in (spec.note or "")
    bias = 28 * (28 + 2 * 4) * 128
    assert spec.params_total == 7_615_616_512 - bias


@pytest.mark.parametrize("value", [-1, 1.5, 10**12, True])
def test_impossible_values_are_named(value: object) -> None:
    with pytest.raises(UserInputError, match="hidden_size"):
        model_from_hf_config({**QWEN2_5_7B, "hidden_size": value})


def test_a_headless_checkpoint_has_no_output_head() -> None:
    spec = model_from_hf_config({**QWEN2_5_7B, "architectures": ["Qwen2Model"]})
    assert spec.params_total == 7_615_616_512 - 152064 * 3584


def _config_of(spec: ModelSpec) -> dict[str, Any]:
    """The fields that a config.json of this row has, under their usual names."""
    config: dict[str, Any] = {
        "model_type": spec.family, "hidden_size": spec.hidden_size, "head_dim": spec.head_dim,
        "num_hidden_layers": spec.num_hidden_layers, "vocab_size": spec.vocab_size,
        "num_attention_heads": spec.num_attention_heads,
        "num_key_value_heads": spec.num_key_value_heads,
        "intermediate_size": (spec.intermediate_size or 0) * (2 if spec.family == "qwen" else 1),
        "tie_word_embeddings": spec.tie_word_embeddings, "attention_bias": spec.qkv_bias,
        "max_position_embeddings": 2048 if spec.family == "opt" else spec.max_position_embeddings,
        "add_qkv_bias": spec.qkv_bias, "use_qk_norm": spec.qk_norm is not None,
        "multi_query_attention": True, "new_decoder_architecture": spec.norms_per_layer == 2,
        "word_embed_proj_dim": spec.embed_proj_dim,
    }  # fmt: skip
    if spec.moe is not None:
        config.update(
            num_experts=spec.moe.num_experts, num_experts_per_tok=spec.moe.experts_per_token,
            moe_intermediate_size=spec.moe.moe_intermediate_size,
            shared_expert_intermediate_size=spec.moe.shared_intermediate_size,
            first_k_dense_replace=spec.moe.first_dense_layers,
        )  # fmt: skip
    for part, keys in ((spec.mla, {}), (spec.linear, _LINEAR_KEYS)):
        for field in part.__slots__ if part is not None else ():
            value = getattr(part, field)
            if isinstance(value, int):
                config[keys.get(field, field)] = value
    if spec.mla is not None and spec.mla.indexer is not None:
        config.update(index_n_heads=spec.mla.indexer.heads, index_head_dim=spec.mla.indexer.dim)
    return {key: value for key, value in config.items() if value is not None}


_LINEAR_KEYS = {
    "num_key_heads": "linear_num_key_heads", "key_head_dim": "linear_key_head_dim",
    "num_value_heads": "linear_num_value_heads", "value_head_dim": "linear_value_head_dim",
    "conv_kernel": "linear_conv_kernel_dim",
}  # fmt: skip
# not in the fields that the helper above writes: learned positions and bias-free training
# configurations of MPT, every second layer of Maverick, a head that an embedder leaves out
_NOT_WRITTEN = ("mosaicml/llm-foundry", "Llama-4-Maverick", "Qwen3-Embedding")


def test_the_table_of_architectures_agrees_with_every_decoder_row() -> None:
    known = architecture_tables()["types"]
    checked = 0
    for spec in all_models():
        if spec.formula != "decoder" or spec.family not in known:
            continue
        if any(part in spec.name for part in _NOT_WRITTEN):
            continue
        read = model_from_hf_config(_config_of(spec))
        assert read.params_total == spec.params_total - (spec.vision_params or 0), spec.name
        checked += 1
    assert checked > 170


def test_a_file_is_read_and_bad_files_say_what_is_wrong(tmp_path: Path) -> None:
    good = tmp_path / "my-model" / "config.json"
    good.parent.mkdir()
    good.write_text(json.dumps(QWEN2_5_7B), encoding="utf-8")
    assert model_from_config_file(good).name == "my-model"
    for content in ("[]", "{", ""):
        bad = tmp_path / "config.json"
        bad.write_text(content, encoding="utf-8")
        with pytest.raises(UserInputError, match="config.json"):
            model_from_config_file(bad)
    with pytest.raises(UserInputError):
        model_from_config_file(tmp_path / "absent.json")
