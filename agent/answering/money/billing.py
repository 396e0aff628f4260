"""On demand, spot or a subscription: what a month of each costs, and from when which pays."""

from __future__ import annotations

from collections.abc import Generator
from decimal import Decimal

from agent.answer import Answer, CitationOut
from agent.answering.plan import Call, Context, Plan
from agent.answering.renting.renting import default_provider, default_region
from agent.answering.telling.draft import BODY, DETAIL, HEAD, Draft
from agent.answering.telling.machines import cards_text, price_text, say_price_sources
from agent.answering.telling.numbers import money
from agent.answering.telling.run_words import joined
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.billing import BillingReport
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.offers import InstanceOut, PriceOut, SpotOut
from tools.units import HOURS_PER_MONTH, format_significant

_DAYS_OF_MONTH = HOURS_PER_MONTH / 24
_DISCOUNTS = (0.2, 0.4, 0.6)
"""Savings of a subscription at which the break-even is told where its price is not known."""
_COMPARED = 6
"""Types of a card that are looked through for one with a subscription."""
Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], Answer]


def applies(request: Request, context: Context) -> bool:
    """True for ways of billing set against each other, or a subscription's price, of a machine."""
    slots = request.slots
    is_named = slots.instance is not None or (slots.has_card and not slots.has_model)
    if not is_named or slots.budget is not None or slots.price is not None:
        return False
    if slots.discount and not _is_of_subscription(request):
        return False
    if request.says("billing.compared"):
        return request.intent in ("cost_estimate", "catalog_lookup", "spot_checkpoint") or (
            request.intent == "recommend_instance" and slots.instance is not None
        )
    return request.says("billing.asked") and slots.billing == "subscription"


def compose(request: Request, context: Context) -> Plan:
    """The break-even first, then the months, spot, and where the prices are from."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    report = yield from _compared(draft)
    if report is None:
        return draft.finish("not_applicable", intent="cost_estimate")
    row = report.instance
    if not report.monthly:
        draft.say("billing.no_price", type=row.instance_type, importance=HEAD)
    elif request.slots.discount and row.price is not None and row.price.per == "hour":
        say_discounted(draft, row, row.price, request.slots.discount)
    else:
        _say_subscription(draft, report)
        _say_months(draft, report)
    if row.spot is not None:
        _say_spot(draft, report, row.spot)
    if row.price is not None or row.listed:
        say_price_sources(draft, [row])
    draft.offer([row.as_offer()])
    draft.say("cost.excludes", importance=DETAIL)
    return draft.finish("depends", intent="cost_estimate")


def _is_of_subscription(request: Request) -> bool:
    """Whether the discount that was said is that of a month's or a year's rent."""
    is_spot = request.slots.billing == "spot" or request.says("money.taken_away")
    return request.says("billing.compared") and not is_spot


def say_discounted(draft: Draft, row: InstanceOut, price: PriceOut, share: float) -> None:
    """A subscription at a share of the price on demand: from how many hours of a month it pays."""
    hours = hours_of_month(draft.request) or float(HOURS_PER_MONTH)
    amount, currency = float(price.amount), price.currency
    full, limit = float(HOURS_PER_MONTH), HOURS_PER_MONTH * share
    used, rent, daily = amount * hours, amount * full * share, limit / float(_DAYS_OF_MONTH)
    draft.figure("discount", round(share * 100, 1), "%", sources=("user:discount",))
    for name, value, unit, formula in (
        ("hours of use", hours, "h", "hours a day * 30.4"),
        ("on demand for the hours", round(used, 2), currency, "price * hours"),
        ("month by subscription", round(rent, 2), currency, "price * 730 h * discount"),
        ("break-even hours", limit, "h", "730 h * discount"),
        ("hours a day", daily, "h", "hours a month / 30.4"),
        ("difference", round(abs(rent - used), 2), currency, "subscription - on demand"),
    ):
        draft.figure(name, value, unit, formula=formula)
    is_rent = rent < used
    draft.say(
        "billing.discounted_rent" if is_rent else "billing.discounted_hours",
        hours=f"{hours:.0f}",
        used=money(used, currency, draft.language),
        rent=money(rent, currency, draft.language),
        share=f"{round(share * 100, 1):g}%",
        saved=money(abs(rent - used), currency, draft.language),
        importance=HEAD,
    )
    draft.say("billing.discounted_limit", limit=f"{limit:.0f}", daily=format_significant(daily, 2),
              importance=HEAD)  # fmt: skip
    draft.add(_type(row) + draft.phrase("machines.in_brackets", text=cards_text(draft, row))
              + " " + price_text(draft, price))  # fmt: skip


def hours_of_month(request: Request) -> float | None:
    """Hours of use a month, where they were said."""
    daily = next(iter(request.amounts.get("billing.hours_a_day", ())), None)
    if daily is None:
        daily = request.slots.hours_per_day
    monthly = next(iter(request.amounts.get("billing.hours_a_month", ())), None)
    if monthly is not None:
        return monthly
    if request.slots.days is not None and request.slots.hours is not None:
        return min(request.slots.hours, float(HOURS_PER_MONTH))
    if daily is not None:
        return min(daily * _DAYS_OF_MONTH, float(HOURS_PER_MONTH))
    hours = request.slots.hours
    return hours if hours is not None and hours <= HOURS_PER_MONTH else None


def _compared(
    draft: Draft,
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], BillingReport | None]:
    """The comparison of the type named; of a card, of the first type with a subscription."""
    slots = draft.request.slots
    names = [slots.instance] if slots.instance is not None else (yield from _carriers(draft))
    hours = hours_of_month(draft.request)
    shared = {
        "hours_per_month": hours or float(HOURS_PER_MONTH),
        "region": default_region(draft),
        "provider": slots.provider,
    }
    count = slots.gpu_count if slots.instance is not None else None
    calls = tuple(
        Call("compare_billing", {"instance": name, "gpu_count": count, **shared}) for name in names
    )
    if not calls:
        draft.say("billing.no_price", type=slots.instance or slots.gpu, importance=HEAD)
        return None
    results = yield calls
    found = [(r, r.report) for r in results if isinstance(r.report, BillingReport)]
    if not found:
        draft.add(results[0].hint or "", importance=HEAD)
        return None
    result, report = max(found, key=lambda pair: (pair[1].subscription is not None,
                                                  len(pair[1].monthly)))  # fmt: skip
    draft.use(result)
    draft.figure("hours of use", report.hours_per_month, "h", sources=("user:hours",))
    return report


def _carriers(
    draft: Draft,
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], list[str]]:
    """Names of types with the card, those with a subscription first."""
    slots = draft.request.slots
    arguments = {
        "gpu": slots.gpu, "any_variant": True, "min_gpu_count": slots.gpu_count or 1,
        "max_gpu_count": slots.gpu_count or 1, "provider": default_provider(draft),
        "region": default_region(draft), "limit": 50,
    }  # fmt: skip
    (result,) = yield (Call("find_instances", arguments),)
    report = result.report
    rows = report.instances if isinstance(report, InstancesReport) else ()
    priced = [row for row in rows if row.price is not None or row.listed]
    rented = sorted(
        priced, key=lambda row: not any(p.billing == "subscription" for p in row.listed)
    )
    return [row.instance_type for row in rented[:_COMPARED]]


def _type(row: InstanceOut) -> str:
    return f"`{row.instance_type}`"


def _say_subscription(draft: Draft, report: BillingReport) -> None:
    """From how many hours a subscription pays, or what its price would have to be."""
    rent, month = report.subscription, report.subscription_per_month
    if rent is None or month is None:
        _say_unknown(draft, report)
        return
    told = money(month, rent.currency, draft.language)
    if report.break_even_high is None or report.break_even_low is None:
        hour = money(month / HOURS_PER_MONTH, rent.currency, draft.language)
        draft.figure("hour of the month", month / HOURS_PER_MONTH, f"{rent.currency}/h",
                     formula="price of a month / 730 h")  # fmt: skip
        draft.say("billing.rent", month=told, hour=hour, type=_type(report.instance),
                  cards=cards_text(draft, report.instance), importance=HEAD)  # fmt: skip
        draft.say("billing.no_hour")
    elif report.break_even_low > HOURS_PER_MONTH:
        _say_never(draft, report, told)
    else:
        _say_break_even(draft, report, told)
    key = "post_paid" if rent.per == "month" and "post-paid" in (rent.note or "") else "upfront"
    if rent.note:
        draft.say(f"billing.{key}")
    draft.add(price_text(draft, rent) + draft.phrase("billing.machine", line=""), importance=BODY)


def _say_never(draft: Draft, report: BillingReport, told: str) -> None:
    price = report.instance.price
    assert price is not None
    used = price.amount * HOURS_PER_MONTH
    draft.figure("month on demand", used, price.currency, formula="price * 730 h")
    draft.say("billing.never", used=money(used, price.currency, draft.language), rent=told,
              importance=HEAD)  # fmt: skip


def _say_break_even(draft: Draft, report: BillingReport, told: str) -> None:
    """The hours from which a subscription pays, as a range where regions differ."""
    low, high = report.break_even_low, report.break_even_high
    price = report.instance.price
    assert low is not None
    assert high is not None
    assert price is not None
    ends = [f"{value:.0f}" for value in (low, min(high, HOURS_PER_MONTH))]
    daily = [value / _DAYS_OF_MONTH for value in (low, min(high, HOURS_PER_MONTH))]
    for value in daily:
        draft.figure("hours a day", value, "h", formula="hours a month / 30.4")
    days = [format_significant(value, 2) for value in daily]
    draft.say("billing.pays_from", hours=_range(ends), daily=_range(days), rent=told,
              hour=money(price.amount, price.currency, draft.language),
              importance=HEAD)  # fmt: skip
    rent = report.subscription
    if rent is not None and rent.priced_on != price.priced_on:
        words = [p.priced_on or draft.phrase("machines.no_date") for p in (price, rent)]
        draft.say("billing.different_days", days=joined(draft, words))


def _range(ends: list[str]) -> str:
    return ends[0] if ends[0] == ends[1] else f"{ends[0]}–{ends[1]}"


def _say_unknown(draft: Draft, report: BillingReport) -> None:
    """What a month would have to cost, and the break-even by discount."""
    from tools.catalog import hours_that_pay

    used, currency = report.monthly.get("on_demand"), report.currency
    if used is None or currency is None:
        return
    draft.say("billing.unknown", type=report.instance.instance_type,
              hours=f"{report.hours_per_month:.0f}",
              used=money(used, currency, draft.language), importance=HEAD)  # fmt: skip
    points = []
    for discount in _DISCOUNTS:
        hours = hours_that_pay(discount)
        daily = hours / _DAYS_OF_MONTH
        draft.figure("discount", discount * 100, "%", sources=("rule:example",))
        draft.figure("break-even hours", hours, "h", formula="730 h * (1 - discount)")
        draft.figure("hours a day", daily, "h", formula="hours a month / 30.4")
        points.append(draft.phrase("billing.point", off=f"{discount:.0%}", hours=f"{hours:.0f}",
                                   daily=format_significant(daily, 2)))  # fmt: skip
    draft.say("billing.discounts", points=joined(draft, points), importance=HEAD)


def _say_months(draft: Draft, report: BillingReport) -> None:
    """The month of each billing side by side, where more than one is known."""
    if report.cheapest is None or report.currency is None:
        if report.instance.price is not None:
            draft.add(price_text(draft, report.instance.price)
                      + draft.phrase("billing.machine", line=""), importance=BODY)  # fmt: skip
        return
    amounts = sorted(report.monthly.items(), key=lambda item: item[1])
    months = [
        draft.phrase(f"billing.month_{name}",
                     amount=money(amount, report.currency, draft.language))
        for name, amount in amounts
    ]  # fmt: skip
    draft.say("billing.cheapest", hours=f"{report.hours_per_month:.0f}",
              billing=draft.phrase(f"billing.name_{report.cheapest}"),
              months=joined(draft, months), importance=HEAD)  # fmt: skip
    if hours_of_month(draft.request) is None:
        draft.say("billing.hours_assumed")
    if report.instance.price is not None:
        draft.add(price_text(draft, report.instance.price)
                  + draft.phrase("billing.machine", line=""), importance=BODY)  # fmt: skip


def _say_spot(draft: Draft, report: BillingReport, spot: SpotOut) -> None:
    """Spot's price and the extra time at which it stops paying; a range where no more is known."""
    region = spot.region or draft.phrase("machines.no_region")
    if spot.likely is None:
        low, high = (money(x, spot.currency, draft.language) for x in (spot.low, spot.high))
        draft.say("billing.spot_range", low=low, high=high, region=region)
        return
    limit = report.spot_break_even_overhead
    if limit is None or spot.as_of is None:
        return
    draft.figure("spot stops paying", round(limit * 100), "%", formula="on demand / spot - 1")
    draft.cite(CitationOut(id=f"spot:{report.instance.instance_type}", title="spot price",
                           locator=f"{region}, {spot.as_of}"))  # fmt: skip
    draft.say("billing.spot_likely", price=money(Decimal(spot.likely), spot.currency,
                                                 draft.language),
              basis=draft.phrase(f"billing.basis_{spot.basis}"), region=region, date=spot.as_of,
              limit=f"{limit * 100:.0f}%")  # fmt: skip
