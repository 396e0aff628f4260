"""What spot costs: prices of the types asked about, hours of them, and what clouds promise."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agent.answer import CitationOut
from agent.answering.money.interruptions import say_band
from agent.answering.money.spans import span_of
from agent.answering.money.type_price import at_one_place
from agent.answering.plan import Call
from agent.answering.renting.renting import default_provider, default_region
from agent.answering.telling.draft import EXTRA, HEAD, Draft
from agent.answering.telling.machines import (
    cards_text,
    price_text,
    provider_name,
    say_price_sources,
    short_line,
)
from agent.answering.telling.numbers import hourly, money
from agent.answering.telling.run_words import joined
from agent.toolbox import ToolResult
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.offers import InstanceOut
from agent.toolbox.spot import SpotReport
from tools.units import format_significant

_LISTED = 4


def carriers(draft: Draft, *, everywhere: bool = False) -> Call:
    """Instances with the card asked for, of the cloud asked for or of all."""
    slots = draft.request.slots
    count = slots.gpu_count or 1
    return Call(
        "find_instances",
        {"gpu": slots.gpu, "any_variant": slots.gpu_mem_gb is None,
         "provider": None if everywhere else default_provider(draft),
         "region": slots.region if everywhere else default_region(draft),
         "min_gpu_count": count, "limit": 50},
    )  # fmt: skip


def is_quoted(results: tuple[ToolResult, ...]) -> bool:
    """Whether a type was found of which spot prices are known."""
    return any(_cheapest_first(r.report) for r in results if isinstance(r.report, InstancesReport))


def say_quotes(
    draft: Draft, plan: SpotReport, results: tuple[ToolResult, ...], wanted: dict[str, Any]
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], None]:
    """Spot prices of the types found, cheapest first, and the band of interruptions of each."""
    cards = draft.request.slots.gpu_count or 1
    for result in results:
        if isinstance(result.report, InstancesReport):
            for found in _cheapest_first(result.report, cards)[:1]:
                row = yield from at_one_place(draft, found)
                _say_quote(draft, row)
                _say_total(draft, row, plan)
                say_price_sources(draft, [row])
                yield from say_band(draft, plan, row, wanted)
    if not is_quoted(results):
        _say_without_quote(draft, results)


def _cheapest_first(report: InstancesReport, cards: int = 1) -> list[InstanceOut]:
    """What was named in the order of the catalog; of carriers those of the count, by price."""
    rows = [row for row in report.instances if row.spot is not None]
    if report.given is not None:
        return rows
    whole = [row for row in rows if row.category == "gpu"]
    return sorted(
        whole,
        key=lambda r: (
            r.spot is not None and r.spot.likely is None,
            r.price is None,
            r.gpu_count != cards,
            (r.price.amount if r.price else 0) / (r.gpu_count or 1),
        ),
    )


def _say_quote(draft: Draft, row: InstanceOut) -> None:
    quote = row.spot
    if quote is None:
        return

    def amount(value: object) -> str:
        return hourly(float(str(value)), quote.currency, draft.language)

    on_demand = price_text(draft, row.price) if row.price else draft.phrase("machines.no_price")
    values = {
        "instance": row.instance_type,
        "cards": cards_text(draft, row),
        "low": amount(quote.low),
        "high": amount(quote.high),
        "region": quote.region or draft.phrase("machines.no_region"),
        "on_demand": on_demand,
    }
    draft.offer([row.as_offer()])
    draft.cite(CitationOut(id=f"data:spot#{row.instance_type}", title="spot",
                           locator=f"{quote.region or ''} {quote.as_of or ''}"))  # fmt: skip
    if quote.likely is None:
        draft.say("spot.quote_range", importance=HEAD, **values)
        return
    saving = 0.0 if row.price is None else 1 - float(quote.likely) / float(row.price.amount)
    draft.figure(
        f"{row.instance_type}: spot saving", round(saving, 3), "1", formula="1 - spot / on demand"
    )
    draft.say("spot.quote", likely=amount(quote.likely), date=quote.as_of or "",
              saving=f"{saving * 100:.0f}%", importance=HEAD, **values)  # fmt: skip


def _say_total(draft: Draft, row: InstanceOut, plan: SpotReport) -> None:
    """Money of the hours asked for: spot from low to high, and on demand.

    Work that is interrupted takes longer on spot: those hours are the ones that are paid.
    """
    span, quote = span_of(draft.request), row.spot
    if span is None or quote is None:
        return
    is_longer = span.key == "hours" and draft.request.slots.mtbf_hours is not None
    paid = plan.wall_hours if is_longer and plan.wall_hours is not None else span.hours
    machines = draft.request.slots.instance_count or 1

    def total(amount: object, hours: float) -> str:
        value = float(str(amount)) * hours * machines
        draft.figure(f"total of {hours:g} h at {amount}", round(value, 2), quote.currency,
                     formula="price * hours * machines")  # fmt: skip
        return money(value, quote.currency, draft.language)

    draft.figure("hours", span.hours, "h", sources=(span.source,))
    values = {
        "hours": f"{span.hours:g}",
        "low": total(quote.low, paid),
        "high": total(quote.high, paid),
        "on_demand": total(row.price.amount, span.hours)
        if row.price
        else draft.phrase("machines.no_price"),
    }
    key = "spot.total_range" if quote.likely is None else "spot.total"
    if quote.likely is not None:
        values["likely"] = total(quote.likely, paid)
    if paid > span.hours:
        key = f"{key}_longer"
        values["paid"] = format_significant(paid, 3)
    draft.say(key, importance=HEAD, **values)


def _say_without_quote(draft: Draft, results: tuple[ToolResult, ...]) -> None:
    """The list prices of types without a spot price: they say what spot cannot exceed."""
    rows = [
        row
        for result in results
        if isinstance(result.report, InstancesReport)
        for row in result.report.instances
        if row.price is not None or row.listed
    ][:_LISTED]
    if not rows:
        return
    draft.bullets([_list_line(draft, row) for row in rows],
                  title=draft.phrase("spot.no_quote"), importance=HEAD)  # fmt: skip
    draft.offer(row.as_offer() for row in rows)
    say_price_sources(draft, rows)


def _list_line(draft: Draft, row: InstanceOut) -> str:
    """A type with its list price and, where hours were said, what they come to by it."""
    line, span = short_line(draft, row), span_of(draft.request)
    price = row.price or row.listed[0]
    if span is None or price.per != "hour":
        return line
    hours = span.hours
    total = float(price.amount) * hours * (draft.request.slots.instance_count or 1)
    draft.figure("hours", hours, "h", sources=(span.source,))
    draft.figure(f"{row.instance_type}: by list price", round(total, 2), price.currency,
                 formula="price * hours")  # fmt: skip
    return line + draft.phrase("spot.by_list", hours=f"{hours:g}",
                               cost=money(total, price.currency, draft.language))  # fmt: skip


def say_prices(draft: Draft, plan: SpotReport, *, importance: int) -> None:
    """That prices move, what a cloud promises at most, and what was seen of them."""
    draft.say("spot.floating", importance=importance)
    for row in plan.terms:
        if row.least_share is not None and (len(plan.terms) == 1 or row.provider == "alibaba"):
            saving = round((1 - row.least_share) * 100)
            draft.figure(f"{row.provider}: saving ceiling", saving, "%", sources=(row.source,))
            draft.say("spot.ceiling", provider=provider_name(draft, row.provider),
                      share=f"{row.least_share * 100:.0f}%", saving=f"{saving}%")  # fmt: skip
    items = [
        draft.phrase(
            "spot.seen_item",
            provider=provider_name(draft, seen.provider),
            share=f"{seen.median * 100:.0f}%",
            saving=f"{(1 - seen.median) * 100:.0f}%",
        )
        for seen in plan.seen
    ]
    if items:
        draft.say("spot.seen", items=joined(draft, items))
    draft.say("spot.mind", importance=EXTRA)
