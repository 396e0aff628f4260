"""spot_checkpoint: what spot costs and saves, and how often to save checkpoints."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agent.answer import CitationOut
from agent.answering.money.interruptions import say_band, say_basis, spot_arguments
from agent.answering.money.spans import span_of
from agent.answering.money.type_price import at_one_place
from agent.answering.plan import Call, Context, Plan
from agent.answering.renting.renting import default_provider, default_region
from agent.answering.telling.draft import DETAIL, EXTRA, HEAD, Draft
from agent.answering.telling.machines import (
    cards_text,
    price_text,
    provider_name,
    say_price_sources,
    short_line,
)
from agent.answering.telling.numbers import duration, hourly, money, usual_currency
from agent.answering.telling.run_words import joined, memory_arguments
from agent.answering.telling.sources import guidance_call, passages_in, say_cited
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.memory import MemoryReport
from agent.toolbox.offers import InstanceOut
from agent.toolbox.spot import ChosenInterval, SpotReport
from tools.units import format_significant

_LISTED = 4
_DISK = "essd-pl1"
"""The cloud disk that a checkpoint is written to where none was said."""
_PRICE_INTENTS = ("cost_estimate", "spot_checkpoint", "catalog_lookup", "recommend_instance")


def applies(request: Request, context: Context) -> bool:
    """True for what spot saves with a card that is named and no job."""
    slots = request.slots
    has_card = slots.has_card and slots.instance is None
    has_job = slots.has_model or slots.budget is not None
    return (
        has_card
        and not has_job
        and request.intent in _PRICE_INTENTS
        and request.says("money.versus")
    )


def compose(request: Request, context: Context) -> Plan:
    """Price first where that was asked, the checkpoint interval first where that was."""
    draft = Draft(request)
    wanted = spot_arguments(request)
    save_minutes = request.slots.ckpt_minutes or (yield from _adapter_minutes(draft))
    if save_minutes and wanted["checkpoint_gb"] is None:
        wanted |= {"checkpoint_minutes": save_minutes, "params_b": None}
    wanted["currency"] = usual_currency(draft.language)
    results = yield from _looked_up(draft, wanted)
    draft.use(*results)
    plan = results[0].report
    about_saving = _is_about_saving(request)
    if isinstance(plan, SpotReport):
        if about_saving:
            _say_wall(draft, plan)
            _say_interval(draft, plan)
        yield from _say_quotes(draft, plan, results, wanted)
        _say_prices(draft, plan, importance=DETAIL if about_saving else HEAD)
        _say_terms(draft, plan)
        if not about_saving:
            _say_interval(draft, plan)
            _say_wall(draft, plan)
    say_cited(draft, passages_in(results)[:2])
    return draft.finish("depends" if about_saving else "not_applicable")


def _looked_up(
    draft: Draft, wanted: dict[str, Any]
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], tuple[ToolResult, ...]]:
    """The plan of saves, guidance, and the types asked about."""
    slots = draft.request.slots
    calls = [Call("spot_plan", wanted), guidance_call(draft.request, k=2, topic="spot")]
    if slots.instance:
        calls.append(Call("find_instances", {"name": slots.instance, "provider": slots.provider,
                                             "region": default_region(draft)}))  # fmt: skip
    elif slots.has_card:
        calls.append(_carriers(draft))
    results = yield tuple(calls)
    if slots.has_card and slots.provider is None and not _quoted(results):
        results = (*results, *(yield (_carriers(draft, everywhere=True),)))
    return results


def _is_about_saving(request: Request) -> bool:
    """Whether saves and interruptions are asked about, and not the money of some hours."""
    slots = request.slots
    if request.intent == "cost_estimate" and span_of(request) is not None:
        return False
    said = slots.ckpt_minutes is not None or slots.mtbf_hours is not None
    return said or request.says("money.of_saves")


def _say_quotes(
    draft: Draft, plan: SpotReport, results: tuple[ToolResult, ...], wanted: dict[str, Any]
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], None]:
    """Spot prices of the types found, cheapest first, and the band of interruptions of each."""
    cards = draft.request.slots.gpu_count or 1
    for result in results:
        if isinstance(result.report, InstancesReport):
            for found in _cheapest_first(result.report, cards)[:1]:
                row = yield from at_one_place(draft, found)
                _say_quote(draft, row)
                _say_total(draft, row)
                say_price_sources(draft, [row])
                yield from say_band(draft, plan, row, wanted)
    if not _quoted(results):
        _say_without_quote(draft, results)


def _adapter_minutes(
    draft: Draft,
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], float | None]:
    """Minutes of one save where adapters alone are trained; None of other runs.

    The frozen base does not change and is not saved: a save is the adapters and their states.
    """
    from tools.speed import checkpoint_seconds, storage_limit

    slots = draft.request.slots
    has_model = slots.has_model
    if not has_model or not (slots.method or "").endswith("lora") or slots.task == "infer":
        return None
    nowhere: dict[str, Any] = dict.fromkeys(
        ("gpu", "gpu_mem_gb", "gpu_count", "instance", "zero_stage", "strategy", "tp", "pp")
    )
    call = Call("estimate_memory", memory_arguments(slots, **nowhere, task="train"))
    (result,) = yield (call,)
    report = result.report
    if not isinstance(report, MemoryReport):
        return None
    draft.use(result)
    size = report.part("adapters") + report.part("optimizer_states")
    disk = storage_limit(_DISK)
    seconds = checkpoint_seconds(size, write_mb_s=disk.mb_s)
    draft.figure("checkpoint", size, "B", formula="adapter + optimizer states")
    draft.figure("write rate", disk.mb_s, "MB/s", sources=(f"data:storage.json#{_DISK}",))
    draft.figure("save", seconds, "s", formula="checkpoint / MB per s")
    told = f"{format_significant(size / 1e9, 2)} GB"
    draft.say("spot.adapter", size=told, rate=f"{disk.mb_s:,.0f}",
              save=duration(seconds / 3600, draft.language))  # fmt: skip
    return seconds / 60


def _say_interval(draft: Draft, plan: SpotReport) -> None:
    say_basis(draft, plan)
    draft.figure("overhead_pct", round(plan.overhead * 100, 1), "%", formula="overhead * 100")
    if plan.chosen is not None:
        _say_chosen(draft, plan, plan.chosen)
    draft.say(
        "spot.interval",
        interval=duration(plan.interval_minutes / 60, draft.language),
        save=duration(plan.checkpoint_minutes / 60, draft.language),
        mtbf=duration(plan.mtbf_hours, draft.language),
        lost=duration(plan.lost_minutes / 60, draft.language),
        overhead=f"{plan.overhead * 100:.0f}%",
        importance=HEAD,
    )
    draft.say("spot.why")
    draft.say("spot.state")


def _say_chosen(draft: Draft, plan: SpotReport, chosen: ChosenInterval) -> None:
    """What the interval that was given costs, beside which the best one is told."""
    draft.say(
        "spot.chosen",
        interval=duration(chosen.minutes / 60, draft.language),
        mtbf=duration(plan.mtbf_hours, draft.language),
        lost=duration(chosen.lost_minutes / 60, draft.language),
        lost_share=f"{chosen.lost_share * 100:.1f}%",
        save_share=f"{chosen.save_share * 100:.1f}%",
        restart_share=f"{chosen.restart_share * 100:.1f}%",
        restart=duration(chosen.restart_minutes / 60, draft.language),
        overhead=f"{chosen.overhead * 100:.1f}%",
        save=duration(plan.checkpoint_minutes / 60, draft.language),
        importance=HEAD,
    )


def _quoted(results: tuple[ToolResult, ...]) -> bool:
    """Whether a type was found of which spot prices are known."""
    return any(_cheapest_first(r.report) for r in results if isinstance(r.report, InstancesReport))


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
    draft.figure("hours", hours, "h", sources=("user:hours",))
    draft.figure(f"{row.instance_type}: by list price", round(total, 2), price.currency,
                 formula="price * hours")  # fmt: skip
    return line + draft.phrase("spot.by_list", hours=f"{hours:g}",
                               cost=money(total, price.currency, draft.language))  # fmt: skip


def _carriers(draft: Draft, *, everywhere: bool = False) -> Call:
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


def _say_total(draft: Draft, row: InstanceOut) -> None:
    """Money of the hours asked for: spot from low to high, and on demand."""
    span, quote = span_of(draft.request), row.spot
    if span is None or quote is None:
        return
    hours = span.hours
    machines = draft.request.slots.instance_count or 1

    def total(amount: object) -> str:
        value = float(str(amount)) * hours * machines
        draft.figure(f"total of {hours:g} h at {amount}", round(value, 2), quote.currency,
                     formula="price * hours * machines")  # fmt: skip
        return money(value, quote.currency, draft.language)

    draft.figure("hours", hours, "h", sources=("user:hours",))
    values = {"hours": f"{hours:g}", "low": total(quote.low), "high": total(quote.high)}
    on_demand = total(row.price.amount) if row.price else draft.phrase("machines.no_price")
    if quote.likely is None:
        draft.say("spot.total_range", on_demand=on_demand, importance=HEAD, **values)
    else:
        draft.say("spot.total", likely=total(quote.likely), on_demand=on_demand, importance=HEAD,
                  **values)  # fmt: skip


def _say_wall(draft: Draft, plan: SpotReport) -> None:
    """Hours that so many hours of work take with saves, lost work and restarts."""
    hours = draft.request.slots.hours
    if hours is None or plan.wall_hours is None:
        return
    draft.figure("hours", hours, "h", sources=("user:hours",))
    draft.figure("wall_hours", plan.wall_hours, "h", formula="hours * (1 + overhead)")
    draft.say("spot.wall", mtbf=duration(plan.mtbf_hours, draft.language),
              overhead=f"{plan.overhead * 100:.0f}%", importance=HEAD,
              wall=format_significant(plan.wall_hours, 3), hours=f"{hours:g}")  # fmt: skip


def _say_terms(draft: Draft, plan: SpotReport) -> None:
    for row in plan.terms:
        if (
            row.notice_minutes is None
            or len(plan.terms) > 1
            and row.provider not in ("alibaba", "aws")
        ):
            continue
        protection = ""
        if row.protection_hours is not None:
            protection = draft.phrase("spot.protection", hours=f"{row.protection_hours:g}")
        provider = provider_name(draft, row.provider)
        if row.notice_minutes < 1:
            draft.figure(f"{row.provider}: notice", row.notice_minutes * 60, "s",
                         sources=(row.source,))  # fmt: skip
            draft.say("spot.notice_short", provider=provider, protection=protection,
                      seconds=f"{row.notice_minutes * 60:g}")  # fmt: skip
            continue
        notice = draft.phrase("spot.notice_minutes", minutes=f"{row.notice_minutes:g}")
        draft.say("spot.notice", provider=provider, notice=notice, protection=protection)


def _say_prices(draft: Draft, plan: SpotReport, *, importance: int) -> None:
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
