"""Hours and cost: hand-computed values and properties."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.errors import BadQuantityError
from tools.speed import Interval, JobWork, job_cost, job_hours


def test_measured_step_gives_steps_hours_and_cost() -> None:
    # 50,000 * 3 / 16 = 9,375 steps; * 1.2 s = 11,250 s = 3.125 h; * 2 USD = 6.25 USD
    time = job_hours(JobWork(samples=50_000, epochs=3, global_batch=16), step_s=1.2)
    assert time.steps == 9_375
    assert time.hours.value == pytest.approx(3.125)
    assert job_cost(time.hours, price_per_hour=Decimal("2"), currency="USD").cost == Decimal("6.25")


def test_a_started_step_counts_as_a_whole_one() -> None:
    assert job_hours(JobWork(samples=17, global_batch=16), step_s=1).steps == 2


def test_tokens_over_rate() -> None:
    # 1e6 samples * 550 tokens / 5,000 token/s = 110,000 s = 30.56 h
    time = job_hours(JobWork(samples=1_000_000, tokens_per_sample=550), tokens_per_s=5_000.0)
    assert time.tokens == pytest.approx(5.5e8)
    assert time.hours.value == pytest.approx(30.5556, rel=1e-4)


def test_interval_of_a_rate_turns_round_into_hours() -> None:
    time = job_hours(JobWork(tokens=3.6e6), tokens_per_s=Interval(1_000, 500, 2_000, "token/s"))
    assert (time.hours.low, time.hours.value, time.hours.high) == pytest.approx((0.5, 1.0, 2.0))


def test_several_machines_cost_that_many_times_more() -> None:
    cost = job_cost(10.0, price_per_hour=Decimal("3.5"), currency="CNY", instances=4)
    assert cost.cost == Decimal("140.00")
    assert cost.currency == "CNY"


@pytest.mark.parametrize(("tokens", "rate"), [(0.0, 1.0), (5.0, None), (5.0, -1.0), (None, 1.0)])
def test_impossible_or_missing_numbers_are_refused(
    tokens: float | None, rate: float | None
) -> None:
    with pytest.raises(BadQuantityError):
        job_hours(JobWork(tokens=tokens), tokens_per_s=rate)


def test_price_of_zero_is_refused() -> None:
    with pytest.raises(BadQuantityError, match="price_per_hour"):
        job_cost(1.0, price_per_hour=Decimal("0"), currency="USD")


@given(
    tokens=st.floats(1e3, 1e13),
    rate=st.floats(1, 1e7),
    faster=st.floats(1.0, 100),
)
def test_a_faster_card_never_takes_longer(tokens: float, rate: float, faster: float) -> None:
    slow = job_hours(JobWork(tokens=tokens), tokens_per_s=rate).hours.value
    assert job_hours(JobWork(tokens=tokens), tokens_per_s=rate * faster).hours.value <= slow


def test_every_figure_has_an_origin() -> None:
    time = job_hours(JobWork(samples=100, epochs=2, global_batch=10), step_s=0.5)
    names = {figure.name for figure in time.figures()}
    assert {"hours", "steps", "step_s"} <= names
    assert all(figure.sources or figure.formula for figure in time.figures())
