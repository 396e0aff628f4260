"""cost_estimate: what a job or a month costs, and whether a budget is enough."""

from __future__ import annotations

from collections.abc import Generator
from decimal import Decimal
from typing import Any

from agent.answer import Answer, Verdict
from agent.answering.concepts import concept
from agent.answering.money import spot
from agent.answering.money.recurring import say_recurring
from agent.answering.money.spans import Span, a_month, span_of
from agent.answering.money.type_price import undated_price
from agent.answering.plan import Call, Context, Plan
from agent.answering.renting import rent
from agent.answering.renting.renting import default_provider, default_region
from agent.answering.speed import times
from agent.answering.telling.draft import DETAIL, HEAD, Draft
from agent.answering.telling.machines import cards_text, price_text, provider_name, short_line
from agent.answering.telling.numbers import duration, hourly, money, usual_currency
from agent.request import Money, Request
from agent.toolbox import ToolResult
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.offers import InstanceOut, PriceOut
from agent.toolbox.rent import RecommendReport
from agent.toolbox.timing import TimeReport
from tools.units import HOURS_PER_MONTH, format_significant

Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], Answer]


def compose(request: Request, context: Context) -> Plan:
    """By what was given: a measured step, a budget for a card, a model, or a rule of billing."""
    draft = Draft(request)
    slots = request.slots
    if slots.step_s is not None:
        return (yield from _measured(draft))
    has_model = slots.has_model
    has_card = slots.has_card or slots.instance is not None
    has_work = slots.samples is not None or slots.tokens is not None
    if slots.billing == "spot" and has_card and (slots.hours or not has_model):
        return (yield from spot.compose(request, context))
    if has_model and has_card and has_work:
        return (yield from times.compose(request, context))
    if has_model and has_work and slots.task == "train" and slots.budget is not None:
        return (yield from _on_a_card_found(draft, context))
    if has_model:
        return (yield from rent.compose(request, context))
    if has_card or slots.budget is not None:
        return (yield from machine(draft))
    return (yield from concept.compose(request, context))


def _on_a_card_found(draft: Draft, context: Context) -> Steps:
    """A job and a sum without a machine: the cheapest type that holds it sets hours and cost."""
    slots = draft.request.slots
    unlimited = draft.request.model_copy(
        update={"slots": slots.model_copy(update={"budget": None,
                                                  "provider": default_provider(draft)})}
    )  # fmt: skip
    results = yield (rent.search_call(Draft(unlimited), slots.method, by_rate=True),)
    found = results[0].report
    if not isinstance(found, RecommendReport) or not found.offers:
        return (yield from rent.compose(draft.request, context))
    draft.use(*results)
    best = found.offers[0]
    row = best.instance
    draft.say("cost.on_a_card", line=short_line(draft, row), importance=HEAD)
    changed = {"gpu": row.gpu, "gpu_count": best.gpus_used, "provider": row.provider}
    draft.request = draft.request.model_copy(update={"slots": slots.model_copy(update=changed)})
    return (yield from times.training_time(draft))


def _measured(draft: Draft) -> Steps:
    """Hours and cost from a step time that was measured."""
    slots = draft.request.slots
    price = slots.first_price
    currency = (price and price.currency) or usual_currency(draft.language)
    results = yield (
        Call(
            "estimate_time_and_cost",
            {
                "step_s": slots.step_s,
                "steps": slots.steps,
                "samples": slots.samples,
                "epochs": slots.epochs or 1,
                "batch": slots.global_batch or slots.batch,
                "price_per_hour": price.amount if price else None,
                "currency": currency,
                "instances": slots.instance_count or 1,
            },
        ),
    )
    draft.use(*results)
    report = results[0].report
    if not isinstance(report, TimeReport) or report.hours is None:
        draft.add(results[0].hint or "", importance=HEAD)
        return draft.finish("depends")
    hours = duration(report.hours.value, draft.language)
    values = {"steps": report.steps, "step": f"{slots.step_s:g}", "hours": hours}
    if report.cost is None or price is None:
        draft.say("cost.measured_hours", importance=HEAD, **values)
    else:
        rate = hourly(price.amount, currency, draft.language)
        cost = money(report.cost.value, currency, draft.language)
        draft.figure("price", price.amount, f"{currency}/h", sources=("user:price",))
        draft.say("cost.measured", importance=HEAD, cost=cost, price=rate, **values)
    draft.say("cost.excludes", importance=DETAIL)
    return draft.finish("not_applicable")


def machine(draft: Draft) -> Steps:
    """What a card costs, and whether a budget pays for it."""
    verdict, _ = yield from say_machine(draft)
    return draft.finish(verdict)


def say_machine(
    draft: Draft,
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], tuple[Verdict, InstanceOut | None]]:
    """Says what the types with the card cost; returns the cheapest one with a price."""
    slots = draft.request.slots
    result = yield from _types_found(draft)
    draft.use(result)
    report = result.report
    if not isinstance(report, InstancesReport):
        draft.add(result.hint or "", importance=HEAD)
        return "depends", None
    size_gb = slots.gpu_mem_gb if slots.instance is None else None
    priced = sorted(
        (
            row
            for row in report.instances
            if row.price is not None and size_gb in (None, row.gpu_memory_gb)
        ),
        key=_per_hour,
    )
    whole = [row for row in priced if row.category != "vgpu-slice"]
    verdict: Verdict = "depends"
    if whole and slots.budget is not None:
        verdict = _tell_budget(draft, slots.budget, whole, priced)
    else:
        shown = (whole or priced)[:4]
        if not shown:
            shown = sorted(report.instances, key=_undated_order)[:4]
            where = provider_name(draft, slots.provider) if slots.provider else ""
            if shown:
                draft.say("cost.none_dated", name=slots.instance or slots.gpu, importance=HEAD)
            else:
                draft.say("catalog.none_with_card", gpu=slots.gpu or slots.instance, where=where,
                          importance=HEAD)  # fmt: skip
        _say_cheapest(draft, shown)
        _say_larger(draft, shown)
        draft.bullets([_with_total(draft, row) for row in shown], title=draft.phrase("cost.listed"),
                      importance=HEAD)  # fmt: skip
        draft.offer(row.as_offer() for row in shown)
    if slots.billing == "subscription":
        say_subscription(draft, (whole or priced)[0] if priced else None)
    draft.say("cost.ways")
    draft.say("cost.excludes", importance=DETAIL)
    return verdict, (whole or priced)[0] if priced else None


def _undated_order(row: InstanceOut) -> tuple[bool, bool, Decimal]:
    """Order of types without a dated price: those with any price, then whole cards, then cheap."""
    price = undated_price(row)
    amount = price.amount if price is not None else Decimal(0)
    return not row.listed, row.category == "vgpu-slice", amount


def _say_larger(draft: Draft, shown: list[InstanceOut]) -> None:
    """That a machine has more of the cards than were asked for and is rented whole."""
    asked = draft.request.slots.gpu_count or 1
    cards = shown[0].gpu_count if shown else None
    if cards is not None and cards > asked and draft.request.slots.instance is None:
        draft.figure("cards_asked", asked, "1", sources=("user:gpu_count",))
        draft.say("cost.larger", count=f"{cards:g}", asked=asked, importance=HEAD)


def say_subscription(draft: Draft, row: InstanceOut | None) -> None:
    """What a month's rent has to be below, and its list price where the catalog has one."""
    if row is None or row.price is None or row.price.per != "hour":
        return
    hours = draft.request.slots.hours or float(HOURS_PER_MONTH)
    currency = row.price.currency
    used = float(row.price.amount) * hours
    draft.figure("on demand for the hours", round(used, 2), currency, formula="price * hours")
    draft.figure("hours of use", hours, "h", sources=("user:hours",))
    values = {"hours": f"{hours:g}", "used": money(used, currency, draft.language)}
    rent = next((p for p in row.listed if p.billing == "subscription"), None)
    if rent is None:
        draft.say("cost.no_subscription", importance=HEAD, **values)
        return
    limit = float(rent.per_month) / float(row.price.amount)
    draft.figure("break-even hours", limit, "h", formula="monthly rent / price of an hour")
    draft.say("cost.subscription", rent=price_text(draft, rent), limit=format_significant(limit, 3),
              importance=HEAD, **values)  # fmt: skip


def _say_cheapest(draft: Draft, shown: list[InstanceOut]) -> None:
    """The answer in one line: the lowest price an hour, and what a month of it comes to."""
    row = next((r for r in shown if r.price is not None and r.price.per == "hour"), None)
    if row is None or row.price is None:
        return
    amount, currency = row.price.amount, row.price.currency
    span = span_of(draft.request) or a_month()
    if span.key != "month":
        _say_cheapest_for(draft, row, row.price, span)
        return
    month = amount * HOURS_PER_MONTH
    draft.figure("month_at_list_price", month, currency, formula="price * 730 h")
    draft.figure("hours_of_a_month", HOURS_PER_MONTH, "h", formula="8760 h / 12")
    draft.say("cost.cheapest", cloud=provider_name(draft, row.provider), type=row.instance_type,
              cards=cards_text(draft, row), hour=money(amount, currency, draft.language),
              month=draft.about_money("month", month, currency, formula="price * 730 h"),
              importance=HEAD)  # fmt: skip


def _say_cheapest_for(draft: Draft, row: InstanceOut, price: PriceOut, span: Span) -> None:
    """The answer in one line for the hours asked for."""
    total = float(price.amount) * span.hours * (draft.request.slots.instance_count or 1)
    draft.figure("hours", span.hours, "h", sources=(span.source,))
    draft.figure("cost", round(total, 4), price.currency, formula="price * hours")
    draft.say("cost.cheapest_for", hours=f"{span.hours:g}", type=row.instance_type,
              cloud=provider_name(draft, row.provider), cards=cards_text(draft, row),
              hour=hourly(price.amount, price.currency, draft.language),
              cost=draft.about_money("cost of the hours", total, price.currency,
                                     formula="price * hours"),
              importance=HEAD)  # fmt: skip
    say_recurring(draft)


def _types_found(
    draft: Draft,
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], ToolResult]:
    """The types asked for; where the usual cloud prices none and none was named, of all clouds.

    A machine with more of the cards stands in where no cloud rents just so many.
    """
    slots = draft.request.slots
    (first,) = yield (_types_asked(draft),)
    is_open = slots.instance is None and slots.provider is None and not slots.providers
    if _has_price(first) or not slots.has_card or not is_open:
        return first
    currency = usual_currency(draft.language)
    all_clouds: dict[str, Any] = {"provider": None, "region": slots.region, "currency": currency}
    larger = {"max_gpu_count": None}
    others = yield tuple(
        _types_asked(draft, **changes) for changes in (all_clouds, larger, all_clouds | larger)
    )
    return next((result for result in others if _has_price(result)), first)


def _per_hour(row: InstanceOut) -> Decimal:
    """The price that types are put in order by: in one currency where they are of all clouds."""
    if row.compared is not None:
        return row.compared.per_hour
    return row.price.amount if row.price is not None else Decimal(0)


def _has_price(result: ToolResult) -> bool:
    rows = result.report.instances if isinstance(result.report, InstancesReport) else ()
    return any(row.price is not None for row in rows)


def _types_asked(draft: Draft, **changes: Any) -> Call:
    """The types of the name that was said, or with the card."""
    slots = draft.request.slots
    if slots.instance is not None:
        return Call("find_instances", {"name": slots.instance, "provider": draft.request.cloud,
                                       "region": default_region(draft), "limit": 50})  # fmt: skip
    return Call(
        "find_instances",
        {
            "gpu": slots.gpu if slots.gpu != "none" else None,
            "any_variant": True,
            "min_gpu_memory_gb": None if slots.gpu else 14.0,
            "min_gpu_count": slots.gpu_count or 1,
            "max_gpu_count": slots.gpu_count or 1,
            "provider": default_provider(draft),
            "region": default_region(draft),
            "limit": 50,
            **changes,
        },
    )


def _with_total(draft: Draft, row: InstanceOut) -> str:
    """A type with its price, and the money of the hours asked for; undated prices say so."""
    span, line = span_of(draft.request), short_line(draft, row)
    price = row.price or undated_price(row)
    if span is None or price is None or price.per != "hour":
        return line
    total = float(price.amount) * span.hours * (draft.request.slots.instance_count or 1)
    draft.figure("hours", span.hours, "h", sources=(span.source,))
    draft.figure(f"{row.instance_type}: total", round(total, 2), price.currency,
                 formula="price * hours")  # fmt: skip
    cost = money(total, price.currency, draft.language)
    return draft.phrase("cost.total", line=line, hours=f"{span.hours:g}", cost=cost)


def _tell_budget(
    draft: Draft, budget: Money, whole: list[InstanceOut], priced: list[InstanceOut]
) -> Verdict:
    slots = draft.request.slots
    best = whole[0]
    assert best.price is not None
    currency = budget.currency or usual_currency(draft.language)
    hours = (span_of(draft.request) or a_month()).hours
    per_hour = budget.amount if budget.per == "hour" else budget.amount / hours
    cost = float(best.price.amount) * hours
    unit = best.price.currency
    draft.figure("budget", budget.amount, currency, sources=("user:budget",))
    draft.figure("budget_per_hour", round(per_hour, 3), f"{currency}/h", formula="budget / hours")
    draft.figure("cost_of_hours", round(cost, 2), unit, formula="price * hours")
    draft.figure("hours", hours, "h", formula="8760 h / 12" if slots.hours is None else "given")
    is_enough = unit == currency and float(best.price.amount) <= per_hour
    draft.say(
        "cost.budget_enough" if is_enough else "cost.budget_short",
        line=short_line(draft, best),
        hours=f"{hours:g}",
        cost=money(cost, unit, draft.language),
        budget=money(budget.amount, currency, draft.language),
        per_hour=hourly(per_hour, currency, draft.language),
        importance=HEAD,
    )
    draft.offer([best.as_offer()])
    if not is_enough and unit == currency:
        affordable = budget.amount / float(best.price.amount)
        if budget.per != "hour":
            draft.figure("affordable_hours", affordable, "h", formula="budget / price")
            draft.say("cost.affordable", hours=format_significant(affordable, 3))
        inside = [row for row in priced if row.price and float(row.price.amount) <= per_hour][-3:]
        draft.bullets([short_line(draft, row) for row in inside], title=draft.phrase("cost.slices"))
        draft.offer(row.as_offer() for row in inside)
    return "fits" if is_enough else "depends"
