"""`python -m tools catalog billing`: what a month costs by each billing, and which one pays."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tools.errors import UnknownInstanceError

if TYPE_CHECKING:
    from tools.catalog import BillingComparison, Price

_DISCOUNTS = (0.2, 0.4, 0.6)
"""Of a month by subscription, where its price is not known: what each would ask for."""


def run_billing(args: argparse.Namespace) -> int:
    """Prints the comparison of a type, or of every type of a family; exit 1 without any price."""
    from tools.catalog import compare_billing, find_instance

    named = find_instance(args.name, args.provider)
    offers = named.offers or tuple(o for one in named.families for o in one.offers)
    if not named.exists or not offers:
        nearest = tuple(o.instance_type for o in named.nearest)
        raise UnknownInstanceError(args.name, candidates=nearest)
    found = [compare_billing(o, hours_per_month=args.hours, region=args.region) for o in offers]
    if args.json:
        print(json.dumps([_view(one) for one in found], ensure_ascii=False))
    else:
        for one in found:
            print("\n".join(_lines(one)))
    return 0 if any(one.monthly for one in found) else 1


def _lines(one: BillingComparison) -> Iterator[str]:
    from tools.catalog import hours_that_pay

    yield f"{one.offer.provider} {one.offer.instance_type}, {one.hours_per_month:g} h a month"
    for name, amount in sorted(one.monthly.items(), key=lambda item: item[1]):
        yield f"  {name.replace('_', ' '):<13} {amount} {one.currency} ({_when(one, name)})"
    if one.spot is not None and "spot" not in one.monthly:
        yield f"  spot          {one.spot.low} - {one.spot.high} {one.spot.currency} an hour"
    if one.break_even_hours is not None:
        low, high = one.break_even_hours
        yield f"  subscription pays from {low:.0f} - {high:.0f} h a month"
    elif one.on_demand is not None and one.subscription is None:
        points = ", ".join(f"{d:.0%} off from {hours_that_pay(d):.0f} h" for d in _DISCOUNTS)
        yield f"  subscription: no price in the catalog; it would pay at {points} a month"
    if one.spot_break_even_overhead is not None:
        yield f"  spot stops paying at {one.spot_break_even_overhead:.0%} more time"


def _when(one: BillingComparison, name: str) -> str:
    if name == "spot":
        assert one.spot is not None
        return f"{one.spot.basis.replace('_', ' ')}, {one.spot.region}, {one.spot.as_of}"
    price: Price | None = one.on_demand if name == "on_demand" else one.subscription
    assert price is not None
    day = str(price.priced_on) if price.priced_on else "undated list price"
    note = f"; {price.note}" if price.note else ""
    per = "an hour" if price.per == "hour" else "a month"
    return f"{price.amount} {per}, {price.region or 'region not stated'}, {day}{note}"


def _view(one: BillingComparison) -> dict[str, Any]:
    return {
        "provider": one.offer.provider,
        "instance_type": one.offer.instance_type,
        "hours_per_month": one.hours_per_month,
        "monthly": {name: str(amount) for name, amount in one.monthly.items()},
        "currency": one.currency,
        "cheapest": one.cheapest,
        "break_even_hours": one.break_even_hours,
        "spot_break_even_overhead": one.spot_break_even_overhead,
    }
