"""Ways that a reader asks for by other words: the optimizer said, host memory, experts."""

from __future__ import annotations

import re

import pytest

from agent.toolbox.catalog import InstancesReport
from agent.toolbox.memory import MemoryReport
from tests.agent.answers import answer, answered


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("full fine-tune Qwen2.5-3B, pure bf16, adamw 8bit, one 4090, seq 2048 bs 1", "8-bit"),
        ("Qwen3-30B-A3B 4bit 推理放得进 8G 的 3060 Ti 吗", "主机内存"),
        ("从头训一个 30B 的 MoE,64 张 H20 怎么并行", "专家并行"),
    ],
)
def test_the_way_is_named(question: str, told: str) -> None:
    answer, _ = answered(question)
    assert told in answer.text


def test_states_in_host_memory_are_not_said_to_be_on_the_card() -> None:
    answer, _ = answered("内存 512G 单张 4090,ZeRO-3 offload 全参 7B 行吗")
    assert "0 字节" not in answer.text


def test_a_length_of_answers_is_not_shortened_to_make_a_run_fit() -> None:
    answer, _ = answered("7B QLoRA on T4 max completion length 8192")
    assert answer.verdict == "does_not_fit"
    assert "512" not in answer.text.partition("\n\n")[0]


def test_states_that_stage_two_shards_are_not_called_replicas() -> None:
    answer, _ = answered("7B full fine-tune ZeRO-2 on 8×A100 40GB")
    assert "more cards do not lower" not in answer.text
    assert "ZeRO-2 shards optimizer states and gradients over 8 cards" in answer.text


@pytest.mark.parametrize(
    "question",
    [
        "Llama-3-70B full fine-tune on 32×H100",
        "serve Qwen3-235B on 8×A100 80GB",
        "Flux.1-dev NF4 with model cpu offload on RTX 4070 12GB?",
        "BERT-base fp32 Adam batch 32 on T4",
    ],
)
def test_the_parts_add_up_to_the_need(question: str) -> None:
    answer, results = answered(question)
    need = next(r.report for r in results if isinstance(r.report, MemoryReport)).process_bytes
    told = re.search(r"about \*\*([\d.,]+) GiB\*\*", answer.text)
    assert told is not None
    rows = re.findall(r"^\| (?!Part)[^|]+ \| ([\d.,]+) GiB \|$", answer.text, re.MULTILINE)
    total = sum(float(row.replace(",", "")) for row in rows)
    assert total == pytest.approx(float(told[1].replace(",", "")), abs=0.06 * len(rows)), need


def test_machines_for_offloaded_states_have_the_memory_for_them() -> None:
    """13B at 18 B a parameter are about 234e9 B: no machine of 128 GiB holds that."""
    answer, results = answered("13B full fine-tune ZeRO-3 CPU offload on 2×A10, which instance?")
    names = {offer.instance_type for offer in answer.offers}
    rows = [r for x in results if isinstance(x.report, InstancesReport) for r in x.report.instances]
    memory = [r.memory_gib for r in rows if r.instance_type in names]
    assert all(gib is not None and gib * 2**30 > 234e9 for gib in memory)


def test_sharding_on_the_same_cards_is_a_way_out_of_stage_two() -> None:
    """7B over 8 cards at stage 3: 18 B x 6.7e9 / 8 are 14 GiB of states on each, below 23.5."""
    answer, _ = answered("7B 全参 ZeRO-2 8 张 4090")
    assert "同样 8 张卡改用 ZeRO-3/FSDP" in answer.text


def test_narrow_weights_and_parts_in_turn_are_tried_together() -> None:
    """Flux at 16 bit keeps 22 GiB of denoiser; in NF4 the text encoders' 9.1 GiB are the most."""
    answer, _ = answered("Flux.1-dev inference on 12GB 4070?")
    assert answer.verdict == "depends"
    assert "10.0 GiB" in answer.text.partition("\n\n")[0]


def test_bytes_at_a_peak_without_gradients_are_not_said_to_hold_them() -> None:
    """fp32 Adam: 4 B of weights and 8 of states are held in the forward pass, gradients later."""
    answer, _ = answered("BERT-base fp32 Adam batch 32 on T4")
    assert "weights and optimizer states (12 bytes per parameter at the peak)" in answer.text


def test_a_lora_run_that_two_cards_do_not_hold_gets_its_settings_told() -> None:
    found = answer(
        "model_name_or_path: 01-ai/Yi-1.5-9B\nfinetuning_type: lora\ncutoff_len: 8192\n"
        "per_device_train_batch_size: 6\nbf16: true\n两张 3090 放得下吗"
    )
    assert found.verdict == "does_not_fit"
    assert "batch 减小到 1" in found.text
    assert "Liger" in found.text


def test_one_setting_that_is_enough_is_told_by_its_name_only() -> None:
    found = answer("Qwen2.5-7B LoRA seq 4096 batch 1 on a 3090, does it fit?")
    assert "leanest" not in found.text
    assert "One setting that was left open is enough" in found.text
