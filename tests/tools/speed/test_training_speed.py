"""Training speed: published rows from the speed notes, hand-computed parts, properties."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.errors import BadQuantityError, UnknownGpuError, UnknownModelError
from tools.speed import TrainingJob, card, parse_layout, ppo_hours, shape_of, training_speed
from tools.speed.results import constants_of
from tools.speed.shapes import shape_of_size
from tools.speed.training import resolve
from tools.speed.training_model import model_flops_per_token, passes
from tools.speed.workload import link_gbps, transport_of


def job(**changes: object) -> TrainingJob:
    base = TrainingJob(
        gpu="A100 80GB",
        model="Llama-2-7B",
        stage="finetune",
        method="lora",
        micro_batch=2,
        seq_len=2048,
        checkpointing="full",
    )
    return dataclasses.replace(base, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("run", "measured"),
    [
        # llm-foundry benchmarking README, 8xA100-80, seq 2048
        pytest.param(
            TrainingJob(
                gpu="A100-SXM-80GB", model="MPT-7b", params_b=6.66, stage="pretrain",
                precision="amp_bf16", num_gpus=8, layout=parse_layout("FSDP", num_gpus=8),
                micro_batch=6, seq_len=2048, checkpointing="none", flash=True,
            ),
            4641, id="MPT-7B on 8xA100",
        ),
        pytest.param(
            TrainingJob(
                gpu="H100-SXM-80GB", model="MPT-7b", params_b=6.66, stage="pretrain",
                precision="amp_bf16", num_gpus=8, layout=parse_layout("FSDP", num_gpus=8),
                micro_batch=6, seq_len=2048, checkpointing="none", flash=True,
            ),
            10643, id="MPT-7B on 8xH100",
        ),
        # Qwen README, single A100
        pytest.param(
            TrainingJob(
                gpu="A100-SXM-80GB", model="Qwen-7B", params_b=7.72, method="lora",
                precision="bf16", micro_batch=1, grad_accum=8, seq_len=2048,
                checkpointing="full", flash=True,
            ),
            3150, id="Qwen-7B LoRA",
        ),
        pytest.param(
            TrainingJob(
                gpu="A100-SXM-80GB", model="Qwen-72B", params_b=72.3, method="qlora",
                precision="fp16", quantization="gptq-int4", micro_batch=1, grad_accum=8,
                seq_len=512, checkpointing="full", flash=True,
            ),
            130, id="Qwen-72B QLoRA, short samples",
        ),
        # fsdp_qlora, two 4090 over PCIe
        pytest.param(
            TrainingJob(
                gpu="RTX 4090", model="Llama-2-7B", params_b=6.74, method="qlora",
                quantization="nf4", num_gpus=2, layout=parse_layout("DDP", num_gpus=2),
                interconnect="pcie", micro_batch=8, seq_len=2048, checkpointing="full",
            ),
            2330, id="7B QLoRA on 2x4090",
        ),
        # DeepLearningExamples, BERT-large SQuAD
        pytest.param(
            TrainingJob(
                gpu="V100-SXM2-32GB", model="BERT-large SQuAD v1.1", params_b=0.336,
                precision="AMP", num_gpus=8, layout=parse_layout("DDP", num_gpus=8),
                micro_batch=16, seq_len=384, flash=False,
            ),
            18336, id="BERT-large on 8xV100",
        ),
    ],
)  # fmt: skip
def test_published_rows(run: TrainingJob, measured: float) -> None:
    speed = training_speed(run).tokens_per_s_per_gpu
    assert speed.value == pytest.approx(measured, rel=0.35)
    assert speed.high <= 4 * speed.low


def test_flops_per_token_by_hand() -> None:
    # 6 N, the looked-up table of 50,000 rows left out, + 3 * (causal) 2 * layers * hidden * seq
    shape = shape_of_size(7e9)
    matrices = 7e9 - 50_000 * shape.hidden
    expected = 6 * matrices + 3 * 2 * shape.layers * shape.hidden * 2048
    found = model_flops_per_token(shape, method="full", seq_len=2048, recompute=0)
    assert found == pytest.approx(expected)
    adapter = model_flops_per_token(shape, method="lora", seq_len=2048, recompute=0)
    assert adapter == pytest.approx(expected * 2 / 3)


def test_recompute_adds_one_forward_pass() -> None:
    device, shape = card("A100 80GB"), shape_of("Llama-2-7B")
    with_it, _ = resolve(job(method="full", checkpointing="full"), device, shape)
    without, _ = resolve(job(method="full", checkpointing="none"), device, shape)
    assert passes(with_it) - passes(without) == pytest.approx(1.0)


def test_mfu_is_below_one_and_counts_no_recompute() -> None:
    plain = training_speed(job(method="full", checkpointing="none", num_gpus=8))
    recomputed = training_speed(job(method="full", checkpointing="full", num_gpus=8))
    assert 0.2 < plain.mfu < 0.75
    assert recomputed.mfu < plain.mfu
    assert recomputed.peak_share < 1


def test_accumulation_spreads_the_update() -> None:
    one = training_speed(job(method="full", model="TinyLlama", grad_accum=1))
    many = training_speed(job(method="full", model="TinyLlama", grad_accum=16))
    assert many.tokens_per_s_per_gpu.value > one.tokens_per_s_per_gpu.value
    assert many.parts["optimizer"] == pytest.approx(one.parts["optimizer"] / 16)


def test_short_samples_are_slower_in_real_tokens() -> None:
    packed = training_speed(job(micro_batch=4, seq_len=768))
    short = training_speed(job(micro_batch=4, seq_len=768, mean_tokens=200))
    assert short.tokens_per_s_per_gpu.value < packed.tokens_per_s_per_gpu.value
    assert short.samples_per_s.value > packed.samples_per_s.value


def test_a_kind_of_adapter_costs_what_was_measured() -> None:
    lora = training_speed(job()).tokens_per_s_per_gpu.value
    dora = training_speed(job(adapter="dora")).tokens_per_s_per_gpu.value
    assert lora / dora == pytest.approx(1.21)


def test_what_was_not_said_is_assumed_and_reported() -> None:
    speed = training_speed(TrainingJob(gpu="A10", model="Qwen2.5-7B", method="qlora"))
    names = {assumption.name for assumption in speed.assumptions}
    assert {"precision", "seq_len", "micro_batch", "gradient_checkpointing"} <= names


def test_figures_trace_to_the_data_file() -> None:
    speed = training_speed(job())
    by_name = {figure.name: figure for figure in speed.figures()}
    ids = {source.id for source in by_name["tokens_per_s_per_gpu"].leaves()}
    assert any(i.startswith("data:speed/training.json") for i in ids)
    low, high = by_name["tokens_per_s_per_gpu_low"], by_name["tokens_per_s_per_gpu_high"]
    assert low.value < by_name["tokens_per_s_per_gpu"].value < high.value
    assert speed.tokens_per_s.value == speed.tokens_per_s_per_gpu.value * speed.num_gpus


@pytest.mark.parametrize(
    "changes",
    [{"micro_batch": 0}, {"seq_len": -1}, {"num_gpus": 0}, {"model": None, "params_b": 0.0}],
)
def test_impossible_values_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(BadQuantityError):
        training_speed(job(**changes))


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UnknownGpuError):
        training_speed(job(gpu="A10O"))
    with pytest.raises(UnknownModelError):
        training_speed(job(model="quuxformer"))


def test_an_unknown_name_with_a_size_is_answered() -> None:
    assert training_speed(job(model="quuxformer", params_b=7.0)).tokens_per_s.value > 0
    assert shape_of("quuxformer 13B").params_total == pytest.approx(13e9)
    assert shape_of("GPT (1536 hidden x 16 layers)").layers == 16


@settings(max_examples=40, deadline=None)
@given(
    params_b=st.floats(0.1, 70),
    bigger=st.floats(1.05, 4),
    method=st.sampled_from(["full", "lora", "qlora"]),
    seq=st.sampled_from([256, 1024, 4096]),
)
def test_a_bigger_model_is_never_faster(
    params_b: float, bigger: float, method: str, seq: int
) -> None:
    def rate(size: float) -> float:
        return training_speed(
            job(model=None, params_b=size, method=method, seq_len=seq)
        ).tokens_per_s.value

    assert rate(params_b * bigger) <= rate(params_b) * 1.02


@settings(max_examples=40, deadline=None)
@given(seq=st.integers(128, 65_536), method=st.sampled_from(["full", "lora", "qlora"]))
def test_the_interval_holds_the_point_and_stays_narrow(seq: int, method: str) -> None:
    speed = training_speed(job(seq_len=seq, micro_batch=1, method=method)).tokens_per_s_per_gpu
    assert speed.low < speed.value < speed.high <= 4 * speed.low


@settings(max_examples=30, deadline=None)
@given(
    factor=st.floats(1.0, 5.0),
    seq=st.sampled_from([512, 2048, 8192]),
    method=st.sampled_from(["full", "lora", "qlora"]),
)
def test_more_bandwidth_or_arithmetic_is_never_slower(factor: float, seq: int, method: str) -> None:
    from tools.speed.training_model import parts

    shape, device = shape_of("Llama-2-7B"), card("A100 80GB")
    step, _ = resolve(job(method=method, seq_len=seq), device, shape)
    base = sum(parts(step, device, shape, constants_of("training")).values())
    for changed in (
        dataclasses.replace(device, bytes_per_s=device.bytes_per_s * factor),
        dataclasses.replace(device, tensor16_flops=device.tensor16_flops * factor),
    ):
        assert sum(parts(step, changed, shape, constants_of("training")).values()) <= base * 1.0001


def test_qlora_is_slower_than_lora_and_lora_faster_than_full() -> None:
    rates = {m: training_speed(job(method=m)).tokens_per_s.value for m in ("full", "lora", "qlora")}
    assert rates["qlora"] < rates["lora"]
    assert rates["full"] < rates["lora"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FSDP32+TP8", {"sharding": "fsdp", "tensor": 8, "pipeline": 1}),
        ("TP4 PP8 VP5", {"tensor": 4, "pipeline": 8, "virtual_stages": 5}),
        ("DeepSpeed ZeRO-3 + sequence parallel 4", {"sharding": "zero3", "context": 4}),
        ("DDP (FSDP no_shard)", {"sharding": "ddp"}),
        ("Megatron-LM, DPxTPxPP = 1x8x1", {"tensor": 8, "engine": "megatron"}),
        ("FSDP +cpu_offload", {"sharding": "fsdp", "cpu_offload": True}),
        ("single GPU", {"sharding": None}),
    ],
)  # fmt: skip
def test_layouts_as_written(text: str, expected: dict[str, object]) -> None:
    layout = parse_layout(text, num_gpus=8)
    assert {key: getattr(layout, key) for key in expected} == expected


def test_links_as_written() -> None:
    assert link_gbps("25 Gbps Ethernet") == 25
    assert link_gbps("625 Mbit/s by iperf") == pytest.approx(0.625)
    assert link_gbps("nothing stated") is None
    assert transport_of("RoCE 4x100 Gbps per node") == "rdma"
    assert transport_of("30 Gbps VPC TCP") == "tcp"
    assert transport_of("100 Gbps nominal, one TCP flow") == "tcp-one-flow"


def test_ppo_hours_of_published_runs() -> None:
    # DeepSpeed-Chat, 135 M tokens: OPT-13B 9 h on 8xA100-80, 1.25 h on 64
    eight = ppo_hours(gpu="A100 80GB", num_gpus=8, model="OPT-13B", tokens=135e6)
    assert eight.low <= 9 <= eight.high
    assert ppo_hours(
        gpu="A100 80GB", num_gpus=64, model="OPT-13B", tokens=135e6
    ).value == pytest.approx(eight.value / 8)


def test_long_context_reaches_more_of_the_peak_in_attention() -> None:
    # xtuner: Llama-2-7B full, 8 x A100, sequence parallel 8: 949 tokens/s/GPU at 131,072 tokens
    job = TrainingJob(
        gpu="A100 SXM 80GB", model="Llama-2-7B", stage="finetune", precision="bf16", num_gpus=8,
        layout=parse_layout("DeepSpeed ZeRO-3 + sequence parallel 8", num_gpus=8), micro_batch=1,
        seq_len=131_072, checkpointing="full", flash=True,
    )  # fmt: skip
    found = training_speed(job).tokens_per_s_per_gpu
    assert found.low <= 949 <= found.high


def test_experts_over_more_machines_wait_longer() -> None:
    def waiting(text: str, gpus: int) -> float:
        job = TrainingJob(
            gpu="H100 SXM", model="Qwen3-30B-A3B", stage="pretrain", num_gpus=gpus, micro_batch=2,
            seq_len=4096, layout=parse_layout(text, num_gpus=gpus), link="8x400 Gbps InfiniBand",
        )  # fmt: skip
        return training_speed(job).parts["communication"]

    assert waiting("EP8", 64) < waiting("EP32", 64)


def test_a_forward_pass_is_a_third_of_the_products() -> None:
    job = TrainingJob(gpu="A100", model="bert-large", seq_len=384, micro_batch=32, flash=True)
    train = training_speed(job).parts
    forward = training_speed(dataclasses.replace(job, method="forward")).parts
    assert forward["matrices"] == pytest.approx(train["matrices"] / 3)
    assert forward["optimizer"] == forward["communication"] == 0


@pytest.mark.parametrize(
    ("objective", "cost"),
    [
        (None, 1.0),
        ("dpo", 2 * (1 + 1 / 3)),  # two answers, each 3 passes of the policy and 1 of the reference
        ("orpo", 2.0),
        ("kto", 1 + 1 / 3),
    ],
)
def test_pairs_and_references_cost_what_they_compute(objective: str | None, cost: float) -> None:
    job = TrainingJob(gpu="A100 80GB", model="Qwen2.5-0.5B", checkpointing="none")
    plain = training_speed(job).tokens_per_s_per_gpu.value
    paired = training_speed(dataclasses.replace(job, objective=objective))
    assert plain / paired.tokens_per_s_per_gpu.value == pytest.approx(cost)
