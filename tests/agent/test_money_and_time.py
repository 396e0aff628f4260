"""Hours and money of a job: the work is read as it was written, and a follow-up keeps it."""

from __future__ import annotations

import pytest

from agent import Advisor, Settings
from agent.understanding import parse
from tests.agent.answers import answered


@pytest.mark.parametrize(
    ("question", "samples", "each"),
    [
        ("how long to finetune llama3 8b lora on 50k samples of 1024 tokens, 3 epochs, one A100",
         50_000, 1024),
        ("20k 条样本 每条 2048 token 训 2 轮 Qwen2.5-7B QLoRA 单张 A10 要多久", 20_000, 2048),
        ("100000 examples averaging 700 tokens each, 7b lora on L40S: hours?", 100_000, 700),
    ],
)  # fmt: skip
def test_tokens_beside_samples_are_those_of_one(question: str, samples: int, each: int) -> None:
    slots = parse(question).slots
    assert (slots.samples, slots.tokens_per_sample, slots.tokens) == (samples, each, None)


@pytest.mark.parametrize(
    ("question", "tokens", "params_b"),
    [
        ("how much does it cost to pretrain a 1.3B on 30B tokens with 8 A100", 30e9, 1.3),
        ("预训练 1B 模型 20B token 用 8 张 H100 要多少钱", 20e9, 1),
        ("continue pretraining a 7B on 1.5T tokens, 64 H100, how long?", 1.5e12, 7),
    ],
)
def test_billions_of_tokens_are_no_size_of_a_model(
    question: str, tokens: float, params_b: float
) -> None:
    slots = parse(question).slots
    assert (slots.tokens, slots.params_b) == (tokens, params_b)


def test_cost_of_pre_training_is_hours_and_money_of_that_work() -> None:
    """6 · 1.3e9 · 30e9 FLOP over 8 · 312 TFLOPS at an MFU of 0.2 to 0.6 is 43 to 130 hours."""
    answer, _ = answered("how much does it cost to pretrain a 1.3B on 30B tokens with 8 A100")
    hours = [f for f in answer.figures if f.name == "job_hours" or f.unit == "h"]
    assert any(43 <= float(f.value) <= 130 for f in hours)
    assert any(f.name == "cost" for f in answer.figures)
    assert "30 billion tokens" in answer.text


def test_a_follow_up_about_money_keeps_the_job() -> None:
    first = parse(
        "how long to finetune llama3 8b lora on 50k samples of 1024 tokens, one A100 80G?"
    )
    second = parse("how much does that cost on AWS?", [first])
    assert second.intent == "cost_estimate"
    assert (second.slots.samples, second.slots.provider) == (50_000, "aws")


def test_a_cloud_without_the_single_card_is_counted_by_its_whole_machine() -> None:
    """AWS has 80 GB A100s only in eights: the price is that of the machine."""
    with Advisor(Settings()) as advisor:
        question = "llama3 8b lora, 50k samples of 1024 tokens, one A100 80G on AWS: hours, cost?"
        text = advisor.ask(question).text
    assert "p4de.24xlarge" in text
    assert "rented whole" in text
