"""Hours that a sum pays, and a whole run from its measured rate."""

from __future__ import annotations

import pytest

from agent import ungrounded
from agent.answer import Answer
from tests.agent.answers import answered


def _figure(answer: Answer, name: str) -> float:
    return next(float(f.value) for f in answer.figures if f.name == name)


@pytest.mark.parametrize(
    ("question", "hours"),
    [
        ("got $240. A100 at $3.2/h - how many hours is that", 75.0),
        ("手上有 900 元,4090 是 2.5元/小时,能用几天", 360.0),
    ],
)
def test_a_sum_over_a_price_is_hours(question: str, hours: float) -> None:
    """240 / 3.2 = 75; 900 / 2.5 = 360."""
    answer, _ = answered(question)
    assert _figure(answer, "hours") == pytest.approx(hours)
    assert not ungrounded(answer, question=question)


def test_a_run_without_steps_done_is_timed_whole() -> None:
    """18,000 steps at 1.25 a second are 14,400 s: four hours."""
    question = "18000 steps in total at 1.25 it/s, when is it done?"
    answer, _ = answered(question)
    assert _figure(answer, "hours_in_all") == pytest.approx(4.0)
    assert "4.00 hours" in answer.text or "4 hours" in answer.text
    assert not ungrounded(answer, question=question)
