"""Kinds of workload with figures of their own: encoders, experts, partial training, serving."""

from __future__ import annotations

from typing import Any

import pytest

from tools.errors import BadQuantityError
from tools.gpus import find_gpu
from tools.memory import InferenceWorkload, TrainingWorkload, estimate
from tools.models import get_model
from tools.units import GIB

QWEN7 = get_model("Qwen/Qwen2.5-7B")
LLAMA8 = get_model("meta-llama/Llama-3.1-8B")


def serve(model=LLAMA8, **fields: object):  # type: ignore[no-untyped-def]
    return estimate(InferenceWorkload(model, **fields))  # type: ignore[arg-type]


def train(model=LLAMA8, **fields: object):  # type: ignore[no-untyped-def]
    return estimate(TrainingWorkload(model, **fields))  # type: ignore[arg-type]


def test_encoders_and_embedders_keep_no_cache() -> None:
    bert = get_model("google-bert/bert-base-uncased")
    need = serve(bert, engine="transformers", weight_format="fp32", batch=32, context_len=128)
    assert need.kv_cache_bytes == 0
    assert serve(get_model("Qwen/Qwen3-Embedding-0.6B"), engine="vllm").kv_cache_bytes == 0


def test_bert_layer_keeps_what_its_module_saves() -> None:
    from tools.memory.layers.decoder import build_layer
    from tools.memory.layers.ops import Mode
    from tools.memory.layers.plan import layer_kinds

    plan = layer_kinds(get_model("google-bert/bert-base-uncased")).plans[0]
    kept = build_layer(plan, Mode()).form.kept.token
    assert kept == 34 * 768 + 4 * 12 + 16  # q k v out, masks, norms, 4h twice; statistics


def test_every_expert_is_resident() -> None:
    moe = get_model("Qwen/Qwen3-30B-A3B")
    assert serve(moe, engine="vllm").weights_bytes == pytest.approx(2 * 30_532_122_624, rel=1e-6)


def test_frozen_layers_below_the_trained_ones_keep_nothing() -> None:
    fields = {"precision": "pure-bf16", "gradient_checkpointing": "none", "seq_len": 2048}
    few = train(method="freeze", trainable_layers=2, **fields)
    many = train(method="freeze", trainable_layers=8, **fields)
    full = train(method="full", **fields)
    assert few.part("activations") * 3 < many.part("activations") * 1.2
    assert few.allocated_bytes < many.allocated_bytes < full.allocated_bytes


def test_optimizer_in_backward_holds_one_gradient_and_lomo_no_states() -> None:
    lomo = train(method="lomo", precision="pure-bf16", gradient_checkpointing="full")
    assert lomo.part("optimizer_states") == 0
    assert lomo.part("gradients") <= 2 * 128256 * 4096 * 2


def test_galore_states_are_those_of_the_projected_space() -> None:
    galore = train(method="galore", galore_rank=128, precision="pure-bf16")
    full = train(method="full", precision="pure-bf16")
    assert galore.part("optimizer_states") < 0.35 * full.part("optimizer_states")


def test_a_reference_model_is_a_copy_for_full_dpo_and_nothing_for_lora() -> None:
    assert train(method="full", objective="dpo").part("resident_copies") == 2 * LLAMA8.params_total
    assert train(method="lora", objective="dpo").part("resident_copies") == 0


def test_saved_modules_are_trained_copies_beside_the_frozen_ones() -> None:
    plain = train(method="lora", seq_len=256)
    saved = train(method="lora", seq_len=256, modules_to_save=("embed_tokens", "lm_head"))
    copies = 2 * 128256 * 4096
    assert saved.allocated_bytes - plain.allocated_bytes == pytest.approx(8 * copies, rel=0.01)


def test_the_legacy_cache_is_held_twice_during_a_step() -> None:
    fields = {"engine": "transformers", "batch": 16, "prompt_len": 64, "context_len": 4096}
    new = serve(**fields)
    old = serve(**fields, kv_cache_kind="legacy")
    assert old.allocated_bytes - new.allocated_bytes == pytest.approx(new.kv_cache_bytes, rel=0.1)


def test_layers_left_on_the_host_take_no_memory_of_the_card() -> None:
    fields = {"engine": "llama.cpp", "weight_format": "gguf-q4_k_m", "context_len": 4096}
    half = serve(**fields, gpu_layers=16)
    whole = serve(**fields)
    assert half.part("weights") == pytest.approx(whole.part("weights") / 2, rel=1e-6)
    assert half.host_ram_bytes > whole.host_ram_bytes


def test_draft_models_and_served_adapters_are_counted() -> None:
    plain = serve(engine="vllm")
    draft = serve(engine="vllm", draft_model=get_model("meta-llama/Llama-3.2-1B"))
    adapters = serve(engine="vllm", served_loras=8, served_lora_rank=16)
    assert draft.process_bytes - plain.process_bytes > 2.4 * GIB
    assert 0 < adapters.part("extra_models") < 2 * GIB


def test_quantised_cache_and_weights() -> None:
    full, eight = serve(engine="vllm", kv_dtype="bf16"), serve(engine="vllm", kv_dtype="fp8")
    assert full.kv_cache_bytes == 2 * eight.kv_cache_bytes
    with pytest.raises(BadQuantityError, match="kv_dtype"):
        serve(kv_dtype="int3.5")
    with pytest.raises(BadQuantityError, match="engine"):
        serve(engine="nobody's server")
    with pytest.raises(BadQuantityError, match="weight_format"):
        serve(weight_format="q17")


def test_gptq_keeps_embedding_and_head_in_16_bit() -> None:
    need = serve(QWEN7, engine="transformers", weight_format="gptq-int4", batch=1, context_len=64)
    linears = 28 * (3584 * 3584 * 2 + 2 * 3584 * 512 + 3 * 3584 * 18944)
    by_hand = linears * 4.15625 / 8 + (7_615_616_512 - linears) * 2
    assert need.weights_bytes == pytest.approx(by_hand, abs=1)


def test_pipeline_and_expert_parallelism_share_the_weights() -> None:
    moe = get_model("Qwen/Qwen3-30B-A3B")
    fields = {"method": "full", "framework": "megatron", "precision": "bf16-mixed"}
    eight = train(moe, gpu_count=8, parallelism="tp2+pp2", **fields)
    experts = train(moe, gpu_count=8, parallelism="tp2+pp2", expert_parallel_size=2, **fields)
    assert experts.weights_bytes < eight.weights_bytes
    with pytest.raises(BadQuantityError, match="gpu_count"):
        train(moe, gpu_count=6, parallelism="tp4", **fields)


def test_images_take_tokens_of_the_sequence() -> None:
    vlm = get_model("Qwen/Qwen2.5-VL-7B-Instruct")
    fields = {"engine": "vllm", "prompt_len": 256, "generated_len": 256}
    plain, two = serve(vlm, **fields), serve(vlm, **fields, images=2, image_tokens=1000)
    assert two.kv_cache_bytes - plain.kv_cache_bytes == pytest.approx(2000 * 56 * 1024, rel=0.01)
    assumed = serve(vlm, **fields, images=1)
    assert "image_tokens" in {a.name for a in assumed.assumptions}
    assert plain.weights_bytes == 2 * vlm.params_total  # the tower is resident


def test_a_step_can_be_simulated_only_with_its_extra() -> None:
    from importlib.util import find_spec

    from tools.errors import MissingExtraError
    from tools.memory.simulated_cases import answer_case_simulated

    if find_spec("torch") is not None:
        pytest.skip("torch is installed: the simulation has tests of its own")
    row = {"model": "Qwen/Qwen2.5-0.5B", "task": "train", "method": "full", "extra": None}
    with pytest.raises(MissingExtraError, match="simulate"):
        answer_case_simulated(row)


def test_vllm_on_the_trainers_card_takes_its_share_of_it() -> None:
    card = find_gpu("A100 80GB").spec
    spec = get_model("Qwen/Qwen2.5-7B")
    fields: dict[str, Any] = {"method": "lora", "objective": "grpo", "gpu": card}
    alone = estimate(TrainingWorkload(spec, **fields))
    beside = estimate(TrainingWorkload(spec, vllm_colocated=True, **fields))
    assert card.usable_bytes is not None
    share = beside.process_bytes - alone.process_bytes
    assert share == pytest.approx(0.3 * card.usable_bytes, rel=1e-6)
    assert beside.allocated_bytes == alone.allocated_bytes


def test_trl_keeps_embeddings_of_a_four_bit_policy_in_16_bit() -> None:
    spec = get_model("Qwen/Qwen3-8B")  # untied: embedding and head of 151,936 x 4,096 each
    tuned = estimate(TrainingWorkload(spec, method="qlora", framework="hf-trainer"))
    policy = estimate(
        TrainingWorkload(spec, method="qlora", objective="grpo", framework="hf-trainer")
    )
    saved = tuned.part("weights") - policy.part("weights")
    assert saved == pytest.approx(2 * 151_936 * 4_096 * 2, rel=0.001)
    half = TrainingWorkload(
        spec, method="qlora", objective="grpo", framework="hf-trainer", precision="fp16-mixed"
    )
    assert estimate(half).part("weights") == tuned.part("weights")


def test_offloaded_gradients_are_fp32_in_host_memory() -> None:
    spec = get_model("meta-llama/Llama-2-7b-hf")
    fields: dict[str, Any] = {
        "method": "full", "parallelism": "zero3", "gpu_count": 8, "precision": "bf16-mixed",
    }  # fmt: skip
    states = estimate(TrainingWorkload(spec, offload="optimizer", **fields))
    both = estimate(TrainingWorkload(spec, offload="both", **fields))
    assert states.host_ram_bytes == pytest.approx(16 * spec.params_total, rel=0.001)
    assert both.host_ram_bytes == pytest.approx(18 * spec.params_total, rel=0.001)
