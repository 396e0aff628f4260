"""What moving data costs: tiers by hand, hours of the day, and what is not known."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tools.catalog import covered_providers, traffic_cost, traffic_prices
from tools.errors import BadQuantityError

GB = 1e9


@pytest.mark.parametrize(
    ("provider", "way", "size_gb", "low", "high"),
    [
        ("aws", "internet", 50, "0.00", "0.00"),  # the first 100 GB are free
        ("aws", "internet", 5000, "441.00", "441.00"),  # 4,900 * 0.09
        # 10,140 * 0.09 + 40,960 * 0.085 + 48,800 * 0.07
        ("aws", "internet", 100_000, "7810.20", "7810.20"),
        ("gcp", "internet", 2000, "230.24", "230.24"),  # 1,024 * 0.12 + 976 * 0.11
        ("alibaba", "internet", 20_000, "5000.00", "10000.00"),  # 0.25 at night, 0.50 by day
        ("alibaba", "internal", 20_000, "0.00", "0.00"),
        ("tencent", "internal", 1, "0.00", "0.00"),
    ],
)
def test_each_gigabyte_costs_its_own_tier(
    provider: str, way: str, size_gb: float, low: str, high: str
) -> None:
    cost = traffic_cost(provider, way=way, size_bytes=size_gb * GB)  # type: ignore[arg-type]  # a case
    assert cost is not None
    assert (cost.low, cost.high, cost.is_upper) == (Decimal(low), Decimal(high), False)


def test_beyond_the_known_tiers_the_last_price_is_an_upper_bound() -> None:
    cost = traffic_cost("azure", way="internet", size_bytes=20_000 * GB)
    assert cost is not None
    assert cost.is_upper
    assert cost.high == Decimal("1731.30")  # 19,900 * 0.087


def test_a_way_without_a_price_is_unknown_and_not_free() -> None:
    assert traffic_cost("tencent", way="internet", size_bytes=GB) is None
    assert traffic_cost("huawei", way="internal", size_bytes=GB) is None


def test_an_undated_price_has_no_day() -> None:
    by_day = traffic_cost("aws", way="internet", size_bytes=GB)
    undated = traffic_cost("alibaba", way="internet", size_bytes=GB)
    assert by_day is not None
    assert by_day.priced_on is not None
    assert undated is not None
    assert undated.priced_on is None


def test_tiers_join_and_every_row_has_a_source() -> None:
    seen: dict[tuple[str, str, str | None], Decimal | None] = {}
    for row in traffic_prices():
        assert row.provider in covered_providers()
        assert row.source.locator
        key = (row.provider, row.way, row.hours)
        assert row.from_gb == (seen[key] if key in seen else 0), key
        seen[key] = row.to_gb
    assert len(traffic_prices()) >= 24


def test_a_size_of_nothing_is_refused() -> None:
    with pytest.raises(BadQuantityError):
        traffic_cost("aws", way="internet", size_bytes=0)
