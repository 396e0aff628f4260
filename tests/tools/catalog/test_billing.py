"""On demand, spot and subscription of one type, by hand from the rows of the price files."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tools.catalog import compare_billing, covered_providers, get_instance, hours_that_pay
from tools.catalog.loader import catalog
from tools.errors import BadQuantityError


def test_a_reserved_price_of_an_hour_is_paid_round_the_clock() -> None:
    # reserved 5.899 CNY/h (2025-12-29) * 730 h = 4,306.27 a month; on demand 8.5794 (cn-heyuan)
    found = compare_billing(get_instance("ecs.gn7i-c8g1.2xlarge"), hours_per_month=300)
    assert found.monthly["subscription"] == Decimal("4306.27")
    assert found.monthly["on_demand"] == Decimal("2573.82")
    assert found.cheapest == "on_demand"
    assert found.break_even_hours is not None
    assert found.break_even_hours[1] == pytest.approx(4306.27 / 8.5794)  # 502 h
    assert found.break_even_hours[0] <= found.break_even_hours[1]


def test_the_subscription_is_cheapest_beyond_the_break_even() -> None:
    offer = get_instance("ecs.gn7i-c8g1.2xlarge")
    assert compare_billing(offer, hours_per_month=501).cheapest == "on_demand"
    assert compare_billing(offer, hours_per_month=503).cheapest == "subscription"


def test_a_subscription_without_region_counts_where_a_region_is_named() -> None:
    found = compare_billing(get_instance("ecs.gn6v-c8g1.2xlarge"), region="cn")
    assert found.subscription is not None
    assert found.subscription.amount == Decimal("5.206")


def test_a_price_of_a_month_without_any_of_an_hour_has_no_break_even() -> None:
    found = compare_billing(get_instance("GN7vw.LARGE16"))
    assert found.monthly == {"subscription": Decimal("1047.00")}
    assert found.break_even_hours is None
    assert found.cheapest is None
    assert found.currency == "CNY"


def test_spot_stops_paying_where_its_extra_time_eats_the_saving() -> None:
    offer = get_instance("a2-highgpu-1g")
    plain = compare_billing(offer)
    assert plain.spot is not None
    assert plain.spot.likely is not None
    assert plain.spot.on_demand is not None
    limit = plain.spot_break_even_overhead
    assert limit == pytest.approx(float(plain.spot.on_demand.amount / plain.spot.likely) - 1)
    assert limit is not None
    # the months are compared in the region of the lowest on-demand price
    slow = compare_billing(offer, spot_overhead=10.0)
    assert plain.cheapest == "spot"
    assert slow.cheapest == "on_demand"


def test_no_subscription_known_leaves_the_arithmetic() -> None:
    # 30 % off a month pays from 70 % of its hours
    assert hours_that_pay(0.3) == pytest.approx(511)
    with pytest.raises(BadQuantityError):
        hours_that_pay(1.0)


@pytest.mark.parametrize("hours", [0, 745, -3])
def test_hours_that_no_month_has_are_refused(hours: float) -> None:
    with pytest.raises(BadQuantityError):
        compare_billing(get_instance("p3.2xlarge"), hours_per_month=hours)


def test_every_type_compares_and_no_month_is_free() -> None:
    seen = set()
    for offer in catalog().offers:
        found = compare_billing(offer, hours_per_month=100)
        assert all(amount > 0 for amount in found.monthly.values()), offer.instance_type
        if found.break_even_hours is not None:
            assert 0 < found.break_even_hours[0] <= found.break_even_hours[1]
        seen.add(offer.provider)
    assert seen == set(covered_providers())
