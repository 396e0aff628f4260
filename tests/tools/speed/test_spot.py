"""Checkpoint interval, overhead, interruptions: published examples and properties."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.catalog.offer import INTERRUPTION_BANDS
from tools.errors import BadQuantityError
from tools.speed import (
    SpotJob,
    checkpoint_bytes,
    checkpoint_seconds,
    mtbf_hours_of,
    mtbf_of_band,
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


def test_a_vendors_band_is_a_share_of_a_month() -> None:
    # 17.5 % taken in 730 h: rate -ln(0.825) / 730 = 2.635e-4 an hour, 3,795 h between
    found = mtbf_of_band("15-20%")
    assert found.value == pytest.approx(730 / -math.log(0.825))
    assert found.low == pytest.approx(730 / -math.log(0.8))
    assert found.high == pytest.approx(730 / -math.log(0.85))
    assert mtbf_of_band("15-20%", instances=4).value == pytest.approx(found.value / 4)


def test_every_band_of_the_catalog_is_known_and_rarer_bands_last_longer() -> None:
    hours = [mtbf_of_band(band).value for band in INTERRUPTION_BANDS]
    assert hours == sorted(hours, reverse=True)
    with pytest.raises(BadQuantityError, match="band"):
        mtbf_of_band("often")
