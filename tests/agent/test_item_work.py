"""Requests a day as a rate, and public data sets as a count of images."""

from __future__ import annotations

import pytest

from agent import ungrounded
from agent.answer import Answer
from tests.agent.answers import answered


def _figure(answer: Answer, name: str) -> float:
    return next(float(f.value) for f in answer.figures if f.name == name)


def test_a_daily_count_is_a_rate() -> None:
    """4,320,000 a day over 86,400 s are 50 a second."""
    question = "bge-large 每天 432 万条文本,T4 要几张"
    answer, _ = answered(question)
    assert _figure(answer, "mean_rate") == pytest.approx(50.0)
    assert "峰值" in answer.text
    assert not ungrounded(answer, question=question)


@pytest.mark.parametrize(
    ("question", "images"),
    [
        ("resnet50 on imagenet, 90 epochs, one V100: ballpark?", 1_281_167 * 90),
        ("resnet18 cifar10 训 200 轮,单张 3090 大概多久", 50_000 * 200),
    ],
)
def test_a_public_data_set_has_a_count(question: str, images: int) -> None:
    answer, _ = answered(question)
    assert answer.intent == "time_estimate"
    rate = _figure(answer, "image per s value")
    assert _figure(answer, "hours value") == pytest.approx(images / rate / 3600, rel=1e-3)
    assert not ungrounded(answer, question=question)


def test_a_question_about_memory_stays_one() -> None:
    answer, _ = answered("resnet50 imagenet 90 epochs, does it fit in the memory of one T4?")
    assert answer.memory is not None


@pytest.mark.parametrize(
    ("question", "need", "verdict"),
    [
        # 240 h / 24 h = 10 times real time; 4800 h / 24 h = 200
        ("每天 240 小时录音,whisper large-v3-turbo 一张 L4,当天转得完吗", 10.0, "fits"),
        ("4800 hours of audio a day, whisper-large-v3 on one T4, ok?", 200.0, "depends"),
    ],
)
def test_audio_of_a_day_is_a_rate(question: str, need: float, verdict: str) -> None:
    answer, _ = answered(question)
    assert answer.verdict == verdict
    assert _figure(answer, "times real time needed") == pytest.approx(need)
    one = _figure(answer, "hours value")
    batched = _figure(answer, "batched times real time value")
    assert batched > need * 24 / one  # windows that are decoded together take less time
    assert not ungrounded(answer, question=question)


def test_each_card_does_a_batch_of_its_own_in_a_step() -> None:
    """1000 steps of batch 8 on 4 cards are 32,000 images at the rate of the four."""
    question = "SDXL lora 1000 steps batch 8 on 4x A100, how long"
    answer, _ = answered(question)
    rate = _figure(answer, "image per s value")
    assert _figure(answer, "hours of steps value") == pytest.approx(32_000 / rate / 3600, rel=1e-6)
    assert _figure(answer, "seconds_a_step") == pytest.approx(32 / rate, rel=1e-6)


def test_what_a_request_ranks_counts_in_the_cards() -> None:
    """20 requests a second of 60 passages are 1,200 pairs a second."""
    question = "bge-reranker-v2-m3, 20 QPS, each 60 passages, how many L4?"
    answer, _ = answered(question)
    assert _figure(answer, "rate_needed") == pytest.approx(1200)
    assert not ungrounded(answer, question=question)


@pytest.mark.parametrize(
    ("question", "verdict"),
    [
        ("bge-small-zh 给 5 万条短文本建索引,没有显卡,16 核的机器行不行", "fits"),
        ("给 50 万条短文本用 bge-base-zh 建索引,要不要显卡", "depends"),
    ],
)
def test_a_machine_that_was_named_copes_or_not(question: str, verdict: str) -> None:
    answer, _ = answered(question)
    assert answer.verdict == verdict
    assert not ungrounded(answer, question=question)


@pytest.mark.parametrize(
    "question",
    [
        "只跑个 bge-base-zh 检索,上显卡是不是大材小用",
        "isn't a GPU overkill for one MiniLM encoder?",
    ],
)
def test_a_card_that_is_doubted_for_a_small_network(question: str) -> None:
    answer, _ = answered(question)
    assert "CPU" in answer.text
    assert answer.memory is None or answer.memory.scope != "per_gpu"


def test_a_whole_pre_training_is_told_in_days() -> None:
    """6 * 3e9 * 6e11 FLOP over 32 cards of 989 TFLOPS take 4 days at the peak, more in truth."""
    question = "pretraining: 3B, 600B tokens, 32 H800 cards"
    answer, _ = answered(question)
    days = next(float(f.value) for f in answer.figures if f.name.endswith("hours")) / 24
    assert 4 < days < 40
    assert not ungrounded(answer, question=question)
    layout, _ = answered("3B 预训练 600B tokens, 32 张 H800 怎么切")
    assert layout.memory is not None
