"""Claims of spot that never ends, of newer as faster, and of a card that a type does not carry."""

from __future__ import annotations

import pytest

from agent import ungrounded
from tests.agent.answers import answered


@pytest.mark.parametrize(
    "question",
    [
        "spot doesn't really get reclaimed, so a ten day run needs no checkpoints, right?",
        "抢占式不会真的被回收吧,跑两周不存检查点行吗",
    ],
)
def test_spot_is_reclaimed(question: str) -> None:
    answer, _ = answered(question)
    assert len(answer.corrections) == 1
    assert not ungrounded(answer, question=question)


def test_whether_spot_is_reclaimed_may_be_asked() -> None:
    answer, _ = answered("抢占式会不会被回收?多久存一次检查点好")
    assert not answer.corrections


def test_a_newer_card_of_less_compute_trains_slower() -> None:
    """312 / 148 = 2.1 times the dense BF16 TFLOPS."""
    question = "H20 is newer than the A100 80GB, so it trains faster, right?"
    answer, _ = answered(question)
    fact = next(c.fact for c in answer.corrections if "148" in c.fact)
    assert "312" in fact
    assert "2.1" in fact
    assert not ungrounded(answer, question=question)


def test_a_newer_card_of_more_compute_is_not_corrected() -> None:
    answer, _ = answered("H100 is newer than the A100 80GB, so it trains faster, right?")
    assert not any("BF16" in c.fact for c in answer.corrections)


@pytest.mark.parametrize(
    ("question", "card"),
    [("gn6i is the V100 type, right? LoRA of a 7B on it", "Tesla T4"),
     ("腾讯云 GN8 是 H100 那一档吧,想微调 70B", "P40")],
)  # fmt: skip
def test_the_card_of_the_type_is_computed(question: str, card: str) -> None:
    answer, _ = answered(question)
    assert any(card in c.fact for c in answer.corrections)
    assert card in answer.text
    assert not ungrounded(answer, question=question)


def test_what_all_cards_of_a_type_have_is_told() -> None:
    """p4d.24xlarge: 8 x 40 GB = 320 GB, not 640."""
    answer, _ = answered("p4d.24xlarge = 8x 80GB = 640GB, so Mixtral 8x22B bf16 is fine on it?")
    assert len(answer.corrections) == 1
    assert "320" in answer.corrections[0].fact
