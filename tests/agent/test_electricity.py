"""Electricity of one's own machine: kilowatts, hours and the price of a kilowatt-hour."""

from __future__ import annotations

import pytest

from agent import ungrounded
from agent.answer import Answer
from tests.agent.answers import answered


def _figure(answer: Answer, name: str) -> float:
    return next(float(f.value) for f in answer.figures if f.name == name)


@pytest.mark.parametrize(
    ("question", "kwh", "bill"),
    [
        # 0.8 kW * 20 h = 16 kWh
        ("我的 3090 整机 800 瓦,训练 20 小时,一度电 0.5 元,电费多少", 16.0, "8"),
        ("a 1.5 kW box with 2x4090 trains for 60 hours, 0.20 dollars per kWh, what does the "
         "electricity cost?", 90.0, "18"),
        ("my workstation draws 500 W, 10 hours of fine-tuning at 30 cents per kWh, cost?", 5.0,
         "1.5"),
    ],
)  # fmt: skip
def test_power_times_hours_times_price(question: str, kwh: float, bill: str) -> None:
    answer, _ = answered(question)
    assert answer.intent == "cost_estimate"
    assert _figure(answer, "energy") == kwh
    assert bill in answer.text.split("\n")[0]
    assert not ungrounded(answer, question=question)


def test_power_that_was_not_said_is_that_of_the_cards_and_the_rest() -> None:
    """A 4090 is rated at 450 W; with 200 W beside it 10 hours are 6.5 kWh."""
    answer, _ = answered("electricity of a 4090 for 10 hours of training at $0.1 per kWh?")
    assert _figure(answer, "energy") == 6.5
    assert any(a.name == "power_beside" for a in answer.assumptions)
