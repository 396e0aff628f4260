"""Hugging Face configs of registry rows.

The dimensions of `ModelSpec` under the names that each architecture's config class uses. No
torch here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import Any

from tools.errors import UnsupportedError
from tools.models import ModelSpec

_SAME_NAMES = (
    "hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim",
    "intermediate_size", "vocab_size", "max_position_embeddings",
)  # fmt: skip
_LLAMA_LIKE = frozenset(
    "llama mistral qwen2 qwen3 phi3 glm glm4 olmo2 gemma gemma2 gemma3_text granite stablelm"
    " smollm3 seed_oss starcoder2 cohere internlm3 phi helium ernie4_5".split()
)
_MOE = frozenset("qwen2_moe qwen3_moe mixtral".split())


@cache
def denoisers() -> dict[str, dict[str, Any]]:
    """Rows of data/denoisers.json: kind of step, and constructor arguments of the class."""
    text = (resources.files("tools.memory.simulate") / "data/denoisers.json").read_text("utf-8")
    rows: dict[str, dict[str, Any]] = json.loads(text)
    return rows


def hf_config(spec: ModelSpec) -> dict[str, Any]:
    """Config of a decoder, encoder, T5 or Whisper row, with `model_type`.

    Raises:
        UnsupportedError: If the family's config is not known here; a config.json can be given.
    """
    family = spec.family or ""
    if spec.name in denoisers():
        return dict(denoisers()[spec.name]["config"])
    if spec.name.startswith(("timm/", "ultralytics/")):
        return {}
    other = _BY_FORMULA.get(spec.formula or "") or next(
        (made for prefix, made in _BY_PREFIX if spec.name.startswith(prefix)), None
    )
    if other is not None:
        return other(spec)
    if family in _LLAMA_LIKE:
        return _llama_like(spec)
    if family in _MOE:
        return _moe(spec)
    special = _SPECIAL.get(family)
    if special is None:
        raise UnsupportedError(
            f"simulating {spec.name}",
            reason=f"the config of the family {family or 'unknown'!r} is not known here",
            instead="Give its config.json with --config.",
        )
    return {"model_type": family, **special(spec)}


def _stated(spec: ModelSpec, names: tuple[str, ...]) -> dict[str, Any]:
    return {n: getattr(spec, n) for n in names if getattr(spec, n) is not None}


def _llama_like(spec: ModelSpec) -> dict[str, Any]:
    config = {"model_type": spec.family, **_stated(spec, _SAME_NAMES)}
    config["tie_word_embeddings"] = bool(spec.tie_word_embeddings)
    if spec.family == "phi3" or spec.family == "qwen2":
        config["pad_token_id"] = 0
    if spec.sliding is not None:
        config["sliding_window"] = spec.sliding.window
    if spec.family in ("llama", "seed_oss", "ernie4_5"):
        config["attention_bias"] = bool(spec.qkv_bias)
        config["mlp_bias"] = bool(spec.mlp_bias)
    if spec.family == "glm":
        config["attention_bias"] = bool(spec.qkv_bias)
        config["pad_token_id"] = 0
    if spec.rotary_pct is not None:
        config["partial_rotary_factor"] = spec.rotary_pct
    return config


def _moe(spec: ModelSpec) -> dict[str, Any]:
    config = _llama_like(spec)
    moe = spec.moe
    if moe is None:
        raise UnsupportedError(f"simulating {spec.name}", reason="its experts are not known")
    if spec.family == "mixtral":
        return {**config, "num_local_experts": moe.num_experts,
                "num_experts_per_tok": moe.experts_per_token}  # fmt: skip
    return {
        **config,
        "num_experts": moe.num_experts,
        "num_experts_per_tok": moe.experts_per_token,
        "moe_intermediate_size": moe.moe_intermediate_size,
        "shared_expert_intermediate_size": moe.shared_intermediate_size or 0,
        "decoder_sparse_step": 1,
        "mlp_only_layers": [],
    }


def _bert(spec: ModelSpec) -> dict[str, Any]:
    names = (
        "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
        "vocab_size", "type_vocab_size",
    )  # fmt: skip
    config = {"model_type": spec.family, **_stated(spec, names)}
    config["max_position_embeddings"] = spec.learned_positions or spec.max_position_embeddings
    return config


def _t5(spec: ModelSpec) -> dict[str, Any]:
    heads, width = spec.num_attention_heads, spec.head_dim
    return {
        "model_type": "mt5" if "mt5" in (spec.family or "") else "t5",
        "d_model": spec.hidden_size,
        "d_kv": width,
        "d_ff": spec.intermediate_size,
        "num_layers": spec.num_hidden_layers,
        "num_decoder_layers": spec.num_decoder_layers or spec.num_hidden_layers,
        "num_heads": heads,
        "vocab_size": spec.vocab_size,
        "feed_forward_proj": "gated-gelu" if spec.mlp == "gated" else "relu",
        "tie_word_embeddings": spec.tie_word_embeddings is not False,
        "decoder_start_token_id": 0,
    }


def _whisper(spec: ModelSpec) -> dict[str, Any]:
    layers = spec.num_hidden_layers
    return {
        "model_type": "whisper",
        "d_model": spec.hidden_size,
        "encoder_layers": layers,
        "decoder_layers": spec.num_decoder_layers or layers,
        "encoder_attention_heads": spec.num_attention_heads,
        "decoder_attention_heads": spec.num_attention_heads,
        "encoder_ffn_dim": spec.intermediate_size,
        "decoder_ffn_dim": spec.intermediate_size,
        "vocab_size": spec.vocab_size,
        "num_mel_bins": spec.mel_bins or 80,
    }


def _segformer(spec: ModelSpec) -> dict[str, Any]:
    is_small = spec.name.endswith("b0")
    widths = [32, 64, 160, 256] if is_small else [64, 128, 320, 512]
    return {
        "model_type": "segformer",
        "hidden_sizes": widths,
        "depths": [2, 2, 2, 2] if is_small else [3, 6, 40, 3],
        "decoder_hidden_size": 256 if is_small else 768,
        "num_labels": 150,
    }


def _detr(spec: ModelSpec) -> dict[str, Any]:
    depths = [3, 4, 23, 3] if spec.name.endswith("101") else [3, 4, 6, 3]
    backbone = {"model_type": "resnet", "depths": depths, "out_features": ["stage4"]}
    return {
        "model_type": "detr", "use_timm_backbone": False, "use_pretrained_backbone": False,
        "backbone": None, "backbone_config": backbone, "num_labels": 91,
    }  # fmt: skip


def _sam(spec: ModelSpec) -> dict[str, Any]:
    layers = spec.num_hidden_layers or 12
    names = ("hidden_size", "num_hidden_layers", "num_attention_heads")
    every = layers // 4
    vision = {
        **_stated(spec, names),
        "mlp_dim": 4 * (spec.hidden_size or 768),
        "global_attn_indexes": [every * n - 1 for n in range(1, 5)],
    }
    return {"model_type": "sam", "vision_config": vision}


def _clip(spec: ModelSpec) -> dict[str, Any]:
    if "large" not in spec.name:
        return {"model_type": "clip"}  # ViT-B/32 is the class's own default
    text = {"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12}
    vision = {"hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16,
              "num_hidden_layers": 24, "patch_size": 14}  # fmt: skip
    return {"model_type": "clip", "text_config": {**text, "projection_dim": 768},
            "vision_config": {**vision, "projection_dim": 768}, "projection_dim": 768}  # fmt: skip


def _wav2vec2(spec: ModelSpec) -> dict[str, Any]:
    names = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
    config = {"model_type": "wav2vec2", **_stated(spec, names)}
    if (spec.hidden_size or 0) > 768:  # the large checkpoints normalise by layer, before
        config |= {"feat_extract_norm": "layer", "conv_bias": True, "do_stable_layer_norm": True}
    return config


def _gpt2(spec: ModelSpec) -> dict[str, Any]:
    return {
        "n_embd": spec.hidden_size,
        "n_layer": spec.num_hidden_layers,
        "n_head": spec.num_attention_heads,
        "n_inner": spec.intermediate_size,
        "n_positions": spec.learned_positions or spec.max_position_embeddings,
        "vocab_size": spec.vocab_size,
    }


def _opt(spec: ModelSpec) -> dict[str, Any]:
    return {
        **_stated(spec, ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")),
        "max_position_embeddings": (spec.learned_positions or 2050) - 2,
        "ffn_dim": spec.intermediate_size,
        "word_embed_proj_dim": spec.embed_proj_dim or spec.hidden_size,
        "do_layer_norm_before": spec.final_norm is not False,
    }


def _gpt_neox(spec: ModelSpec) -> dict[str, Any]:
    names = (
        "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
        "vocab_size", "max_position_embeddings",
    )  # fmt: skip
    return {
        **_stated(spec, names),
        "rotary_pct": spec.rotary_pct or 0.25,
        "tie_word_embeddings": bool(spec.tie_word_embeddings),
    }


def _falcon(spec: ModelSpec) -> dict[str, Any]:
    kv_heads = spec.num_key_value_heads or 1
    return {
        **_stated(spec, ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")),
        "num_kv_heads": kv_heads,
        "multi_query": kv_heads == 1,
        "new_decoder_architecture": kv_heads > 1,
        "parallel_attn": True,
        "bias": bool(spec.qkv_bias),
        "alibi": False,
        "ffn_hidden_size": spec.intermediate_size,
    }


def _bloom(spec: ModelSpec) -> dict[str, Any]:
    return {
        "hidden_size": spec.hidden_size,
        "n_layer": spec.num_hidden_layers,
        "n_head": spec.num_attention_heads,
        "vocab_size": spec.vocab_size,
    }


def _mpt(spec: ModelSpec) -> dict[str, Any]:
    return {
        "d_model": spec.hidden_size,
        "n_heads": spec.num_attention_heads,
        "n_layers": spec.num_hidden_layers,
        "vocab_size": spec.vocab_size,
        "max_seq_len": spec.max_position_embeddings,
    }


def _latent(spec: ModelSpec) -> dict[str, Any]:
    """Multi-head latent attention, with experts where there are any (DeepSeek and kin)."""
    names = tuple(n for n in _SAME_NAMES if n != "head_dim")
    config = _stated(spec, names)
    config["tie_word_embeddings"] = bool(spec.tie_word_embeddings)
    if spec.mla is not None:
        latent = ("q_lora_rank", "kv_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim")
        config |= {name: getattr(spec.mla, name) for name in (*latent, "v_head_dim")}
    if spec.moe is not None:
        config |= _routed(spec)
        config |= {"n_group": 1, "topk_group": 1}
    return config


def _routed(spec: ModelSpec) -> dict[str, Any]:
    moe = spec.moe
    if moe is None:
        raise UnsupportedError(f"simulating {spec.name}", reason="its experts are not known")
    return {
        "n_routed_experts": moe.num_experts,
        "num_experts_per_tok": moe.experts_per_token,
        "moe_intermediate_size": moe.moe_intermediate_size,
        "n_shared_experts": moe.num_shared_experts or 1,
        "first_k_dense_replace": moe.first_dense_layers,
    }


def _glm_moe(spec: ModelSpec) -> dict[str, Any]:
    return {
        **_stated(spec, _SAME_NAMES),
        **_routed(spec),
        "attention_bias": bool(spec.qkv_bias),
        "use_qk_norm": spec.qk_norm is not None,
        "tie_word_embeddings": bool(spec.tie_word_embeddings),
    }


def _gpt_oss(spec: ModelSpec) -> dict[str, Any]:
    moe = spec.moe
    return {
        **_stated(spec, _SAME_NAMES),
        "num_local_experts": moe.num_experts if moe else None,
        "num_experts_per_tok": moe.experts_per_token if moe else None,
        "sliding_window": spec.sliding.window if spec.sliding else None,
    }


def _ernie_moe(spec: ModelSpec) -> dict[str, Any]:
    moe = spec.moe
    config = {**_stated(spec, _SAME_NAMES), "tie_word_embeddings": bool(spec.tie_word_embeddings)}
    if moe is None:
        return config
    return {
        **config,
        "moe_num_experts": moe.num_experts,
        "moe_k": moe.experts_per_token,
        "moe_intermediate_size": moe.moe_intermediate_size,
        "moe_num_shared_experts": moe.num_shared_experts or 0,
        "moe_layer_start_index": moe.first_dense_layers,
    }


def _bigcode(spec: ModelSpec) -> dict[str, Any]:
    return {**_gpt2(spec), "multi_query": spec.num_key_value_heads == 1}


_BY_FORMULA: dict[str, Callable[[ModelSpec], dict[str, Any]]] = {
    "bert": _bert, "t5": _t5, "whisper": _whisper,
}  # fmt: skip
_BY_PREFIX: tuple[tuple[str, Callable[[ModelSpec], dict[str, Any]]], ...] = (
    ("nvidia/segformer", _segformer), ("facebook/detr", _detr), ("facebook/sam", _sam),
    ("openai/clip", _clip),
    ("facebook/wav2vec2", _wav2vec2),
)  # fmt: skip
_SPECIAL: dict[str, Callable[[ModelSpec], dict[str, Any]]] = {
    "gpt2": _gpt2,
    "opt": _opt,
    "gpt_neox": _gpt_neox,
    "falcon": _falcon,
    "bloom": _bloom,
    "gpt_bigcode": _bigcode,
    "mpt": _mpt,
    "minicpm3": _latent,
    "deepseek_v2": _latent,
    "deepseek_v3": _latent,
    "glm4_moe_lite": _latent,
    "glm4_moe": _glm_moe,
    "gpt_oss": _gpt_oss,
    "ernie4_5_moe": _ernie_moe,
}
