"""Which cloud has a card cheapest, and which of several types costs less: one currency, dated."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from decimal import Decimal

from agent.answer import Answer, CitationOut
from agent.answering.money.spans import span_of
from agent.answering.plan import Call, Context
from agent.answering.renting import by_need
from agent.answering.telling.draft import BODY, DETAIL, HEAD, Draft
from agent.answering.telling.machines import cards_text, provider_name, short_line
from agent.answering.telling.numbers import hourly, usual_currency
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.offers import InstanceOut

_INTENTS = (
    "recommend_instance", "cost_estimate", "catalog_lookup", "fit_check", "concept", "gpu_compare",
)  # fmt: skip
_SHOWN = 6
Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], Answer]


def asks_cheaper(request: Request) -> bool:
    """Whether the price is what decides."""
    return request.says("money.cheapest")


def applies(request: Request, context: Context) -> bool:
    """True for the cheapest offer of a card, with no job and no more conditions."""
    slots = request.slots
    has_job = slots.has_model or slots.budget is not None
    is_size = slots.gpu is None and slots.gpu_mem_gb is not None
    is_size = is_size and request.intent in ("recommend_instance", "cost_estimate")
    has_card = is_size or slots.has_card or bool(slots.gpus)
    has_card = has_card and slots.instance is None
    return (
        has_card and not has_job and slots.price is None
        and request.intent in _INTENTS and asks_cheaper(request)
        and not by_need.applies(request, context)
    )  # fmt: skip


def is_price_of_several(request: Request) -> bool:
    """True for several types of which the cheaper one is looked for."""
    slots = request.slots
    has_job = slots.has_model
    is_rate = request.intent == "cost_estimate" and slots.budget is None
    is_asked = asks_cheaper(request) or (is_rate and span_of(request) is None)
    return len(slots.instances or ()) > 1 and not has_job and is_asked


def compose(request: Request, context: Context) -> Steps:
    """The cheapest offer of a card, then the cheapest of every other cloud."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    slots = request.slots
    clouds: tuple[str | None, ...] = slots.providers or (slots.provider,)
    gpus: tuple[str | None, ...] = slots.gpus or (slots.gpu,)
    size_gb = slots.gpu_mem_gb
    count = slots.gpu_count if "gpu_count" not in request.inferred else None
    results = yield tuple(
        Call("find_instances", {
            "gpu": gpu, "any_variant": gpu is not None,
            "min_gpu_memory_gb": None if gpu else size_gb, "provider": cloud,
            "region": slots.region,
            "min_gpu_count": count, "max_gpu_count": count,
            "currency": usual_currency(draft.language), "limit": 50})
        for cloud in clouds for gpu in gpus
    )  # fmt: skip
    draft.use(*results)
    rows = [
        row
        for result in results if isinstance(result.report, InstancesReport)
        for row in result.report.instances
        if row.category == "gpu" and size_gb in (None, row.gpu_memory_gb)
    ]  # fmt: skip
    ranked = sorted((r for r in rows if r.compared is not None), key=_per_gpu)
    if not ranked:
        where = provider_name(draft, slots.provider) if slots.provider else ""
        key = "catalog.none_with_card" if not rows else "prices.none_dated"
        draft.say(
            key, gpu=" / ".join(g or f"{size_gb:g} GB" for g in gpus), where=where, importance=HEAD
        )
        _say_undated(draft, rows)
        return draft.finish("not_applicable")
    best = _first_of_each(ranked)
    draft.say("prices.cheapest", line=short_line(draft, best[0]), each=_each(draft, best[0]),
              importance=HEAD)  # fmt: skip
    draft.bullets([_ranked_line(draft, row) for row in best[1:_SHOWN]],
                  title=draft.phrase("prices.others"))  # fmt: skip
    draft.offer(row.as_offer() for row in best[:_SHOWN])
    known = {row.provider for row in best}
    _say_undated(draft, [row for row in rows if row.provider not in known])
    _say_rates(draft, best)
    return draft.finish("not_applicable")


def _per_gpu(row: InstanceOut) -> Decimal:
    assert row.compared is not None
    return row.compared.per_gpu_hour or row.compared.per_hour


def _first_of_each(ranked: Sequence[InstanceOut]) -> list[InstanceOut]:
    """The cheapest type of every cloud and form of the card, cheapest first."""
    found: dict[tuple[str, str | None], InstanceOut] = {}
    for row in ranked:
        found.setdefault((row.provider, row.gpu), row)
    return list(found.values())


def _each(draft: Draft, row: InstanceOut) -> str:
    assert row.compared is not None
    return hourly(_per_gpu(row), row.compared.currency, draft.language)


def _ranked_line(draft: Draft, row: InstanceOut) -> str:
    return draft.phrase("prices.row", line=short_line(draft, row), each=_each(draft, row))


def _say_undated(draft: Draft, rows: Sequence[InstanceOut]) -> None:
    """Clouds that have the card without a dated price: named, never ranked."""
    first: dict[str, InstanceOut] = {}
    for row in rows:
        known = first.get(row.provider)
        if known is None or (not known.listed and row.listed):
            first[row.provider] = row
    draft.bullets([short_line(draft, row) for row in list(first.values())[:3]],
                  title=draft.phrase("prices.undated"), importance=DETAIL)  # fmt: skip


def _say_rates(draft: Draft, rows: Sequence[InstanceOut]) -> None:
    converted = [
        r.compared for r in rows
        if r.compared is not None and r.price is not None
        and r.price.currency != r.compared.currency
    ]  # fmt: skip
    if converted:
        rates = converted[0].rates_as_of
        draft.cite(CitationOut(id="data:exchange_rates", title="ECB", locator=rates))
        draft.say("prices.rates", date=rates, importance=BODY)


def say_cheaper(draft: Draft, reports: Sequence[InstancesReport]) -> None:
    """Of several names the cheapest type of each, and which costs less."""
    best: list[tuple[str, InstanceOut]] = []
    for report in reports:
        rows = [row for row in report.instances if row.compared is not None]
        whole = [row for row in rows if row.category != "vgpu-slice"]
        if rows:
            best.append((report.given or "", min(whole or rows, key=_per_hour)))
    if len(best) < 2:
        return
    best.sort(key=lambda pair: _per_hour(pair[1]))
    (_, low), (_, high) = best[0], best[-1]
    times = _per_hour(high) / _per_hour(low)
    draft.figure("times", round(float(times), 2), "1", formula="price / price")
    draft.say(
        "prices.cheaper",
        low=f"`{low.instance_type}`",
        low_price=_hour(draft, low),
        low_cards=cards_text(draft, low),
        high=f"`{high.instance_type}`",
        high_price=_hour(draft, high),
        high_cards=cards_text(draft, high),
        times=f"{float(times):.2g}",
        importance=HEAD,
    )
    _say_rates(draft, [row for _, row in best])


def _per_hour(row: InstanceOut) -> Decimal:
    assert row.compared is not None
    return row.compared.per_hour


def _hour(draft: Draft, row: InstanceOut) -> str:
    assert row.compared is not None
    return hourly(row.compared.per_hour, row.compared.currency, draft.language)
