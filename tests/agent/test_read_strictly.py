"""What a strict reader looks for: figures no finer than known, settings in words, no line twice."""

from __future__ import annotations

import re

import pytest

from agent.toolbox.memory import MemoryReport
from tests.agent.answers import answered

_WORDS_OF_PROGRAMS = re.compile(
    r"pure-bf16|bf16-mixed|adamw(?!\w)|reference architecture|images_per_s|decode_per_core"
    r"|(?:检查点|方法) (?:full|lora|qlora)"
)


@pytest.mark.parametrize(
    "question",
    [
        "7B 微调能在 A10 上跑吗?",
        "Qwen2.5-14B 全参微调 8 张 A100 80G 够吗",
        "在 4 张 A100 上 LoRA 微调 Llama-3-8B,10 万条样本每条 1000 token,3 轮要多久花多少钱",
        "训练 ResNet50 GPU 利用率只有 30%,图片在 NAS 上",
        "vLLM 部署 Qwen2.5-32B-AWQ,并发 16,上下文 8k,一张 4090 够吗",
    ],
)
def test_chinese_answers_name_settings_in_words(question: str) -> None:
    answer, _ = answered(question)
    assert not _WORDS_OF_PROGRAMS.search(answer.text), answer.text


@pytest.mark.parametrize(
    "question",
    [
        "full fine-tune of Llama-3.1-8B on 2x A100 80GB",
        "serve Qwen2.5-72B-Instruct fp8 on 2 H100 with 32 concurrent users at 8k",
        "2x A10 with NVLink for 13B full fine-tune",
        "fine-tune 7B in bf16 on a T4?",
    ],
)
def test_no_paragraph_or_line_is_told_twice(question: str) -> None:
    answer, _ = answered(question)
    lines = [line for line in answer.text.split("\n") if line and not line.startswith("| ---")]
    assert len(lines) == len(set(lines))


def test_an_estimated_cost_has_three_digits() -> None:
    answer, _ = answered(
        "how long does it take to LoRA 7B on 50k samples of 512 tokens for 3 epochs on one A10 "
        "and what does it cost?"
    )
    told = re.search(
        r"that is about ([\d,.]+) CNY \(range ([\d,.]+) CNY–([\d,.]+) CNY\)", answer.text
    )
    assert told is not None
    for amount in told.groups():
        assert len(amount.replace(",", "").replace(".", "").strip("0")) <= 3


def test_a_price_question_opens_with_the_price_of_an_hour_and_a_month() -> None:
    """730 hours of the lowest hourly price."""
    answer, _ = answered("阿里云 A10 一小时多少钱,跑一个月呢")
    figures = {f.name: float(f.value) for f in answer.figures}
    lowest = min(float(o.price) for o in answer.offers if o.price is not None)
    assert figures["month_at_list_price"] == pytest.approx(730 * lowest, rel=1e-6)
    assert answer.text.startswith("**最低约 ")


def test_changes_are_those_that_the_card_and_the_model_can_take() -> None:
    answer, _ = answered("tokens per second for Llama-3-8B on a T4")
    assert "FP8" not in answer.text.split("What brings it down")[1].split("\n\n")[0]
    assert "(fp16)" in answer.text
    answer, _ = answered("stable diffusion xl inference on 8GB")
    assert "AWQ" not in answer.text


def test_a_server_named_beside_reinforcement_learning_is_the_rollout_engine() -> None:
    """TRL gives a vLLM on the same card 0.3 of it when nothing is set."""
    answer, results = answered(
        "GRPO with QLoRA on Qwen2.5-7B, single A100 40GB with vLLM colocate, memory too high"
    )
    report = next(r.report for r in results if isinstance(r.report, MemoryReport))
    figures = {f.name: float(f.value) for f in answer.figures}
    assert report.usable_bytes is not None
    assert figures["rollout_engine"] == pytest.approx(0.3 * report.usable_bytes, rel=1e-6)
    assert figures["step_and_rollout"] == report.process_bytes + figures["rollout_engine"]
    assert "sleep" in answer.text


def test_a_library_in_a_question_does_not_turn_checkpointing_off() -> None:
    _, results = answered("llama3 70b lora 8xA100 80G batch 2 seq 4096 deepspeed zero3 要多少显存")
    report = next(r.report for r in results if isinstance(r.report, MemoryReport))
    assumed = {a.name: a.value for a in report.assumptions}
    assert assumed["gradient_checkpointing"] == "full"
    assert report.verdict == "fits"


def test_an_encoder_is_not_counted_longer_than_its_positions() -> None:
    _, results = answered("full fine-tuning of bert-large on a V100 32GB")
    report = next(r.report for r in results if isinstance(r.report, MemoryReport))
    assert {a.name: a.value for a in report.assumptions}["seq_len"] == 512


def test_pre_training_is_told_in_words() -> None:
    answer, _ = answered("can I train a 3B model from scratch on rtx 4060 8gb?")
    assert "pre-training" in answer.text.lower()
    assert "PRETRAIN" not in answer.text


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("llama3 70b lora 8xA100 80G deepspeed zero3 要多少显存", "切分到 8 张卡"),
        ("llama3 8b lora on 2x4090", "whole 16-bit weights (about 15.0 GiB)"),
    ],
)
def test_the_frozen_weights_of_a_card_are_told(question: str, told: str) -> None:
    # 70.6e9 * 2 B / 8 cards = 16.4 GiB; 8.03e9 * 2 B = 15.0 GiB on each of two replicas
    answer, _ = answered(question)
    assert told in answer.text
