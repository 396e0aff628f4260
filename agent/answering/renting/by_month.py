"""A run that stays up all month: rented by the month or on demand, and within what budget."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import NamedTuple

from agent.answering.money.billing import hours_of_month
from agent.answering.money.rent_budget import period_of
from agent.answering.money.spans import span_of
from agent.answering.plan import Call, Context, Plan
from agent.answering.renting import rent
from agent.answering.renting.renting import default_region
from agent.answering.telling.assumed import say_assumptions
from agent.answering.telling.draft import DETAIL, HEAD, Draft
from agent.answering.telling.machines import cards_text, price_text, provider_name
from agent.answering.telling.numbers import gib, money, usual_currency
from agent.answering.telling.run_words import memory_arguments, memory_range, run_text
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.memory import MemoryReport
from agent.toolbox.offers import PriceOut
from agent.toolbox.rent import RecommendedOut, RecommendReport
from tools.units import HOURS_PER_MONTH, format_significant

_INTENTS = ("cost_estimate", "recommend_instance", "serving_plan", "fit_check", "catalog_lookup")
_MOST = 20
"""Types that are looked through for one with a price of a month."""
_ONE_JOB = ("samples", "tokens", "steps", "epochs", "instance", "price", "discount")
"""Slots of a job that ends, or of a machine that is chosen."""


class Rented(NamedTuple):
    """A type that holds the run, with what a month of it costs by subscription."""

    offer: RecommendedOut
    price: PriceOut


def applies(request: Request, context: Context) -> bool:
    """True for a model served all month, with a subscription or a month's budget named."""
    slots = request.slots
    if request.intent not in _INTENTS or not slots.has_model or slots.task == "train":
        return False
    if any(getattr(slots, name) is not None for name in _ONE_JOB) or slots.billing == "spot":
        return False
    has_budget = slots.budget is not None and period_of(request) == "month"
    return (
        slots.billing == "subscription"
        or request.says("billing.compared")
        or (has_budget and _is_all_month(request))
    )


def _is_all_month(request: Request) -> bool:
    span = span_of(request)
    return span is not None and span.key == "month"


def _hours(request: Request) -> float:
    """Hours of use a month: those said, else all of them."""
    said = None if _is_all_month(request) else hours_of_month(request)
    return said or float(HOURS_PER_MONTH)


def compose(request: Request, context: Context) -> Plan:
    """The cheaper of the two billings first, then the budget, the need and other places."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    need, there, anywhere = yield from _found(draft)
    rented = _cheapest_rented((*there, *anywhere))
    if need is None or rented is None or _is_no_help(request, rented):
        return (yield from rent.compose(request, context))
    _say_choice(draft, rented, _on_demand(rented, anywhere))
    offer = rented.offer
    draft.say("by_month.need", what=run_text(draft, need), need=gib(offer.need_bytes),
              usable=gib(offer.usable_bytes))  # fmt: skip
    if offer.need_high_bytes > offer.usable_bytes:
        draft.say("rent.upper_bound", high=gib(offer.need_high_bytes))
    _say_place(draft, rented, there)
    draft.offer([offer.instance.as_offer()])
    draft.say("by_month.kind", importance=DETAIL)
    say_assumptions(draft, need)
    return draft.finish("depends", memory=memory_range(need), intent="cost_estimate")


def _is_no_help(request: Request, rented: Rented) -> bool:
    """Whether a budget that was said alone, with no word of billing, does not pay for the month."""
    if request.slots.billing == "subscription" or request.says("billing.compared"):
        return False
    budget = request.slots.budget
    return budget is None or budget.amount < float(rented.price.per_month)


def _found(
    draft: Draft,
) -> Generator[
    tuple[Call, ...],
    tuple[ToolResult, ...],
    tuple[MemoryReport | None, Sequence[RecommendedOut], Sequence[RecommendedOut]],
]:
    """The need, and what holds it in the region asked for and anywhere."""
    slots = draft.request.slots
    plain = Draft(draft.request.model_copy(
        update={"slots": slots.model_copy(update={"budget": None, "hours": None})}
    ))  # fmt: skip
    search = rent.search_call(plain, None)
    asked = {**search.arguments, "limit": _MOST, "gpu": slots.gpu if slots.has_card else None}
    wide = {k: v for k, v in asked.items() if k != "region"}
    if slots.region is not None and slots.region.startswith("cn"):
        wide["region"] = "cn"
    results = yield (
        Call("estimate_memory", memory_arguments(slots, method=None)),
        Call("recommend", {k: v for k, v in asked.items() if v is not None}),
        Call("recommend", {k: v for k, v in wide.items() if v is not None}),
    )
    draft.use(*results)
    need = results[0].report if isinstance(results[0].report, MemoryReport) else None
    there, anywhere = (
        r.report.offers if isinstance(r.report, RecommendReport) else () for r in results[1:]
    )
    return need, there, anywhere


def _cheapest_rented(offers: Sequence[RecommendedOut]) -> Rented | None:
    """The offer whose subscription is the cheapest a month."""
    found = [
        Rented(offer, price)
        for offer in offers
        for price in offer.instance.listed
        if price.billing == "subscription"
    ]
    return min(found, key=lambda r: r.price.per_month, default=None)


def _on_demand(rented: Rented, anywhere: Sequence[RecommendedOut]) -> PriceOut | None:
    """The price of an hour of the same type."""
    name = rented.offer.instance.instance_type
    rows = [rented.offer, *(o for o in anywhere if o.instance.instance_type == name)]
    prices = [o.instance.price for o in rows]
    return next((p for p in prices if p is not None and p.per == "hour"), None)


def _say_choice(draft: Draft, rented: Rented, hourly: PriceOut | None) -> None:
    """Which billing costs less for the hours of use, from when, and whether the budget pays."""
    row, price = rented.offer.instance, rented.price
    hours = _hours(draft.request)
    month, currency = float(price.per_month), price.currency
    name = f"{provider_name(draft, row.provider)} `{row.instance_type}`"
    values = {
        "instance": name + draft.phrase("machines.in_brackets", text=cards_text(draft, row)),
        "rent": money(month, currency, draft.language),
    }
    draft.figure("month by subscription", round(month, 2), currency, formula="price * 730 h")
    if hourly is None or hourly.currency != currency:
        draft.say("by_month.only_rent", importance=HEAD, **values)
        _say_budget(draft, month, currency)
        return
    used = float(hourly.amount) * hours
    limit = month / float(hourly.amount)
    draft.figure("hours of use", hours, "h", sources=("rule:hours-of-a-month",))
    draft.figure("on demand for the hours", round(used, 2), currency, formula="price * hours")
    draft.figure("break-even hours", limit, "h", formula="month / price of an hour")
    draft.say("by_month.rent" if month <= used else "by_month.on_demand", hours=f"{hours:.0f}",
              used=money(used, currency, draft.language), importance=HEAD, **values)  # fmt: skip
    _say_budget(draft, min(month, used), currency)
    draft.say("by_month.limit", limit=format_significant(limit, 3), importance=HEAD)
    draft.add(price_text(draft, hourly))


def _say_budget(draft: Draft, cost: float, currency: str) -> None:
    """Whether a month's budget pays for it."""
    budget = draft.request.slots.budget
    if budget is None or period_of(draft.request) not in ("month", "total"):
        return
    if (budget.currency or usual_currency(draft.language)) != currency:
        return
    draft.figure("budget", budget.amount, currency, sources=("user:budget",))
    draft.figure("left", round(abs(budget.amount - cost), 2), currency, formula="budget - cost")
    key = "by_month.within" if cost <= budget.amount else "by_month.over"
    draft.say(key, budget=money(budget.amount, currency, draft.language),
              left=money(abs(budget.amount - cost), currency, draft.language),
              importance=HEAD)  # fmt: skip


def _say_place(draft: Draft, rented: Rented, there: Sequence[RecommendedOut]) -> None:
    """What is not on record of the region asked for, and what is on demand there."""
    region, row = draft.request.slots.region, rented.offer.instance
    price = rented.price
    draft.figure("price by subscription", price.amount, f"{price.currency}/{price.per}",
                 sources=(price.source,))  # fmt: skip
    draft.add(price_text(draft, price))
    if region is None or default_region(draft) is None or region in row.regions:
        return
    draft.say("by_month.not_there", region=region, type=row.instance_type)
    priced = next((o for o in there if o.instance.price is not None), None)
    if priced is not None:
        draft.say("by_month.there", line=rent.offer_line(draft, priced),
                  month=draft.about_money("month there", priced.cost_per_month, priced.currency,
                                          formula="price * 730 h"))  # fmt: skip
        draft.offer([priced.instance.as_offer()])
