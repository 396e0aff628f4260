"""Money as a product: price, hours, machines, runs, discount; on demand beside spot."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import NamedTuple

from agent.answer import Answer
from agent.answering.money.sum_words import (
    HOURS_OF_MONTH,
    are_card_hours,
    is_after_discount,
    is_month,
    is_per_card,
    is_versus,
    price_said,
    with_days,
    with_minutes,
)
from agent.answering.plan import Call, Context, Plan
from agent.answering.renting.renting import default_region
from agent.answering.telling.draft import DETAIL, HEAD, Draft
from agent.answering.telling.machines import short_line
from agent.answering.telling.numbers import money
from agent.request import Money, Request
from agent.toolbox import ToolResult
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.offers import InstanceOut, PriceOut, SpotOut

_INTENTS = ("cost_estimate", "spot_checkpoint", "catalog_lookup", "time_estimate",
            "recommend_instance")  # fmt: skip
_SMALLER = re.compile(
    r"(?:single|one|1)[- ](?:gpu|card)|smaller (?:size|type|one|sibling)|next size down"
    r"|half the size|单卡|单张|一张卡|小一[号点档]|更小的?(?:规格|型号)|小规格|少一半",
    re.IGNORECASE,
)
_SHORT = 60
"""Characters of a question that leans on the turn before."""
_REMEMBERED = 3
"""Turns back to which "it" reaches."""
_RENT = re.compile(r"包月|包年|monthly (?:plan|rent)|reserved|subscription", re.IGNORECASE)
"""Words for renting by the month."""
Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], Answer]


class _Factor(NamedTuple):
    """One factor of a sum, as it is told."""

    key: str
    value: float
    told: str


def applies(request: Request, context: Context) -> bool:
    """True for a sum whose factors are all given or stand in the catalog."""
    request = with_days(with_minutes(request))
    slots = request.slots
    if request.intent not in _INTENTS or slots.budget is not None or slots.step_s is not None:
        return False
    if sibling_of(request, context) is not None:
        return True
    if slots.samples is not None or slots.tokens is not None:
        return False
    price = price_said(request)
    if price is not None and price.per == "hour" and slots.hours is not None:
        return True
    if len(slots.instances or ()) > 1 or machine_meant(request, context) is None:
        return False
    versus = is_versus(request)
    if slots.billing == "spot" and not versus:
        return False
    is_span = request.intent == "catalog_lookup" and slots.hours is not None
    is_money = request.intent == "cost_estimate" or versus or slots.runs is not None or is_span
    return is_money and (slots.hours is not None or is_month(request))


def compose(request: Request, context: Context) -> Plan:
    """The product, each factor told."""
    request = with_days(with_minutes(request))
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    slots = request.slots
    price = price_said(request)
    before = sibling_of(request, context)
    if before is not None:
        return (yield from _sibling(draft, before))
    if price is not None and price.per == "hour" and slots.hours is not None:
        cards = yield from _cards_rented(draft, context)
        return _of_price(draft, price, cards)
    return (yield from _of_instance(draft, machine_meant(request, context)))


def machine_meant(request: Request, context: Context) -> str | None:
    """The type that is named, or that was spoken of when a month of "it" is asked for."""
    slots = request.slots
    if slots.instance is not None:
        return slots.instance
    names_other = slots.gpu is not None and "gpu" not in request.inherited
    if names_other or not is_month(request) or len(request.search_query) > _SHORT:
        return None
    recent = reversed(context.earlier[-_REMEMBERED:])
    return next((r.slots.instance for r in recent if r.slots.instance is not None), None)


def sibling_of(request: Request, context: Context) -> Request | None:
    """The turn before, where its instance and hours are meant with fewer cards."""
    if not context.earlier or _SMALLER.search(request.search_query) is None:
        return None
    if request.slots.has_model:
        return None
    last = context.earlier[-1]
    is_named = request.slots.instance not in (None, last.slots.instance)
    is_sum = last.intent == "cost_estimate" and last.slots.instance is not None
    return last if is_sum and not is_named and len(request.search_query) <= _SHORT else None


def _factors(
    draft: Draft, hours: float, *, month: bool = False, of_machine: bool = False
) -> list[_Factor]:
    """Everything that multiplies a price an hour; the price of a machine holds all its cards."""
    slots = draft.request.slots
    raw = [("month" if month else "hours", hours)]
    machines = slots.instance_count or (slots.nodes if slots.instance is not None else None)
    if machines:
        raw.append(("machines", machines))
    is_each = is_per_card(draft.request) and not are_card_hours(draft.request)
    if slots.gpu_count and slots.gpu_count > 1 and is_each and not of_machine:
        raw.append(("cards", slots.gpu_count))
    from agent.answering.money.cost import is_per_epoch

    if slots.runs:
        raw.append(("runs", slots.runs))
    if slots.epochs and slots.epochs > 1 and is_per_epoch(draft.request):
        raw.append(("epochs", slots.epochs))
    if slots.discount and 0 < slots.discount < 1 and not is_after_discount(draft.request):
        raw.append(("discount", slots.discount))
    return [_Factor(key, value, draft.phrase(f"sums.{key}", value=f"{value:g}"))
            for key, value in raw]  # fmt: skip


def _product(factors: list[_Factor]) -> float:
    total = 1.0
    for factor in factors:
        total *= factor.value
    return total


def _record(draft: Draft, factors: list[_Factor], price: float, currency: str) -> float:
    """Notes every factor and the cost as figures; gives the cost."""
    for factor in factors:
        unit = "h" if factor.key in ("hours", "month") else "1"
        source = "rule:hours-of-a-month" if factor.key == "month" else f"user:{factor.key}"
        draft.figure(factor.key, factor.value, unit, sources=(source,))
    cost = price * _product(factors)
    formula = " * ".join(["price", *(f.key for f in factors)])
    draft.figure("cost", round(cost, 4), currency, formula=formula)
    return cost


def _say_sum(draft: Draft, factors: list[_Factor], price: float, currency: str) -> None:
    cost = _record(draft, factors, price, currency)
    per = "/小时" if draft.language == "zh" else "/h"
    told = [money(price, currency, draft.language, per=per), *(f.told for f in factors)]
    draft.say("sums.head", cost=money(cost, currency, draft.language), factors=" × ".join(told),
              importance=HEAD)  # fmt: skip
    runs = next((f.value for f in factors if f.key == "runs"), 0)
    if runs > 1:
        hours = factors[0].value * runs
        draft.figure("hours_of_all", hours, "h", formula="hours * runs")
        draft.figure("cost_of_one", round(cost / runs, 4), currency, formula="cost / runs")
        draft.say("sums.each_run", each=money(cost / runs, currency, draft.language),
                  runs=f"{runs:g}", hours=f"{hours:g}")  # fmt: skip
    discount = next((f.value for f in factors if f.key == "discount"), None)
    if discount:
        draft.figure("cost_before", round(cost / discount, 4), currency, formula="cost / discount")
        draft.say("sums.before_discount", full=money(cost / discount, currency, draft.language))
    elif is_after_discount(draft.request):
        _say_saved(draft, cost, price, currency)


def _say_saved(draft: Draft, cost: float, price: float, currency: str) -> None:
    """What the same hours cost at the list price, where the price said is the one after it."""
    discount = draft.request.slots.discount
    if not discount or not 0 < discount < 1:
        return
    full = cost / discount
    per = "/小时" if draft.language == "zh" else "/h"
    draft.figure("discount", discount, "1", sources=("user:discount",))
    draft.figure("list_price", price / discount, f"{currency}/h", formula="price / discount")
    draft.figure("cost_before", round(full, 4), currency, formula="cost / discount")
    draft.figure("saved", round(full - cost, 4), currency, formula="cost_before - cost")
    draft.say("sums.saved", full=money(full, currency, draft.language),
              list_price=money(price / discount, currency, draft.language, per=per),
              discount=f"{discount:g}", saved=money(full - cost, currency, draft.language),
              importance=HEAD)  # fmt: skip


def _cards_rented(
    draft: Draft, context: Context
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], int]:
    """Cards of the machine whose price was said, where the hours are those of its cards; else 1."""
    slots = draft.request.slots
    if not are_card_hours(draft.request, context.earlier) or is_per_card(draft.request):
        return 1
    if slots.instance is None:
        return slots.gpu_count or 1
    results = yield (_look_up(draft, slots.instance),)
    draft.use(*results)
    row = _named(results[0].report)
    return (row.gpu_count if row is not None else None) or slots.gpu_count or 1


def _of_price(draft: Draft, price: Money, cards: int = 1) -> Answer:
    """A price that was said; of hours of cards, the machine's own are told first."""
    currency = price.currency or ("CNY" if draft.language == "zh" else "USD")
    hours = draft.request.slots.hours
    assert hours is not None
    if cards > 1:
        draft.figure("card_hours", hours, "h", sources=("user:hours",))
        draft.figure("cards", cards, "1", formula="cards of the machine")
        draft.figure("machine_hours", hours / cards, "h", formula="card_hours / cards")
        draft.say("sums.card_hours", hours=f"{hours:g}", cards=cards, each=f"{hours / cards:g}")
        hours = hours / cards
    draft.figure("price", price.amount, f"{currency}/h", sources=("user:price",))
    _say_sum(draft, _factors(draft, hours), price.amount, currency)
    if draft.request.slots.billing == "spot":
        draft.say("sums.versus_mind")
    draft.say("cost.excludes", importance=DETAIL)
    return draft.finish("not_applicable", intent="cost_estimate")


def _of_instance(draft: Draft, name: str | None) -> Steps:
    """A type's price in the catalog, on demand and, where asked, beside spot."""
    slots = draft.request.slots
    results = yield (_look_up(draft, name),)
    draft.use(*results)
    report = results[0].report
    row = _named(report)
    month = is_month(draft.request)
    hours = HOURS_OF_MONTH if month else slots.hours or HOURS_OF_MONTH
    if row is None:
        from agent.answering.money.cost import machine

        return (yield from machine(draft))
    draft.offer([row.as_offer()])
    factors = _factors(draft, hours, month=month, of_machine=True)
    undated = _undated(row)
    if row.price is None and undated is not None:
        _say_sum(draft, factors, float(undated.amount), undated.currency)
        _say_each_card(draft, row, undated)
        draft.say("sums.undated")
        draft.add(short_line(draft, row))
        draft.say("cost.excludes", importance=DETAIL)
        return draft.finish("not_applicable", intent="cost_estimate")
    if row.price is None:
        times = "".join(draft.phrase("sums.times", value=f.told) for f in factors[1:])
        draft.figure("hours", hours, "h", sources=("user:hours",))
        draft.say("sums.no_price", name=row.instance_type, hours=f"{hours:g}", times=times,
                  importance=HEAD)  # fmt: skip
        draft.add(short_line(draft, row))
        return draft.finish("not_applicable", intent="cost_estimate")
    if slots.billing == "subscription" or _RENT.search(draft.request.search_query):
        from agent.answering.money.cost import say_subscription

        say_subscription(draft, row)
    if is_versus(draft.request):
        row = yield from _in_region(draft, row, row.price.region)
    price, spot = row.price, row.spot
    assert price is not None, "a region that has a price keeps it"
    if is_versus(draft.request) and spot is not None and spot.currency == price.currency:
        _say_versus(draft, row, spot, factors)
    else:
        _say_sum(draft, factors, float(price.amount), price.currency)
        _say_each_card(draft, row, price)
    draft.add(short_line(draft, row))
    draft.say("cost.excludes", importance=DETAIL)
    return draft.finish("not_applicable", intent="cost_estimate")


def _undated(row: InstanceOut) -> PriceOut | None:
    """The hourly on-demand price without a date: a sum can be made with it, marked as such."""
    return next((p for p in row.listed if p.per == "hour" and p.billing == "on_demand"), None)


def _say_each_card(draft: Draft, row: InstanceOut, price: PriceOut) -> None:
    """The price of one card's hour, where a machine has several."""
    cards = row.gpu_count or 0
    if cards < 2 or price.per != "hour":
        return
    each = float(price.amount) / cards
    per = "/小时" if draft.language == "zh" else "/h"
    draft.figure("cards_of_a_machine", cards, "1", sources=(row.source,))
    draft.figure("price_of_a_card", round(each, 4), f"{price.currency}/h", formula="price / cards")
    draft.say("sums.each_card", cards=cards,
              each=money(each, price.currency, draft.language, per=per))  # fmt: skip


def _in_region(
    draft: Draft, row: InstanceOut, region: str | None
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], InstanceOut]:
    """The type in the region of its price, so that spot is compared at one place."""
    again = yield (_look_up(draft, row.instance_type, region),)
    draft.use(*again)
    found = _named(again[0].report)
    return found if found is not None and found.price is not None else row


def _look_up(draft: Draft, name: str | None, region: str | None = None) -> Call:
    slots = draft.request.slots
    said = {"name": name, "provider": slots.provider, "limit": 50,
            "region": region or default_region(draft)}  # fmt: skip
    return Call("find_instances", {k: v for k, v in said.items() if v is not None})


def _named(report: object) -> InstanceOut | None:
    """The type that was named; of a family the cheapest whole one with a price."""
    if not isinstance(report, InstancesReport) or not report.instances:
        return None
    if report.kind == "type":
        return report.instances[0]
    rows = [r for r in report.instances if r.price is not None and r.category == "gpu"]
    return min(rows, key=lambda r: r.price.amount if r.price else 0, default=None)


def _say_versus(draft: Draft, row: InstanceOut, spot: SpotOut, factors: list[_Factor]) -> None:
    """Both totals, and what spot saves."""
    assert row.price is not None
    currency, times = row.price.currency, _product(factors)
    price = float(row.price.amount)
    full = _record(draft, factors, price, currency)

    def told(amount: float, name: str, formula: str) -> str:
        draft.figure(name, round(amount, 4), currency, formula=formula)
        return money(amount, currency, draft.language)

    values = {"hours": f"{factors[0].value:g}",
              "full": money(full, currency, draft.language)}  # fmt: skip
    if spot.likely is None:
        draft.say("sums.versus_range", importance=HEAD, **values,
                  low=told(float(spot.low) * times, "spot_low", "lowest spot price * hours"),
                  high=told(float(spot.high) * times, "spot_high", "highest spot price * hours"),
                  )  # fmt: skip
    else:
        likely = float(spot.likely)
        share = 1 - likely / price
        per = "/小时" if draft.language == "zh" else "/h"
        draft.figure("saved_share", round(share, 4), "1", formula="1 - spot / on demand")
        draft.say("sums.versus", importance=HEAD, **values,
                  spot=told(likely * times, "spot_cost", "spot price * hours"),
                  saved=told(full - likely * times, "saved", "on demand - spot"),
                  share=f"{share * 100:.0f}%",
                  spot_price=money(likely, currency, draft.language, per=per),
                  price=money(price, currency, draft.language, per=per))  # fmt: skip
    draft.say("sums.versus_mind")


def _sibling(draft: Draft, before: Request) -> Steps:
    """The type of the same family with fewer cards, for the same hours."""
    draft.request = _on_terms_of(draft.request, before)
    slots = draft.request.slots
    looked = yield (_look_up(draft, before.slots.instance),)
    draft.use(*looked)
    row = _named(looked[0].report)
    if row is None:
        from agent.answering.money.cost import machine

        return (yield from machine(draft))
    found = yield (_look_up(draft, row.family),)
    draft.use(*found)
    wanted = slots.gpu_count if (slots.gpu_count or 0) < (row.gpu_count or 0) else 1
    smaller = _smaller(found[0].report, row, wanted or 1)
    hours = slots.hours or HOURS_OF_MONTH
    if smaller is None or smaller.price is None:
        draft.say("cost.none_dated", name=row.family, importance=HEAD)
        return draft.finish("not_applicable", intent="cost_estimate")
    factors = _factors(draft, hours, month=before.slots.hours is None, of_machine=True)
    cost = _record(draft, factors, float(smaller.price.amount), smaller.price.currency)
    draft.offer([smaller.as_offer()])
    draft.say("sums.sibling", hours=f"{hours:g}", cards=smaller.gpu_count,
              cost=money(cost, smaller.price.currency, draft.language),
              line=short_line(draft, smaller), importance=HEAD)  # fmt: skip
    if row.price is not None:
        was = float(row.price.amount) * _product(factors)
        draft.figure("cost_before", round(was, 4), row.price.currency, formula="price * hours")
        draft.say("sums.sibling_before", instance=row.instance_type, cards=row.gpu_count,
                  cost=money(was, row.price.currency, draft.language))  # fmt: skip
    draft.say("cost.excludes", importance=DETAIL)
    return draft.finish("not_applicable", intent="cost_estimate",
                        slots={"instance": smaller.instance_type})  # fmt: skip


def _on_terms_of(request: Request, before: Request) -> Request:
    """The request with the hours, cloud and count of the turn before where it says none."""
    kept = ("hours", "provider", "region", "instance_count", "runs", "discount")
    filled = {
        slot: getattr(before.slots, slot) for slot in kept if getattr(request.slots, slot) is None
    }
    return request.model_copy(update={"slots": request.slots.model_copy(update=filled)})


def _smaller(report: object, row: InstanceOut, cards: int) -> InstanceOut | None:
    """The cheapest type of a family with so many whole cards."""
    if not isinstance(report, InstancesReport):
        return None
    rows = [
        r for r in report.instances
        if r.gpu_count == cards and r.category == "gpu" and r.price is not None
        and r.instance_type != row.instance_type and r.gpu == row.gpu
    ]  # fmt: skip
    return min(rows, key=lambda r: r.price.amount if r.price else 0, default=None)
