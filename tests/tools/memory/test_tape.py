"""Layers against bytes counted by hand and by running the reference modules."""

from __future__ import annotations

import pytest

from tools.memory.layers.decoder import build_layer
from tools.memory.layers.ops import Mode
from tools.memory.layers.plan import layer_kinds
from tools.memory.tape import Peaks, Size, Tape, per_token
from tools.models import get_model

LLAMA = "meta-llama/Llama-2-7b-hf"
H, F, Q, HEADS = 4096, 11008, 4096, 32


def kept_per_token(model: str, mode: Mode) -> float:
    spec = get_model(model)
    kinds = layer_kinds(spec)
    return build_layer(kinds.plans[kinds.order[1]], mode).form.kept.token


def test_full_bf16_llama_keeps_what_autograd_saves() -> None:
    # two norms: fp32 copy 4h and normed 2h each; qkv and gate/up inputs 2h each; q, k, v, out 2q
    # each; log-sum-exp 4 a head; gate, silu, up, product 2f each; two rsqrt of 4 bytes
    by_hand = 2 * (4 * H + 2 * H) + 2 * 2 * H + 4 * 2 * Q + 4 * HEADS + 4 * 2 * F + 8
    assert kept_per_token(LLAMA, Mode()) == by_hand


def test_frozen_linears_keep_no_input_under_lora() -> None:
    mode = Mode(trains=False, targets=frozenset({"q", "v"}), rank=8)
    # norms 4h each, q k v out, gate silu up; each adapter its fp32 input 4h and 4r
    by_hand = 8 * H + 8 * Q + 6 * F + 4 * HEADS + 8 + 2 * (4 * H + 4 * 8)
    assert kept_per_token(LLAMA, mode) == by_hand


def test_autocast_casts_the_norm_output_once_for_each_linear() -> None:
    mode = Mode(weight_width=4, norm_width=4, stream_width=4, autocast=True)
    assert kept_per_token(LLAMA, mode) == 26 * H + 8 * Q + 8 * F + 4 * HEADS + 8


def test_eager_attention_keeps_the_score_matrix_twice() -> None:
    spec = get_model(LLAMA)
    form = build_layer(layer_kinds(spec).plans[0], Mode(attention="eager")).form
    assert form.kept.score == 6 * HEADS  # fp32 softmax and its 16-bit copy
    assert build_layer(layer_kinds(spec).plans[0], Mode()).form.kept.score == 0


# Bytes per token and layer saved by the module itself (transformers 5.24, torch 2.13, tiny
# configurations run on real CPU tensors): hidden 128, 8 heads of 16, 4 KV heads, f 512.
MEASURED = [
    ("llama", {}, False, 6952),
    ("llama", {}, True, 10136),
    ("qwen3", {"qk_norm": "head"}, False, 8152),
    ("phi3", {}, False, 7592),
    ("phi3", {}, True, 8936),
    ("olmo2", {"qk_norm": "full"}, False, 9008),
    ("olmo2", {"qk_norm": "full"}, True, 10912),
    ("granite", {}, False, 6952),
]


@pytest.mark.parametrize(("family", "extra", "lora", "measured"), MEASURED)
def test_family_keeps_what_its_module_saved(
    family: str, extra: dict[str, str], lora: bool, measured: int
) -> None:
    plan = layer_kinds(tiny(family, **extra)).plans[0]
    mode = Mode()
    if lora:
        mode = Mode(trains=False, targets=frozenset({"all-linear"}), rank=4)
    assert build_layer(plan, mode).form.kept.token == measured


def tiny(family: str, **extra: object):  # type: ignore[no-untyped-def]  # a builder with defaults
    from tools.models import ModelSpec

    fields: dict[str, object] = {
        "name": family, "kind": "decoder-lm", "params_total": 10**6, "formula": "decoder",
        "family": family, "hidden_size": 128, "num_hidden_layers": 4, "num_attention_heads": 8,
        "num_key_value_heads": 4, "head_dim": 16, "intermediate_size": 512, "vocab_size": 2048,
        "tie_word_embeddings": False, "norm": "rms", "norms_per_layer": 2, "mlp": "gated",
        "qkv_bias": False, "o_bias": False, "mlp_bias": False,
    }  # fmt: skip
    return ModelSpec(**{**fields, **extra})  # type: ignore[arg-type]


def test_a_storage_saved_twice_counts_once() -> None:
    tape = Tape()
    x = tape.source(per_token(10), 2, grad_needed=True)
    y = tape.op("square", [x], x.elements, 2, saved=[x.storage])
    z = tape.op("cube", [x], x.elements, 2, saved=[x.storage])
    out = tape.op("add", [y, z], x.elements, 2)
    assert tape.form(x, out).kept == Size(0.0, 20.0, 0.0)


def test_peaks_drop_what_can_never_be_the_largest() -> None:
    peaks = Peaks()
    peaks.add(Size(1, 1, 0))
    peaks.add(Size(2, 1, 0))
    peaks.add(Size(0, 5, 0))
    assert set(peaks.best) == {Size(2, 1, 0), Size(0, 5, 0)}
