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
