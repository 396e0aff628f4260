"""What a cloud charges for data that moves: in, inside a region, between regions, out.

Tiers are of a month's traffic of the whole account; a copy is priced as if it were the month's
first. A way without a row is unknown, never free.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Literal, NamedTuple, get_args

from tools.catalog import table
from tools.catalog.loader import DATA, read_sources
from tools.catalog.table import Column
from tools.errors import BadQuantityError
from tools.provenance import Figure, Source
from tools.units import GB

Way = Literal["inbound", "internal", "internet", "regions"]
"""inbound: from the internet; internal: inside a region; internet: out; regions: between them."""
WAYS: tuple[Way, ...] = get_args(Way)


class TrafficPrice(NamedTuple):
    """One tier of one way of data, per GB (10**9 bytes)."""

    provider: str
    way: Way
    hours: str | None
    """Hours of the day that the price is of; None = all."""
    from_gb: Decimal
    to_gb: Decimal | None
    """None = no higher tier."""
    amount: Decimal
    """In `currency` a GB; 0 = the source calls it free."""
    currency: str
    priced_on: date | None
    """None = undated."""
    note: str | None
    source: Source


class TrafficCost(NamedTuple):
    """What a copy costs in traffic."""

    provider: str
    way: Way
    low: Decimal
    high: Decimal
    """Above `low` where the price differs by hours of the day."""
    currency: str
    is_upper: bool
    """The size goes beyond the tiers that are known; the last one was charged on."""
    rates: tuple[TrafficPrice, ...]

    @property
    def priced_on(self) -> date | None:
        """Day of the oldest price; None where one is undated."""
        days = [rate.priced_on for rate in self.rates]
        return None if None in days else min(day for day in days if day is not None)

    def figures(self) -> tuple[Figure, ...]:
        """Least and most money."""
        sources = tuple(dict.fromkeys(rate.source for rate in self.rates))
        formula = "sum over tiers of GB * price"
        return tuple(
            Figure(name, amount, self.currency, sources, formula)
            for name, amount in (("traffic_low", self.low), ("traffic_high", self.high))
        )


def _amount(cell: str) -> Decimal:
    """Zero or more: some ways are free."""
    try:
        amount = Decimal(cell)
    except InvalidOperation as error:
        raise ValueError("is not a decimal number") from error
    if not amount.is_finite() or amount < 0:
        raise ValueError("is below zero")
    return amount


_FILE = "traffic.csv"
_COLUMNS = (
    Column("provider", table.text, required=True),
    Column("way", table.one_of(WAYS), required=True),
    Column("hours", table.text),
    Column("from_gb", _amount, required=True),
    Column("to_gb", table.money),
    Column("amount", _amount, required=True),
    Column("currency", table.text, required=True),
    Column("priced_on", date.fromisoformat),
    Column("source", table.text, required=True),
    Column("note", table.text),
)


@cache
def traffic_prices() -> tuple[TrafficPrice, ...]:
    """Every tier that is known, in the file's order."""
    sources = read_sources()
    rows = table.read_rows(table.read_text(DATA / _FILE), columns=_COLUMNS, file=_FILE)
    found = []
    for _, cells in rows:
        source_id, note = cells[8:]
        row = sources[source_id]
        source = Source(f"data:{_FILE}#{cells[0]}", "vendor", row.locator, row.published_on)
        found.append(TrafficPrice(*[*cells[:8], note, source]))
    return tuple(found)


def traffic_cost(provider: str, *, way: Way, size_bytes: float) -> TrafficCost | None:
    """What moving data costs; None where no price of this way is known.

    Args:
        provider: Id of the cloud.
        way: inbound, internal, internet or regions.
        size_bytes: Bytes that move.

    Raises:
        BadQuantityError: If the size is not above zero.

    Source: data/traffic.csv; each GB at the price of its own tier.

    >>> cost = traffic_cost("aws", way="internet", size_bytes=20_000e9)
    >>> cost.low, cost.currency
    (Decimal('1742.20'), 'USD')
    """
    if not size_bytes > 0:
        raise BadQuantityError(field="size_bytes", given=size_bytes, allowed="above 0")
    rates = [r for r in traffic_prices() if r.provider == provider and r.way == way]
    if not rates:
        return None
    size_gb = Decimal(str(size_bytes)) / GB
    by_hours: dict[str | None, Decimal] = {}
    for hours in dict.fromkeys(rate.hours for rate in rates):
        by_hours[hours] = _charged([r for r in rates if r.hours == hours], size_gb)
    last = rates[-1].to_gb
    return TrafficCost(
        provider=provider,
        way=way,
        low=min(by_hours.values()),
        high=max(by_hours.values()),
        currency=rates[0].currency,
        is_upper=last is not None and size_gb > last,
        rates=tuple(rates),
    )


def _charged(tiers: list[TrafficPrice], size_gb: Decimal) -> Decimal:
    """Money of a size over tiers; beyond the last known one its price goes on."""
    total = Decimal(0)
    for tier in tiers:
        is_last = tier is tiers[-1]
        top = size_gb if is_last or tier.to_gb is None else min(size_gb, tier.to_gb)
        total += max(Decimal(0), top - tier.from_gb) * tier.amount
    return total.quantize(Decimal("0.01"))
