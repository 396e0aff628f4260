"""Serving speed: published rows, hand-computed bytes, properties."""

from __future__ import annotations

import dataclasses
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.errors import BadQuantityError, UnsupportedError
from tools.speed import (
    ServingJob,
    card,
    cards_for_request_rate,
    cost_per_million_tokens,
    serving_speed,
    shape_of,
)
from tools.speed.results import constants_of
from tools.speed.serving import resolve_serving
from tools.speed.serving_model import (
    _touched_params,
    decode_parts,
    engine_of,
    weight_bytes,
    weight_format,
)


def job(**changes: object) -> ServingJob:
    base = ServingJob(
        gpu="A100-80GB", model="Llama-3-8B", engine="vllm", prompt_len=512, output_len=256
    )
    return dataclasses.replace(base, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("setup", "measured"),
    [
        # Qwen2.5 speed table, vLLM 0.6.3
        pytest.param(job(model="Qwen2.5-7B-Instruct"), 84.3, id="7B bf16 on A100"),
        pytest.param(
            job(model="Qwen2.5-7B-Instruct", weight_format="gptq-int4"), 154, id="7B GPTQ on A100"
        ),
        pytest.param(job(model="Qwen2.5-32B-Instruct"), 22.1, id="32B bf16 on A100"),
        pytest.param(
            job(model="Qwen2.5-72B-Instruct", num_gpus=4, interconnect="nvlink"), 31.4, id="72B TP4"
        ),
        pytest.param(
            job(model="Qwen2.5-7B-Instruct", engine="transformers"), 38, id="launch-bound library"
        ),
        # GPU-Benchmarks-on-LLM-Inference, llama.cpp
        pytest.param(
            job(gpu="RTX 4090", engine="llama.cpp", weight_format="gguf F16"), 54.3, id="4090 F16"
        ),
        pytest.param(
            job(gpu="RTX 3090", engine="llama.cpp", weight_format="gguf Q4_K_M"), 112, id="3090 Q4"
        ),
        pytest.param(
            job(
                gpu="H100 PCIe 80GB", model="Llama-3-70B", engine="llama.cpp",
                weight_format="gguf Q4_K_M",
            ),
            25, id="70B Q4 on H100 PCIe",
        ),
        # MLC, tensor parallel over PCIe
        pytest.param(
            job(
                gpu="RTX 4090", model="Llama-2-70B", engine="mlc-llm TP", weight_format="int4",
                num_gpus=2, interconnect="PCIe",
            ),
            34.5, id="70B int4 on 2x4090",
        ),
    ],
)  # fmt: skip
def test_published_rows(setup: ServingJob, measured: float) -> None:
    speed = serving_speed(setup).decode_tokens_per_s
    assert speed.value == pytest.approx(measured, rel=0.3)
    assert speed.high <= 4 * speed.low


@pytest.mark.parametrize(
    ("written", "kind", "bits"),
    [
        ("bf16", "16", 16),
        ("gguf Q4_K_M", "int4", 4.85),
        ("gguf Q8_0", "int8", 8.5),
        ("awq-int4", "awq", 4.25),
        ("int8 gptq", "gptq8", 8.25),
        ("nf4", "nf4", 4.13),
        ("fp8", "fp8", 8),
        ("exl2 2.5bpw", "int4", 2.6),
        ("fp4", "fp4", 4.5),
        (None, "16", 16),
    ],
)
def test_weight_formats_as_written(written: str | None, kind: str, bits: float) -> None:
    found = weight_format(written)
    assert found.kind == kind
    assert found.bits == pytest.approx(bits)


def test_weight_bytes_by_hand() -> None:
    # Llama-2-7B has 6.738 B parameters: 13.48 GB in 16 bit
    shape = shape_of("Llama-2-7B")
    assert weight_bytes(shape, weight_format("bf16")) == pytest.approx(13.477e9, rel=1e-3)
    # 4.25 bits for 6.476 B layer weights, 2 B for 0.262 B of tables
    assert weight_bytes(shape, weight_format("awq")) == pytest.approx(3.965e9, rel=0.01)


def test_decode_is_never_faster_than_the_memory() -> None:
    for gpu in ("A100-80GB", "RTX 4090", "T4", "H100", "L20"):
        speed = serving_speed(job(gpu=gpu, weight_format="fp16"))
        bound = card(gpu).bytes_per_s / 14e9
        assert speed.decode_tokens_per_s.value < bound, gpu


def test_layer_splits_add_memory_and_no_speed() -> None:
    one = serving_speed(job(gpu="RTX 4090", engine="llama.cpp", weight_format="gguf Q4_K_M"))
    four = serving_speed(
        job(gpu="RTX 4090", engine="llama.cpp", weight_format="gguf Q4_K_M", num_gpus=4)
    )
    assert four.decode_tokens_per_s.value == pytest.approx(one.decode_tokens_per_s.value)
    assert any("memory, not speed" in note for note in four.notes)


def test_tensor_parallelism_helps_more_over_nvlink() -> None:
    one = serving_speed(job(model="Llama-3-70B", weight_format="awq"))
    pcie = serving_speed(
        job(model="Llama-3-70B", weight_format="awq", num_gpus=2, interconnect="PCIe, no NVLink")
    )
    nvlink = serving_speed(
        job(model="Llama-3-70B", weight_format="awq", num_gpus=2, interconnect="nvlink")
    )
    rates = [s.decode_tokens_per_s.value for s in (one, pcie, nvlink)]
    assert rates == sorted(rates)


def test_weights_beyond_the_card_are_read_from_the_host() -> None:
    # measured 3.1 token/s: 70B Q4 with half of it on a desktop processor
    speed = serving_speed(
        job(
            gpu="RTX 4090 + CPU offload (Ryzen 9 7900X)",
            model="Llama-3.1-70B",
            engine="ollama",
            weight_format="Q4_K_M",
        )
    )
    assert speed.bound_by == "host"
    assert speed.decode_tokens_per_s.value == pytest.approx(3.1, rel=0.5)


def test_more_streams_than_the_cache_holds_wait() -> None:
    speed = serving_speed(job(gpu="A10", concurrency=64, prompt_len=8192))
    assert speed.fitting_sequences is not None
    assert speed.fitting_sequences < 64
    assert any("rest waits" in note for note in speed.notes)


def test_batching_raises_the_total_and_lowers_each_stream() -> None:
    one, many = serving_speed(job(concurrency=1)), serving_speed(job(concurrency=16))
    assert many.total_tokens_per_s.value > 4 * one.total_tokens_per_s.value
    assert many.decode_tokens_per_s.value < one.decode_tokens_per_s.value


def test_prefill_of_published_rows() -> None:
    # vLLM, Llama-3.1-8B on one H100: 30,946 token/s in bf16; SGLang 27,670
    speed = serving_speed(job(gpu="H100", prompt_len=2048)).prefill_tokens_per_s
    assert speed.low <= 29_000 <= speed.high


def test_an_encoder_generates_nothing() -> None:
    with pytest.raises(UnsupportedError, match="generates no tokens"):
        serving_speed(job(model="bert-base-uncased"))


def test_cost_per_million_tokens_by_hand() -> None:
    # 1e6 / 500 / 3600 h * 1.8 = 1.0; at half use 2.0
    cost, figures = cost_per_million_tokens(
        500.0, price_per_hour=Decimal("1.8"), currency="USD", utilisation=0.5
    )
    assert cost == Decimal("2.0000")
    assert figures[0].unit == "USD"
    with pytest.raises(BadQuantityError):
        cost_per_million_tokens(500.0, price_per_hour=Decimal(1), currency="USD", utilisation=0)


def test_cards_grow_with_the_request_rate() -> None:
    setup = job(gpu="A10", model="Qwen2.5-7B", prompt_len=1000, output_len=300)
    few = cards_for_request_rate(setup, requests_per_s=0.5)
    many = cards_for_request_rate(setup, requests_per_s=20)
    assert few.gpus <= many.gpus
    assert many.low_gpus <= many.gpus <= many.high_gpus
    assert {figure.name for figure in many.figures()} == {"gpus", "gpus_low", "gpus_high"}


def test_an_impossible_first_token_is_refused() -> None:
    with pytest.raises(BadQuantityError, match="max_ttft_s"):
        cards_for_request_rate(job(gpu="T4", prompt_len=8000), requests_per_s=1, max_ttft_s=0.01)


@pytest.mark.parametrize("changes", [{"concurrency": 0}, {"prompt_len": -5}, {"num_gpus": -1}])
def test_impossible_values_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(BadQuantityError):
        serving_speed(job(**changes))


def test_a_format_that_was_not_said_is_taken_from_name_or_program() -> None:
    awq = serving_speed(job(model="Qwen2.5-7B-Instruct-AWQ"))
    plain = serving_speed(job(model="Qwen2.5-7B-Instruct"))
    assert awq.weight_bytes < 0.5 * plain.weight_bytes
    ollama = serving_speed(job(model="Llama-3-8B", engine="ollama"))
    assert ollama.weight_bytes == pytest.approx(4.9e9, rel=0.05)
    assert any(a.name == "weight_format" and a.value == "q4_k_m" for a in ollama.assumptions)


def test_a_slice_has_its_share_of_the_card() -> None:
    whole = serving_speed(job(gpu="A10", model="Qwen2.5-1.5B"))
    part = serving_speed(job(gpu="A10-12Q", model="Qwen2.5-1.5B"))
    assert card("A10-12Q").bytes_per_s == pytest.approx(card("A10").bytes_per_s / 2)
    assert part.decode_tokens_per_s.value < whole.decode_tokens_per_s.value


def test_engines_as_written() -> None:
    assert engine_of("vllm 0.6.3").splits_tensors
    assert not engine_of("llama.cpp (2024-05)").splits_tensors
    assert engine_of("gpt-fast (torch.compile)").style == "compiled"
    assert engine_of("vllm 0.9.1 (enforce-eager)").style == "eager"
    assert engine_of(None).name == "vllm"


@settings(max_examples=40, deadline=None)
@given(
    params_b=st.floats(0.5, 70),
    bigger=st.floats(1.05, 3),
    engine=st.sampled_from(["vllm", "llama.cpp", "transformers", "exllamav2"]),
    stored=st.sampled_from(["bf16", "fp8", "gptq-int4", "awq"]),
)
def test_a_bigger_model_is_never_faster(
    params_b: float, bigger: float, engine: str, stored: str
) -> None:
    def rate(size: float) -> float:
        return serving_speed(
            job(gpu="H200", model=None, params_b=size, engine=engine, weight_format=stored)
        ).decode_tokens_per_s.value

    assert rate(params_b * bigger) <= rate(params_b) * 1.02


@settings(max_examples=40, deadline=None)
@given(
    factor=st.floats(1, 6),
    streams=st.integers(1, 64),
    stored=st.sampled_from(["bf16", "fp8", "gptq-int4", "gguf Q4_K_M"]),
    engine=st.sampled_from(["vllm", "llama.cpp", "transformers"]),
)
def test_more_bandwidth_is_never_slower(
    factor: float, streams: int, stored: str, engine: str
) -> None:
    device, shape = card("A100-80GB"), shape_of("Llama-3-8B")
    step, _ = resolve_serving(
        job(engine=engine, weight_format=stored, concurrency=streams), device, shape
    )
    faster = dataclasses.replace(device, bytes_per_s=device.bytes_per_s * factor)
    constants = constants_of("serving")
    assert (
        sum(decode_parts(step, faster, shape, constants).values())
        <= sum(decode_parts(step, device, shape, constants).values()) * 1.0001
    )


@settings(max_examples=30, deadline=None)
@given(prompt=st.integers(1, 100_000), output=st.integers(1, 4_000))
def test_longer_prompts_never_come_sooner(prompt: int, output: int) -> None:
    short = serving_speed(job(prompt_len=prompt, output_len=output))
    longer = serving_speed(job(prompt_len=prompt * 2, output_len=output))
    assert longer.ttft_s.value >= short.ttft_s.value
    assert longer.end_to_end_tokens_per_s.value <= short.end_to_end_tokens_per_s.value * 1.0001
    assert short.end_to_end_tokens_per_s.value <= short.decode_tokens_per_s.value * 1.0001


def test_experts_touched_by_a_batch_by_hand() -> None:
    # Qwen3-30B-A3B: 8 of 128 experts a token; 32 tokens touch 128 (1 - (1 - 8/128)^32) = 112
    shape = shape_of("Qwen3-30B-A3B")
    routed = (shape.params_total - shape.params_active) / (1 - 8 / 128)
    touched = 1 - (1 - 8 / 128) ** 32
    assert touched * 128 == pytest.approx(112, abs=0.5)
    wanted = shape.read_params + routed * (touched - 8 / 128)
    assert _touched_params(shape, 32) == pytest.approx(wanted)
    assert _touched_params(shape, 1) == pytest.approx(shape.read_params)
    assert _touched_params(shape, 10_000) <= shape.params_total


@pytest.mark.parametrize(
    ("weight_format", "program"),
    [("q4_k_m", "llama.cpp"), ("gguf Q8_0", "llama.cpp"), ("IQ3_XXS", "llama.cpp"),
     ("awq", "vllm"), ("gptq-int4", "vllm"), (None, "vllm"), ("fp8", "vllm")],
)  # fmt: skip
def test_an_unsaid_program_follows_from_the_files(weight_format: str | None, program: str) -> None:
    job = ServingJob(gpu="RTX 4090", model="Qwen2.5-7B", weight_format=weight_format)
    found = serving_speed(job).assumptions
    assert [a.value for a in found if a.name == "engine"] == [program]


def test_repeated_heads_make_long_contexts_slow_in_library_code() -> None:
    """Qwen3-32B repeats each of 8 cached heads 8 times: 13 tokens/s at 6k, 4.3 at 30k on an H20."""

    def rate(engine: str, prompt: int) -> float:
        job = ServingJob(gpu="H20 96GB", model="Qwen3-32B", engine=engine, prompt_len=prompt,
                         output_len=2048)  # fmt: skip
        return serving_speed(job).decode_tokens_per_s.value

    assert rate("transformers", 30_720) < 0.5 * rate("transformers", 1)
    assert rate("sglang", 30_720) > 0.7 * rate("sglang", 1)


def test_experts_without_a_fused_kernel_are_launched_one_by_one() -> None:
    def rate(weight_format: str, engine: str) -> float:
        job = ServingJob(gpu="H20 96GB", model="Qwen3-30B-A3B", engine=engine,
                         weight_format=weight_format)  # fmt: skip
        return serving_speed(job).decode_tokens_per_s.value

    # 30 and 133 tokens/s in Qwen's table
    assert rate("gptq-int4", "sglang 0.4.6") < 0.5 * rate("fp8", "sglang 0.4.6")
    assert rate("gptq-int4", "vllm") > 0.7 * rate("fp8", "vllm")


def test_few_multiprocessors_do_not_fill_a_wide_memory() -> None:
    """An H20 has more bandwidth than an H100 and decodes no faster than three quarters of it."""

    def rate(gpu: str) -> float:
        job = ServingJob(gpu=gpu, model="Qwen2.5-32B", engine="vllm", weight_format="bf16")
        return serving_speed(job).decode_tokens_per_s.value

    assert rate("H20 96GB") < rate("H100 SXM 96GB") * 1.05


def test_published_maximum_loads_of_tensorrt_llm_lie_near() -> None:
    """Output tokens/s of all GPUs, TensorRT-LLM 1.0 performance overview; not learnt from."""
    rows = [
        ("H100 SXM", 1, "Llama-3.1-8B", "fp8", 128, 2048, 22_714),
        ("H100 SXM", 1, "Llama-3.1-8B", "fp8", 2048, 2048, 9_305),
        ("H200", 1, "Llama-3.3-70B", "fp8", 1000, 1000, 2_909),
        ("H100 SXM", 2, "Llama-3.3-70B", "fp8", 128, 2048, 6_651),
        ("H100 SXM", 8, "Llama-3.1-405B", "fp8", 1000, 1000, 2_919),
        ("B200", 1, "Llama-3.3-70B", "fp4", 1000, 1000, 7_007),
    ]
    for gpu, cards, model, stored, prompt, output, published in rows:
        job = ServingJob(gpu=gpu, model=model, engine="TensorRT-LLM", weight_format=stored,
                         num_gpus=cards, prompt_len=prompt, output_len=output)  # fmt: skip
        held = min(1024, serving_speed(job).fitting_sequences or 1)
        total = serving_speed(dataclasses.replace(job, concurrency=held)).total_tokens_per_s
        assert total.low < published < total.high, (gpu, model, total)


@pytest.mark.parametrize(
    ("written", "loops"),
    [("SGLang 0.4.6.post1", True), ("sglang==0.3.2", True), ("sglang 0.5.3", False),
     ("sglang", False)],
)  # fmt: skip
def test_old_sglang_alone_launches_quantised_experts_one_by_one(written: str, loops: bool) -> None:
    assert bool(engine_of(written).loops_experts) is loops
