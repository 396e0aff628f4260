"""A price an hour that is one card's: the cards are counted, in the turns behind it as well."""

from __future__ import annotations

import pytest

from agent.answer import Answer
from tests.agent.answers import talked


def _value(answer: Answer, name: str) -> float:
    return next(float(f.value) for f in answer.figures if f.name == name)


@pytest.mark.parametrize(
    ("question", "cost"),
    [
        ("恒源云一张卡2.4一小时,租6张跑50小时总共多少钱", 720),
        ("5张卡 每张1.9一小时 跑20小时 要多少钱", 190),
        ("autodl上2.58/小时/卡,开两张跑12小时花多少", 61.92),
        ("租8张卡,一张每小时6块5,跑三天,总价?", 3744),
        ("matpool 2.2一小时一张 开3张跑10个小时 一共多少米", 66),
        ("$1.49 per gpu hour, 16 of them, 100 hours, how much", 2384),
        ("3 cards at 1.1 an hour apiece for 40 hours, what do i owe", 132),
    ],
)
def test_every_card_is_paid_for(question: str, cost: float) -> None:
    (answer,) = talked(question)
    assert _value(answer, "cost") == pytest.approx(cost)


@pytest.mark.parametrize(
    ("turns", "cost"),
    [
        (("runpod 0.79/hr per gpu, 8 gpus for 30 hours, total?", "with 15% off?"), 161.16),
        (("autodl 一张卡1.5一小时,开4张跑10小时多少钱", "打八折呢"), 48),
    ],
)
def test_a_discount_later_is_one_of_all_cards(turns: tuple[str, ...], cost: float) -> None:
    assert _value(talked(*turns)[-1], "cost") == pytest.approx(cost)


def test_a_price_that_may_be_of_one_card_or_of_all_is_told_both_ways() -> None:
    (answer,) = talked("autodl 2.5一小时 开4张跑10个小时 一共多少")
    assert _value(answer, "cost") == pytest.approx(25)
    assert _value(answer, "cost_of_all") == pytest.approx(100)
