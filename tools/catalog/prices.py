"""What an instance type costs: by region and billing, on demand, spot, subscription.

Rules: no number without currency and source; a price without a date is shown and never ranked;
an old one is labelled; where a cloud publishes only how much spot saves, the price is computed
from the on-demand price and says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from typing import Literal, NamedTuple

from tools.catalog import table
from tools.catalog.front import SourceRow
from tools.catalog.loader import (
    DATA,
    PriceBook,
    catalog,
    read_sources,
    read_spot,
)
from tools.catalog.offer import Billing, InstanceOffer, Price, SpotRecord
from tools.catalog.providers import home_region
from tools.catalog.regions import regions_named
from tools.catalog.table import Column
from tools.provenance import Figure, Source

_POLICY_FILE = "spot_policy.csv"
_POLICY_COLUMNS = (
    Column("provider", table.text, required=True),
    Column("least_share", table.money),
    Column("notice_seconds", table.count),
    Column("protection_hours", table.positive),
    Column("source", table.text, required=True),
)
_OBSERVED_FILE = "spot_observed.csv"
_OBSERVED_COLUMNS = (
    Column("provider", table.text, required=True),
    Column("median_share", table.positive, required=True),
    Column("low_share", table.positive, required=True),
    Column("high_share", table.positive, required=True),
    Column("pairs", table.count, required=True),
    Column("scope", table.text, required=True),
    Column("as_of", date.fromisoformat, required=True),
    Column("source", table.text, required=True),
)
_CENT = Decimal("0.0001")

SpotBasis = Literal["spot_price", "average_saving", "vendor_ceiling", "seen_range"]
"""spot_price: a dated price; average_saving: on demand less a published average saving;
vendor_ceiling: nothing but the vendor's "up to", a range and no price;
seen_range: nothing but the range seen over the cloud's types."""


class SpotPolicy(NamedTuple):
    """What a vendor says of its spot instances."""

    provider: str
    least_share: Decimal | None
    """Lowest share of the on-demand price that the vendor names ("up to 90 % off": 0.1)."""
    notice_seconds: int | None
    protection_hours: float | None
    source_id: str


class Observed(NamedTuple):
    """Spot price as a share of the on-demand price, seen over many types and regions."""

    provider: str
    median_share: float
    low_share: float
    high_share: float
    pairs: int
    """Pairs of a type and a region behind the figures."""
    scope: str
    as_of: date
    source: Source


@dataclass(frozen=True, slots=True)
class SpotQuote:
    """What spot may cost; spot prices move, so this is a range around what was seen."""

    provider: str
    instance_type: str
    region: str | None
    currency: str
    low: Decimal
    """Per hour."""
    likely: Decimal | None
    """Per hour; None where no spot price or average of this type was seen."""
    high: Decimal
    basis: SpotBasis
    as_of: date | None
    interruption_band: str | None
    on_demand: Price | None
    sources: tuple[Source, ...]

    def figures(self) -> tuple[Figure, ...]:
        """Low, likely and high price, per hour."""
        unit = f"{self.currency}/h"
        named = (("spot_low", self.low), ("spot_likely", self.likely), ("spot_high", self.high))
        return tuple(
            Figure(name, value, unit, self.sources) for name, value in named if value is not None
        )


def today() -> date:
    """The current day, in UTC."""
    return datetime.now(UTC).date()


@cache
def _prices(provider: str) -> PriceBook:
    return PriceBook(provider)


@cache
def _spot(provider: str) -> Mapping[str, tuple[SpotRecord, ...]]:
    return read_spot(provider)


def prices_of(
    offer: InstanceOffer,
    *,
    region: str | None = None,
    billing: Billing | None = None,
) -> tuple[Price, ...]:
    """Prices of an instance type, as its sources state them.

    Args:
        offer: The instance type.
        region: Any spelling of a region or a group of regions. Prices whose source states no
            region are kept only without it.
        billing: on_demand, spot or subscription; None = all.

    Raises:
        BadQuantityError: If the region is not known.
    """
    wanted = regions_named(region) if region is not None else None
    return tuple(
        price
        for price in _prices(offer.provider).of(offer.instance_type)
        if (billing is None or price.billing == billing)
        and (wanted is None or (price.provider, price.region or "") in wanted)
    )


def cheapest(
    offer: InstanceOffer, *, region: str | None = None, billing: Billing = "on_demand"
) -> Price | None:
    """The lowest dated price of a type; None when there is none to rank.

    Without a region the home regions of the cloud come first (mainland China for Alibaba Cloud,
    Tencent Cloud and Huawei Cloud); the rest counts only for what is not sold at home.
    """
    dated = [p for p in prices_of(offer, region=region, billing=billing) if p.is_rankable]
    home = home_region(offer.provider) if region is None else None
    if home is not None:
        at_home = regions_named(home)
        dated = [p for p in dated if (p.provider, p.region or "") in at_home] or dated
    return min(dated, key=lambda p: (p.per_hour, p.region or ""), default=None)


def has_price_only(instance_type: str, *, provider: str) -> bool:
    """True for a type that has a price but no row: without specifications it is not an offer."""
    rows = {o.instance_type for o in catalog().offers if o.provider == provider}
    return instance_type in _prices(provider) and instance_type not in rows


@cache
def spot_policies() -> dict[str, SpotPolicy]:
    """Vendors' own words on spot, by provider."""
    lines = table.read_text(DATA / _POLICY_FILE)
    rows = table.read_rows(lines, columns=_POLICY_COLUMNS, file=_POLICY_FILE)
    return {cells[0]: SpotPolicy(*cells) for _, cells in rows}


def policy_source(policy: SpotPolicy) -> Source:
    """Origin of a spot policy."""
    row = read_sources()[policy.source_id]
    return Source(f"data:{_POLICY_FILE}#{policy.provider}", "vendor", row.locator, row.published_on)


def spot_records(offer: InstanceOffer, *, region: str | None = None) -> tuple[SpotRecord, ...]:
    """Average savings and interruption bands seen for a type."""
    wanted = regions_named(region) if region is not None else None
    return tuple(
        record
        for record in _spot(offer.provider).get(offer.instance_type, ())
        if wanted is None or (record.provider, record.region) in wanted
    )


@cache
def observed_spot_shares() -> tuple[Observed, ...]:
    """Spot over on-demand where it was seen over many GPU types, for clouds that publish it."""
    lines = table.read_text(DATA / _OBSERVED_FILE)
    rows = table.read_rows(lines, columns=_OBSERVED_COLUMNS, file=_OBSERVED_FILE)
    sources = read_sources()
    return tuple(
        Observed(*[*cells[:7], _observed_source(cells[0], sources[cells[7]])]) for _, cells in rows
    )


def _observed_source(provider: str, row: SourceRow) -> Source:
    return Source(f"data:{_OBSERVED_FILE}#{provider}", "derived", row.locator, row.published_on)


def spot_quote(offer: InstanceOffer, *, region: str | None = None) -> SpotQuote | None:
    """What a type may cost on spot, per hour; None where not even an on-demand price is dated.

    A dated spot price comes first; then the on-demand price less the published average saving of
    the region; then only the vendor's own "up to", or the lowest share seen over its types, as
    the lower end, with no likely price. None too where neither is known.

    Raises:
        BadQuantityError: If the region is not known.
    """
    priced = cheapest(offer, region=region, billing="spot")
    if priced is not None:
        return _from_price(offer, priced)
    on_demand = cheapest(offer, region=region)
    if on_demand is None:
        return None
    records = [
        r
        for r in spot_records(offer, region=region)
        if r.saving_pct is not None and r.region == on_demand.region
    ]
    if records:
        return _from_saving(offer, on_demand, records[0])
    floor = _floor(offer.provider)
    if floor is None:
        return None
    return SpotQuote(
        offer.provider,
        offer.instance_type,
        on_demand.region,
        on_demand.currency,
        low=_rounded(on_demand.amount * floor.share),
        likely=None,
        high=on_demand.amount,
        basis=floor.basis,
        as_of=on_demand.priced_on,
        interruption_band=None,
        on_demand=on_demand,
        sources=(on_demand.source, floor.source),
    )


class _Floor(NamedTuple):
    """The lowest share of the on-demand price that spot is known to reach, and from where."""

    share: Decimal
    basis: SpotBasis
    source: Source


def _floor(provider: str) -> _Floor | None:
    """By the vendor's own "up to", else by what was seen over its types; None without either."""
    policy = spot_policies().get(provider)
    if policy is not None and policy.least_share is not None:
        return _Floor(policy.least_share, "vendor_ceiling", policy_source(policy))
    seen = next((o for o in observed_spot_shares() if o.provider == provider), None)
    if seen is None:
        return None
    return _Floor(Decimal(str(seen.low_share)), "seen_range", seen.source)


def _from_price(offer: InstanceOffer, priced: Price) -> SpotQuote:
    same = [
        p
        for p in prices_of(offer, billing="on_demand")
        if p.region == priced.region and p.is_rankable
    ]
    on_demand = max(same, key=lambda p: p.priced_on or date.min, default=None)
    everywhere = [p.amount for p in prices_of(offer, billing="spot") if p.is_rankable]
    return SpotQuote(
        offer.provider,
        offer.instance_type,
        priced.region,
        priced.currency,
        low=min(everywhere),
        likely=priced.amount,
        high=max(everywhere) if on_demand is None else max(on_demand.amount, priced.amount),
        basis="spot_price",
        as_of=priced.priced_on,
        interruption_band=next(
            (r.interruption_band for r in spot_records(offer) if r.region == priced.region), None
        ),
        on_demand=on_demand,
        sources=(priced.source,) if on_demand is None else (priced.source, on_demand.source),
    )


def _from_saving(offer: InstanceOffer, on_demand: Price, record: SpotRecord) -> SpotQuote:
    """Average saving gives the likely price; the savings seen elsewhere give the range."""
    savings = [r.saving_pct for r in spot_records(offer) if r.saving_pct is not None]
    return SpotQuote(
        offer.provider,
        offer.instance_type,
        on_demand.region,
        on_demand.currency,
        low=_less(on_demand.amount, max(savings)),
        likely=_less(on_demand.amount, record.saving_pct or 0),
        high=on_demand.amount,
        basis="average_saving",
        as_of=record.as_of,
        interruption_band=record.interruption_band,
        on_demand=on_demand,
        sources=(record.source, on_demand.source),
    )


def _rounded(amount: Decimal) -> Decimal:
    return amount.quantize(_CENT)


def _less(amount: Decimal, saving_pct: int) -> Decimal:
    return _rounded(amount * (100 - saving_pct) / 100)
