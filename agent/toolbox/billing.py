"""compare_billing: on demand, spot and subscription of one type, and from where which pays."""

from __future__ import annotations

from decimal import Decimal

from pydantic import Field

from agent.answer import FigureOut
from agent.settings import Settings
from agent.toolbox.base import Arguments, Report, Tool, description_of
from agent.toolbox.offers import (
    InstanceOut,
    PriceOut,
    citations_of,
    figures_of,
    instance_out,
    price_out,
)
from agent.toolbox.ranges import figures_out
from tools.errors import UnknownInstanceError


class BillingArguments(Arguments):
    """A type and how much of a month it works."""

    instance: str = Field(description="Type or family name in any spelling")
    provider: str | None = None
    region: str | None = None
    gpu_count: int | None = Field(None, ge=1, description="Cards, where a family is named")
    hours_per_month: float = Field(730.0, gt=0, le=744, description="730 is round the clock")
    spot_overhead: float = Field(0.0, ge=0, description="Extra share of time on spot")


class BillingReport(Report):
    """What a month costs by each billing; null = no price known."""

    instance: InstanceOut
    hours_per_month: float
    monthly: dict[str, Decimal]
    currency: str | None
    cheapest: str | None
    subscription: PriceOut | None
    subscription_per_month: Decimal | None
    break_even_low: float | None
    """Hours a month from which a subscription pays, at the highest price on demand."""
    break_even_high: float | None
    """The same at the lowest."""
    spot_break_even_overhead: float | None

    def summary(self) -> str:
        """The cheapest billing."""
        return f"cheapest: {self.cheapest or 'not known'}"


def build(settings: Settings) -> Tool[BillingArguments]:
    """The tool; it depends on no setting."""
    return Tool(
        name="compare_billing",
        description=description_of("compare_billing"),
        arguments=BillingArguments,
        report=BillingReport,
        function=compare,
    )


def compare(arguments: BillingArguments) -> BillingReport:
    """Money of a month by billing, for the smallest type with a price that the name stands for.

    Raises:
        UnknownInstanceError: With the nearest types.
        BadQuantityError: If the region is not known.
    """
    from tools.catalog import compare_billing, find_instance, month_of

    named = find_instance(arguments.instance, arguments.provider)
    offers = named.offers or tuple(o for one in named.families for o in one.offers)
    whole = [o for o in offers if arguments.gpu_count in (None, o.gpu_count)]
    if not named.exists or not whole:
        raise UnknownInstanceError(
            arguments.instance, candidates=tuple(o.instance_type for o in named.nearest)
        )
    all_found = [
        compare_billing(
            offer,
            hours_per_month=arguments.hours_per_month,
            region=arguments.region,
            spot_overhead=arguments.spot_overhead,
        )
        for offer in whole
    ]
    found = max(all_found, key=lambda f: len(f.monthly))
    rent = found.subscription
    row = instance_out(found.offer, arguments.region)
    low, high = found.break_even_hours or (None, None)
    return BillingReport(
        figures=figures_out(found.figures()) + figures_of((row,)) + _points(low, high),
        citations=citations_of((found.offer,)),
        instance=row,
        hours_per_month=arguments.hours_per_month,
        monthly=found.monthly,
        currency=found.currency,
        cheapest=found.cheapest,
        subscription=None if rent is None else price_out(rent),
        subscription_per_month=None if rent is None else month_of(rent),
        break_even_low=low,
        break_even_high=high,
        spot_break_even_overhead=found.spot_break_even_overhead,
    )


def _points(*hours: float | None) -> tuple[FigureOut, ...]:
    formula = "price of a month / price of an hour on demand"
    return tuple(
        FigureOut(name="break-even hours", value=value, unit="h", formula=formula)
        for value in hours
        if value is not None
    )
