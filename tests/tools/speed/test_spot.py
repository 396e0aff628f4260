"""Checkpoint interval, overhead and billing: published examples and properties."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.errors import BadQuantityError
from tools.speed import (
    SpotJob,
    billing_break_even,
    checkpoint_bytes,
    checkpoint_seconds,
    mtbf_hours_of,
    spot_plan,
)


@pytest.mark.parametrize(
    ("mtbf_hours", "checkpoint_s", "interval_s"),
    [
        pytest.param(6.0, 120.0, 2277, id="two-minute save, six hours"),  # speed notes, section 6
        pytest.param(6000 / 3600, 10.0, 346, id="published example, 23 steps of 15 s"),
    ],
)
def test_young_daly_interval(mtbf_hours: float, checkpoint_s: float, interval_s: int) -> None:
    plan = spot_plan(SpotJob(mtbf_hours=mtbf_hours, checkpoint_s=checkpoint_s))
    assert round(plan.interval_s) == interval_s


def test_overhead_by_hand() -> None:
    # interval 2,276.8 s: 120/2,276.8 + (1,138.4 + 600)/21,600 = 0.0527 + 0.0805 = 0.1332
    plan = spot_plan(SpotJob(mtbf_hours=6, checkpoint_s=120, restart_s=600))
    assert plan.overhead == pytest.approx(0.1332, abs=1e-4)
    assert plan.lost_work_s == pytest.approx(plan.interval_s / 2)


def test_cost_of_a_job_on_spot_against_on_demand() -> None:
    plan = spot_plan(
        SpotJob(
            mtbf_hours=6,
            checkpoint_s=120,
            job_hours=72,
            spot_price_per_hour=Decimal("10"),
            on_demand_price_per_hour=Decimal("34"),
            currency="CNY",
        )
    )
    # 72 h * 1.1332 = 81.59 h * 10 = 815.9; on demand 72 * 34 = 2,448
    assert plan.wall_hours == pytest.approx(81.59, abs=0.01)
    assert plan.cost == pytest.approx(Decimal("815.9"), abs=Decimal("0.2"))
    assert plan.on_demand_cost == Decimal("2448.00")
    assert plan.saving == pytest.approx(0.667, abs=0.002)
    assert plan.expected_interruptions == pytest.approx(81.59 / 6, rel=1e-3)
    names = {figure.name for figure in plan.figures()}
    assert {"checkpoint_interval", "overhead", "spot_cost", "on_demand_cost"} <= names


def test_measured_pair_of_bert_on_spot() -> None:
    # SkyPilot: BERT on V100, 21 h and 18.4 USD on spot against 20 h and 61.2 USD: 5 % longer
    plan = spot_plan(
        SpotJob(
            mtbf_hours=24,
            checkpoint_s=30,
            job_hours=20,
            spot_price_per_hour=Decimal("0.876"),
            on_demand_price_per_hour=Decimal("3.06"),
            currency="USD",
        )
    )
    assert plan.wall_hours == pytest.approx(21, rel=0.05)
    assert plan.saving == pytest.approx(0.70, abs=0.03)


def test_bytes_and_seconds_of_a_checkpoint() -> None:
    # 8 B parameters: 16 GB of weights take 46 s at 350 MB/s, 112 GB of state 320 s
    assert checkpoint_bytes(8e9, resumable=False) == pytest.approx(16e9)
    assert checkpoint_seconds(16e9, write_mb_s=350) == pytest.approx(45.7, abs=0.1)
    assert checkpoint_seconds(checkpoint_bytes(8e9), write_mb_s=350) == pytest.approx(320)
    assert checkpoint_bytes(8e9, trainable_params=4e7) == pytest.approx(5.6e8)


def test_monthly_share_becomes_hours_between_interruptions() -> None:
    # 63.2 % a month is one interruption a month on average
    assert mtbf_hours_of(monthly_interruption=1 - math.exp(-1)) == pytest.approx(730)
    assert mtbf_hours_of(interruptions_per_hour=0.05) == pytest.approx(20)
    assert mtbf_hours_of(interruptions_per_hour=0.05, instances=4) == pytest.approx(5)


@pytest.mark.parametrize("share", [None, 0.0, 1.0, 1.5])
def test_impossible_monthly_share_is_refused(share: float | None) -> None:
    with pytest.raises(BadQuantityError, match="monthly_interruption"):
        mtbf_hours_of(monthly_interruption=share)


def test_save_longer_than_the_time_between_interruptions_is_refused() -> None:
    with pytest.raises(BadQuantityError, match="checkpoint_s"):
        spot_plan(SpotJob(mtbf_hours=0.05, checkpoint_s=300))


def test_negative_restart_is_refused() -> None:
    with pytest.raises(BadQuantityError, match="restart_s"):
        spot_plan(SpotJob(mtbf_hours=1, checkpoint_s=10, restart_s=-1))


@given(mtbf=st.floats(1, 2000), save=st.floats(0.5, 600), shift=st.floats(0.2, 5))
def test_no_other_interval_costs_less(mtbf: float, save: float, shift: float) -> None:
    plan = spot_plan(SpotJob(mtbf_hours=mtbf, checkpoint_s=save))
    other = plan.interval_s * shift

    def overhead(interval: float) -> float:
        return save / interval + interval / 2 / (mtbf * 3600)

    assert overhead(plan.interval_s) <= overhead(other) + 1e-12


@given(save=st.floats(1, 300), short=st.floats(1, 100), longer=st.floats(1.0, 50))
def test_rarer_interruptions_never_cost_more(save: float, short: float, longer: float) -> None:
    often = spot_plan(SpotJob(mtbf_hours=short, checkpoint_s=save))
    rarely = spot_plan(SpotJob(mtbf_hours=short * longer, checkpoint_s=save))
    assert rarely.overhead <= often.overhead + 1e-12


def test_break_even_of_subscription_and_on_demand() -> None:
    # 3,000 a month against 10 an hour: break-even at 300 h; at 200 h on demand, 2,000
    choice = billing_break_even(
        hours_per_month=200,
        currency="CNY",
        on_demand_per_hour=Decimal("10"),
        subscription_per_month=Decimal("3000"),
        spot_per_hour=Decimal("4"),
        spot_overhead=0.1,
    )
    assert choice.break_even_hours == pytest.approx(300)
    assert choice.monthly == {
        "on_demand": Decimal("2000.00"),
        "spot": Decimal("880.00"),
        "subscription": Decimal("3000.00"),
    }
    assert choice.cheapest == "spot"
    assert choice.spot_break_even_overhead == pytest.approx(1.5)


def test_round_the_clock_the_subscription_wins() -> None:
    choice = billing_break_even(
        hours_per_month=730,
        currency="CNY",
        on_demand_per_hour=Decimal("10"),
        subscription_per_month=Decimal("3000"),
    )
    assert choice.cheapest == "subscription"
    assert choice.spot_break_even_overhead is None


@pytest.mark.parametrize("hours", [0, 800])
def test_a_month_has_at_most_744_hours(hours: float) -> None:
    with pytest.raises(BadQuantityError):
        billing_break_even(hours_per_month=hours, currency="USD", on_demand_per_hour=Decimal(1))


def test_no_price_at_all_is_refused() -> None:
    with pytest.raises(BadQuantityError, match="prices"):
        billing_break_even(hours_per_month=100, currency="USD")
