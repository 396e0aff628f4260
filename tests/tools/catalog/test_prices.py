from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from tools.catalog import (
    catalog,
    cheapest,
    currency_code,
    exchange_rates,
    find_instance,
    get_instance,
    has_price_only,
    observed_spot_shares,
    prices_of,
    rates_from,
    region_group,
    regions_named,
    spot_policies,
    spot_quote,
    spot_records,
)
from tools.errors import BadQuantityError

TODAY = date(2026, 11, 30)


@pytest.mark.parametrize(
    ("name", "region", "amount", "currency", "day"),
    [
        # karpenter price files and the 2024-10-09 list, as quoted in guidance_factcheck.md
        ("ecs.gn7e-c16g1.4xlarge", "cn-shenzhen", "34.742", "CNY", date(2024, 10, 9)),
        ("ecs.gn7i-c8g1.2xlarge", "cn-heyuan", "8.5794", "CNY", date(2024, 10, 9)),
        ("ecs.c6.large", "cn-beijing", "0.39", "CNY", date(2024, 10, 9)),
        ("g4dn.xlarge", "us-east-1", "0.526", "USD", date(2026, 7, 20)),
        ("aws g6.xlarge", "us-east-1", "0.8048", "USD", date(2026, 7, 20)),
        ("p5.48xlarge", "us", "55.04", "USD", date(2026, 7, 20)),
    ],
)
def test_list_prices_are_those_of_the_source(
    name: str, region: str, amount: str, currency: str, day: date
) -> None:
    cloud, _, written = name.rpartition(" ")
    price = cheapest(get_instance(written, cloud or None), region=region)
    assert price is not None
    assert (price.currency, price.priced_on) == (currency, day)
    assert price.amount == pytest.approx(Decimal(amount), abs=Decimal("0.01"))


def test_mainland_prices_of_an_a10_machine_span_two_regions() -> None:
    offer = get_instance("gn7i-c8g1.2xlarge")
    mainland = {p.amount for p in prices_of(offer, region="cn", billing="on_demand")}
    assert float(min(mainland)) == pytest.approx(8.58, abs=0.01)
    assert float(max(mainland)) == pytest.approx(9.53, abs=0.01)
    assert all(
        region_group("alibaba", p.region or "") == "cn" for p in prices_of(offer, region="cn")
    )


def test_without_a_region_an_alibaba_price_is_one_of_the_mainland() -> None:
    t4 = get_instance("gn6i-c4g1.xlarge")
    anywhere = min(p.amount for p in prices_of(t4, billing="on_demand") if p.is_rankable)
    price = cheapest(t4)
    assert price is not None
    assert region_group("alibaba", price.region or "") == "cn"
    # mainland list of 2024-10-09: 10.46 to 11.63; abroad from 7.79
    assert float(price.amount) == pytest.approx(10.46, abs=0.01)
    assert float(anywhere) == pytest.approx(7.79, abs=0.01)


def test_hong_kong_is_not_the_mainland() -> None:
    assert ("alibaba", "cn-hongkong") not in regions_named("cn")
    assert ("alibaba", "cn-hongkong") in regions_named("香港")
    assert ("alibaba", "cn-hongkong") in regions_named("海外")
    assert ("aws", "us-east-1") in regions_named("us")
    assert regions_named("杭州") == frozenset({("alibaba", "cn-hangzhou")})


def test_an_unknown_region_is_refused() -> None:
    with pytest.raises(BadQuantityError, match="cn-beijing"):
        regions_named("atlantis")


def test_an_undated_price_is_shown_and_never_ranked() -> None:
    offer = get_instance("GN10X.2XLARGE40")
    (price,) = prices_of(offer)
    assert price.amount == Decimal("18.02")
    assert price.priced_on is None
    assert not price.is_rankable
    assert price.is_old(today=TODAY)
    assert cheapest(offer) is None
    assert spot_quote(offer) is None


def test_old_prices_are_labelled_by_a_setting() -> None:
    old = cheapest(get_instance("gn7i-c8g1.2xlarge"))
    new = cheapest(get_instance("g6.xlarge", "aws"))
    assert old is not None
    assert new is not None
    assert old.age_days(today=TODAY) == (TODAY - date(2024, 10, 9)).days == 782
    assert old.is_old(today=TODAY)
    assert not old.is_old(today=TODAY, old_after_days=1000)
    assert not new.is_old(today=TODAY)


def test_a_reserved_rate_is_a_subscription_and_no_on_demand_price() -> None:
    offer = get_instance("gn7i-c8g1.2xlarge")
    reserved = cheapest(offer, billing="subscription")
    assert reserved is not None
    assert (reserved.amount, reserved.per) == (Decimal("5.899"), "hour")
    assert all(p.amount != reserved.amount for p in prices_of(offer, billing="on_demand"))


def test_a_monthly_price_spreads_over_730_hours() -> None:
    (price,) = prices_of(get_instance("GN7vw.LARGE16"))
    assert price.per == "month"
    assert float(price.per_hour) == pytest.approx(1047 / 730)


def test_spot_price_of_a_dated_source_comes_first() -> None:
    quote = spot_quote(get_instance("p5en.48xlarge"), region="us-east-1")
    assert quote is not None
    assert (quote.basis, quote.likely, quote.as_of) == (
        "spot_price", Decimal("27.1988"), date(2026, 8, 6),
    )  # fmt: skip
    assert quote.on_demand is not None
    assert float(quote.likely / quote.on_demand.amount) == pytest.approx(0.43, abs=0.005)


def test_spot_from_an_average_saving_says_so_and_has_a_range() -> None:
    offer = get_instance("g4dn.xlarge")
    quote = spot_quote(offer)
    assert quote is not None
    (here,) = spot_records(offer, region="us-east-1")
    assert quote.basis == "average_saving"
    assert here.saving_pct is not None
    assert float(quote.likely or 0) == pytest.approx(0.526 * (1 - here.saving_pct / 100), abs=1e-4)
    assert quote.low <= (quote.likely or 0) <= quote.high == Decimal("0.526")


def test_alibaba_spot_is_a_range_below_the_vendors_ceiling_and_no_price() -> None:
    quote = spot_quote(get_instance("gn7e-c16g1.4xlarge"), region="cn")
    assert quote is not None
    assert (quote.basis, quote.likely) == ("vendor_ceiling", None)
    assert quote.low == pytest.approx(quote.high / 10, abs=Decimal("0.001"))
    assert spot_policies()["alibaba"].notice_seconds == 300
    assert spot_policies()["aws"].notice_seconds == 120


def test_observed_spot_shares_are_the_published_medians() -> None:
    # catalog_sources.md, derived statistics
    assert {o.provider: (o.median_share, o.pairs) for o in observed_spot_shares()} == {
        "aws": (0.34, 536), "gcp": (0.525, 280),
    }  # fmt: skip


def test_types_with_a_price_and_no_specification_are_no_offers() -> None:
    assert not has_price_only("ecs.gn7i-c8g1.2xlarge", provider="alibaba")
    from tools.catalog.loader import read_prices

    rows = {(o.provider, o.instance_type) for o in catalog().offers}
    priced = {(p, t) for p in catalog().providers for t in read_prices(p)}
    only = priced - rows
    assert only
    for provider, name in only:
        assert has_price_only(name, provider=provider)
        assert not find_instance(name, provider).offers


def test_currencies_are_converted_by_the_dated_reference_rates() -> None:
    rates = exchange_rates()
    # ECB 2026-10-30: 1 EUR = 7.4326 CNY = 1.1172 USD
    assert float(rates.convert(Decimal(5000), given="CNY", wanted="USD")) == pytest.approx(
        751.55, abs=0.01
    )
    assert rates.convert(Decimal(5), given="XXX", wanted="XXX") == 5
    assert rates.as_of == date(2026, 10, 30)
    own = rates_from(per_usd={"CNY": Decimal(7)}, as_of=TODAY)
    assert own.convert(Decimal(14), given="CNY", wanted="USD") == 2
    with pytest.raises(BadQuantityError, match="CNY"):
        own.convert(Decimal(1), given="EUR", wanted="USD")
    assert currency_code(" 元 ") == "CNY"
    with pytest.raises(BadQuantityError):
        currency_code("doubloon")


def test_without_a_spot_price_or_a_range_there_is_no_quote() -> None:
    azure = next(
        o for o in catalog().offers if o.provider == "azure" and cheapest(o) is not None
        and cheapest(o, billing="spot") is None
    )  # fmt: skip
    assert spot_quote(azure) is None
    aws = get_instance("p5.4xlarge", "aws")
    quote, price = spot_quote(aws), cheapest(aws)
    assert quote is not None
    assert price is not None
    assert quote.basis == "seen_range"
    seen = next(o for o in observed_spot_shares() if o.provider == "aws")
    assert float(quote.low) == pytest.approx(float(price.amount) * seen.low_share, abs=1e-4)
