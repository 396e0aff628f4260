"""On demand, spot or by subscription: what a month of each costs, and from where which pays."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from tools.catalog.offer import InstanceOffer, Price
from tools.catalog.prices import SpotQuote, cheapest, prices_of, spot_quote
from tools.catalog.providers import home_region
from tools.errors import BadQuantityError
from tools.provenance import Figure
from tools.units import HOURS_PER_MONTH

_CENT = Decimal("0.01")
_HOURS_OF_LONGEST_MONTH = 31 * 24


@dataclass(frozen=True, slots=True)
class BillingComparison:
    """What a type costs a month by each billing that has a price."""

    offer: InstanceOffer
    hours_per_month: float
    on_demand: Price | None
    """The lowest dated price, by which the month is counted."""
    on_demand_high: Price | None
    """The highest dated price in the same regions; the same as `on_demand` where there is one."""
    subscription: Price | None
    """Paid for every hour of the month, used or not; dated first."""
    spot: SpotQuote | None
    spot_overhead: float
    """Extra share of time on spot: saves, lost work, restarts."""
    monthly: dict[str, Decimal]
    """Money of a month by billing; spot only where a likely price is known."""
    currency: str | None
    cheapest: str | None
    """The billing that costs least; None with fewer than two prices."""
    break_even_hours: tuple[float, float] | None
    """Hours a month from which a subscription pays, at the highest and at the lowest price on
    demand; above 730 it never does."""
    spot_break_even_overhead: float | None
    """Extra time at which spot stops being cheaper than on demand."""
    _figures: tuple[Figure, ...]

    def figures(self) -> tuple[Figure, ...]:
        """Money of a month by billing, and the break-even points."""
        return self._figures


def compare_billing(
    offer: InstanceOffer,
    *,
    hours_per_month: float = HOURS_PER_MONTH,
    region: str | None = None,
    spot_overhead: float = 0.0,
) -> BillingComparison:
    """Compares the ways in which a type is billed, for so many hours of use a month.

    Args:
        offer: The instance type.
        hours_per_month: Hours that the machine works; 730 is round the clock.
        region: Any spelling of a region or a group; home regions of the cloud where None. A
            subscription whose source states no region counts for all.
        spot_overhead: Extra share of time on spot, from `tools.speed.spot_plan`.

    Raises:
        BadQuantityError: If the hours are not between 0 and 744, the overhead is negative, or the
            region is not known.

    Source: definition; a subscription pays from (its month) / (price of an hour on demand) hours.
    """
    _check(hours_per_month, spot_overhead)
    on_demand = cheapest(offer, region=region)
    subscription = _subscription(offer, region)
    spot = _spot(offer, on_demand, region)
    monthly = _months(on_demand, subscription, spot, hours_per_month, spot_overhead)
    high = _dearest(offer, on_demand, region)
    return BillingComparison(
        offer=offer,
        hours_per_month=hours_per_month,
        on_demand=on_demand,
        on_demand_high=high,
        subscription=subscription,
        spot=spot,
        spot_overhead=spot_overhead,
        monthly=monthly,
        currency=next((p.currency for p in (on_demand, subscription) if p is not None), None),
        cheapest=min(monthly, key=lambda k: monthly[k]) if len(monthly) > 1 else None,
        break_even_hours=_break_even(subscription, on_demand, high),
        spot_break_even_overhead=_spot_limit(spot, on_demand),
        _figures=_figures(monthly, hours_per_month, on_demand, subscription, spot),
    )


def _check(hours_per_month: float, spot_overhead: float) -> None:
    if not 0 < hours_per_month <= _HOURS_OF_LONGEST_MONTH:
        raise BadQuantityError(
            field="hours_per_month", given=hours_per_month, allowed="above 0, at most 744"
        )
    if spot_overhead < 0:
        raise BadQuantityError(field="spot_overhead", given=spot_overhead, allowed="0 or more")


def _months(
    on_demand: Price | None,
    subscription: Price | None,
    spot: SpotQuote | None,
    hours_per_month: float,
    overhead: float,
) -> dict[str, Decimal]:
    """Money of a month by each billing of which a price is known."""
    hours = Decimal(repr(float(hours_per_month)))
    monthly: dict[str, Decimal] = {}
    if on_demand is not None:
        monthly["on_demand"] = (on_demand.per_hour * hours).quantize(_CENT)
    if spot is not None and spot.likely is not None:
        longer = Decimal(repr(1 + overhead))
        monthly["spot"] = (spot.likely * hours * longer).quantize(_CENT)
    if subscription is not None:
        monthly["subscription"] = month_of(subscription)
    return monthly


def month_of(price: Price) -> Decimal:
    """Money of a whole month: 730 hours where the price is of an hour."""
    return (price.per_hour * HOURS_PER_MONTH).quantize(_CENT)


def hours_that_pay(discount: float) -> float:
    """Hours a month from which a subscription at a discount pays, its price being unknown.

    Args:
        discount: Share off the on-demand price of a whole month, 0 to 1.

    Raises:
        BadQuantityError: If the discount is not between 0 and 1.

    >>> round(hours_that_pay(0.4))
    438
    """
    if not 0 <= discount < 1:
        raise BadQuantityError(field="discount", given=discount, allowed="0 to 1")
    return HOURS_PER_MONTH * (1 - discount)


def _spot(offer: InstanceOffer, on_demand: Price | None, region: str | None) -> SpotQuote | None:
    """The quote of the region that the on-demand price is of, so that one place is compared."""
    if on_demand is not None and on_demand.region is not None:
        there = spot_quote(offer, region=on_demand.region)
        if there is not None:
            return there
    return spot_quote(offer, region=region)


def _subscription(offer: InstanceOffer, region: str | None) -> Price | None:
    """The lowest price of the region or of none that is stated; dated ones first."""
    found = {
        *prices_of(offer, region=region, billing="subscription"),
        *(p for p in prices_of(offer, billing="subscription") if p.region is None),
    }
    return min(found, key=lambda p: (not p.is_rankable, p.per_hour, p.region or ""), default=None)


def _dearest(offer: InstanceOffer, lowest: Price | None, region: str | None) -> Price | None:
    """The highest dated on-demand price in the regions that the lowest was looked for in."""
    if lowest is None:
        return None
    home = home_region(offer.provider) if region is None else region
    there = [p for p in prices_of(offer, region=home, billing="on_demand") if p.is_rankable] or [
        lowest
    ]
    return max([*there, lowest], key=lambda p: (p.per_hour, p.priced_on or date.min))


def _break_even(
    subscription: Price | None, low: Price | None, high: Price | None
) -> tuple[float, float] | None:
    if subscription is None or low is None or high is None:
        return None
    if subscription.currency != low.currency:
        return None
    month = month_of(subscription)
    return float(month / high.per_hour), float(month / low.per_hour)


def _spot_limit(spot: SpotQuote | None, on_demand: Price | None) -> float | None:
    """Overhead at which the likely spot price costs as much as on demand in its region."""
    if spot is None or spot.likely is None or not spot.likely:
        return None
    beside = spot.on_demand or on_demand
    return None if beside is None else float(beside.per_hour / spot.likely) - 1


def _figures(
    monthly: dict[str, Decimal],
    hours: float,
    on_demand: Price | None,
    subscription: Price | None,
    spot: SpotQuote | None,
) -> tuple[Figure, ...]:
    formulas = {
        "on_demand": f"price of an hour * {hours:g} h",
        "spot": f"likely spot price * {hours:g} h * (1 + overhead)",
        "subscription": f"price of a month, or of an hour * {HOURS_PER_MONTH} h",
    }
    origins = {
        "on_demand": () if on_demand is None else (on_demand.source,),
        "subscription": () if subscription is None else (subscription.source,),
        "spot": () if spot is None else spot.sources,
    }
    units = {
        "on_demand": on_demand.currency if on_demand else "",
        "subscription": subscription.currency if subscription else "",
        "spot": spot.currency if spot else "",
    }
    return tuple(
        Figure(f"{name}_per_month", amount, units[name], origins[name], formulas[name])
        for name, amount in monthly.items()
    )
