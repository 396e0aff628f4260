"""Properties over random inputs: more never needs less, parts explain, shards shrink."""

from __future__ import annotations

import dataclasses

from hypothesis import given, settings
from hypothesis import strategies as st

from tools.memory import InferenceWorkload, TrainingWorkload, estimate
from tools.memory.params import is_decoder
from tools.models import ModelSpec, all_models

DECODERS = sorted((s for s in all_models() if is_decoder(s)), key=lambda s: s.name)
models = st.sampled_from(DECODERS)
PRECISIONS = ["pure-bf16", "bf16-mixed", "fp32"]
OPTIMIZERS = ["adamw", "adamw-8bit", "sgd", "adafactor", "lion", "muon"]
ENGINES = ["transformers", "vllm", "sglang", "llama.cpp", "ollama", "exllama"]
FAST = settings(max_examples=60, deadline=None)


@st.composite
def trainings(draw: st.DrawFn) -> TrainingWorkload:
    method = draw(st.sampled_from(["full", "lora", "qlora", "dora"]))
    return TrainingWorkload(
        draw(models),
        method=method,
        precision=draw(st.sampled_from(PRECISIONS)) if method == "full" else None,
        optimizer=draw(st.sampled_from(OPTIMIZERS)),
        micro_batch_size=draw(st.integers(1, 32)),
        seq_len=draw(st.integers(16, 32768)),
        gradient_checkpointing=draw(st.sampled_from(["none", "full", "selective"])),
        attention=draw(st.sampled_from(["eager", "sdpa", "flash"])),
        fused_ce=draw(st.booleans()),
        lora_rank=draw(st.integers(1, 128)),
        framework=draw(st.sampled_from([None, "plain loop", "hf-trainer", "torchtune", "litgpt"])),
    )  # fmt: skip


@st.composite
def servings(draw: st.DrawFn) -> InferenceWorkload:
    return InferenceWorkload(
        draw(models),
        engine=draw(st.sampled_from(ENGINES)),
        weight_format=draw(st.sampled_from(["bf16", "fp8", "awq-int4", "gguf-q4_k_m", "nf4"])),
        batch=draw(st.integers(1, 64)),
        context_len=draw(st.integers(16, 131072)),
        kv_dtype=draw(st.sampled_from(["bf16", "fp8", "q8_0"])),
    )  # fmt: skip


@FAST
@given(
    trainings(), st.sampled_from(["micro_batch_size", "seq_len", "lora_rank"]), st.integers(1, 5)
)
def test_more_training_never_needs_less(
    workload: TrainingWorkload, field: str, factor: int
) -> None:
    larger = dataclasses.replace(workload, **{field: getattr(workload, field) * factor})  # type: ignore[arg-type]
    assert estimate(larger).allocated_bytes >= estimate(workload).allocated_bytes


@FAST
@given(servings(), st.sampled_from(["batch", "context_len"]), st.integers(1, 5))
def test_more_serving_never_needs_less(
    workload: InferenceWorkload, field: str, factor: int
) -> None:
    larger = dataclasses.replace(workload, **{field: getattr(workload, field) * factor})  # type: ignore[arg-type]
    before, after = estimate(workload), estimate(larger)
    assert after.process_bytes >= before.process_bytes
    assert after.kv_cache_bytes >= before.kv_cache_bytes


@FAST
@given(st.one_of(trainings(), servings()))
def test_parts_explain_the_total(workload: TrainingWorkload | InferenceWorkload) -> None:
    need = estimate(workload)
    assert sum(part.bytes for part in need.parts) == need.process_bytes
    assert all(part.bytes > 0 for part in need.parts)
    assert need.allocated_bytes <= need.reserved_bytes <= need.process_bytes
    low, high = need.interval("process")
    assert 0 < low <= need.process_bytes <= high <= 2 * low + 2


@FAST
@given(models, st.integers(1, 8), st.integers(64, 8192), st.sampled_from(["none", "full"]))
def test_qlora_needs_at_most_lora_and_lora_at_most_full(
    model: ModelSpec, batch: int, length: int, checkpointing: str
) -> None:
    # under the same rules: with k-bit preparation the stream is fp32, and long batches of a small
    # model then need more than 16-bit LoRA, as they do on a card
    def need(method: str) -> int:
        return estimate(
            TrainingWorkload(
                model, method=method, precision="pure-bf16", micro_batch_size=batch,  # type: ignore[arg-type]
                seq_len=length, gradient_checkpointing=checkpointing, lora_rank=8,  # type: ignore[arg-type]
                lora_targets=("q_proj", "v_proj"), autocast=False, kbit_prepared=False,
                optimizer="adamw",
            )
        ).allocated_bytes  # fmt: skip

    assert need("qlora") <= need("lora") <= need("full")


@FAST
@given(models, st.sampled_from(["zero1", "zero2", "zero3", "fsdp"]), st.integers(1, 4))
def test_need_per_card_falls_with_shards_and_never_below_what_cannot_be_sharded(
    model: ModelSpec, engine: str, doublings: int
) -> None:
    def need(cards: int) -> int:
        return estimate(
            TrainingWorkload(
                model, method="full", precision="bf16-mixed", parallelism=engine, gpu_count=cards,
                micro_batch_size=1, seq_len=512, gradient_checkpointing="full",
            )
        ).allocated_bytes  # fmt: skip

    cards = 2**doublings
    assert need(2 * cards) <= need(cards)
    logits = 12 * (model.vocab_size or 0) * 512
    assert need(2 * cards) >= logits
