"""What an hour of each of several cards costs: as it was said, else as the catalog has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from agent.answering.plan import Call
from agent.answering.telling.draft import Draft
from agent.answering.telling.machines import short_line
from agent.answering.telling.numbers import hourly, usual_currency
from agent.toolbox import ToolResult
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.offers import InstanceOut


class HourPrice(NamedTuple):
    """Price of an hour of one side of a comparison, all its cards together."""

    amount: float
    currency: str
    offer: InstanceOut | None
    """The machine that has it; None where the price was said."""


def price_calls(draft: Draft, cards: Sequence[tuple[str, int]]) -> list[Call]:
    """Machines with each card and count, in the order of the cards."""
    provider = draft.request.slots.provider
    calls = []
    for name, count in cards:
        asked = {"gpu": name, "provider": provider, "min_gpu_count": count,
                 "max_gpu_count": count, "limit": 50}  # fmt: skip
        calls.append(Call("find_instances", {k: v for k, v in asked.items() if v is not None}))
    return calls


def hour_prices(draft: Draft, offers: Sequence[ToolResult]) -> list[HourPrice | None]:
    """Price of each card: those that were said, else the cheapest in a currency of most cards.

    Args:
        draft: The answer in the making.
        offers: Machines with each card, in the order of the cards.
    """
    said = _said(draft, len(offers))
    if said:
        return list(said)
    priced = [_priced(result) for result in offers]
    known = [{r.price.currency for r in rows if r.price} for rows in priced]
    common = max(sorted(set().union(*known)), key=lambda c: sum(c in k for k in known), default="")
    return [_cheapest(rows, common) for rows in priced]


def _said(draft: Draft, count: int) -> list[HourPrice]:
    """A price for each card, where so many were said; none otherwise."""
    prices = draft.request.slots.price
    if not isinstance(prices, tuple) or len(prices) != count:
        return []
    if any(price.per == "month" or price.amount <= 0 for price in prices):
        return []
    usual = usual_currency(draft.language)
    for place, price in enumerate(prices):
        draft.figure(f"price {place + 1}", price.amount, f"{price.currency or usual}/h",
                     sources=("user:price",))  # fmt: skip
    return [HourPrice(price.amount, price.currency or usual, None) for price in prices]


def _priced(result: ToolResult) -> list[InstanceOut]:
    rows = result.report.instances if isinstance(result.report, InstancesReport) else ()
    return [row for row in rows if row.price is not None and row.category == "gpu"]


def _cheapest(rows: Sequence[InstanceOut], currency: str) -> HourPrice | None:
    """The cheapest row in a currency; in any where it has none."""
    own = [row for row in rows if row.price is not None and row.price.currency == currency]
    best = min(own or rows, key=lambda r: r.price.amount if r.price else 0, default=None)
    if best is None or best.price is None:
        return None
    return HourPrice(float(best.price.amount), best.price.currency, best)


def told_price(draft: Draft, price: HourPrice | None) -> str:
    """Where a price is from: the machine, or that it was said."""
    if price is None:
        return draft.phrase("compare.no_price")
    if price.offer is None:
        rate = hourly(price.amount, price.currency, draft.language)
        return draft.phrase("compare.price_said", price=rate)
    draft.offer([price.offer.as_offer()])
    return short_line(draft, price.offer)
