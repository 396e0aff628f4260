"""recommend_instance: what to rent for a run, with its price and what nearly does."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agent.answering.concepts import concept
from agent.answering.hosts.host import compose_host, is_host_question
from agent.answering.money.recurring import say_recurring
from agent.answering.money.rent_budget import (
    hours_held,
    is_covered,
    paid_hours,
    period_of,
    say_budget,
)
from agent.answering.money.spans import span_of
from agent.answering.plan import Call, Context, Plan
from agent.answering.renting.misses import is_near, miss_line
from agent.answering.renting.renting import covered_provider, default_region, say_not_covered
from agent.answering.renting.standing import say_standing, standing_offer
from agent.answering.renting.unpriced import say_unpriced
from agent.answering.renting.unsized import not_sized, without_model
from agent.answering.telling.assumed import say_assumptions
from agent.answering.telling.draft import BODY, DETAIL, HEAD, Draft
from agent.answering.telling.machines import (
    cards_text,
    instance_line,
    price_text,
    provider_name,
    say_price_sources,
)
from agent.answering.telling.numbers import duration, gib, hourly, money, usual_currency
from agent.answering.telling.run_words import (
    joined,
    memory_arguments,
    memory_range,
    run_text,
)
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.memory import MemoryReport
from agent.toolbox.offers import InstanceOut
from agent.toolbox.rent import RecommendedOut, RecommendReport
from tools.units import HOURS_PER_MONTH, format_significant

_NOT_FOR_THE_SEARCH = ("gpu", "gpu_mem_gb", "gpu_count", "instance", "provider")
Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], None]


def compose(request: Request, context: Context) -> Plan:
    """What to rent."""
    draft = Draft(request)
    slots = request.slots
    if context.earlier and context.earlier[-1].intent == "concept":
        widened = request.looked_up_with(context.earlier[-1])
        return (yield from concept.compose(widened, context))
    if not slots.has_model:
        return (yield from without_model(draft))
    if is_host_question(request):
        return (yield from compose_host(draft))
    method = _method(request)
    calls = [
        Call("estimate_memory", memory_arguments(slots, method=method)),
        search_call(draft, method),
    ]
    if method == "lora":
        calls.append(search_call(draft, "qlora"))
        calls.append(Call("estimate_memory", _free(draft, "qlora")))
    if slots.instance:
        calls.append(Call("find_instances", {"name": slots.instance, "provider": request.cloud}))
    results = yield tuple(calls)
    draft.use(*results)
    need = results[0].report
    if not isinstance(need, MemoryReport):
        return (yield from not_sized(draft, results[0]))
    search = next((r.report for r in results if isinstance(r.report, RecommendReport)), None)
    standing = yield from standing_offer(draft, need, search)
    if not (yield from say_unpriced(draft, need, results)):
        _tell(draft, need, results, standing)
    yield from _over_several(draft, need, results)
    say_assumptions(draft, need)
    return draft.finish(_verdict(request, need), memory=memory_range(need), slots=_settled(need))


def _over_several(draft: Draft, need: MemoryReport, results: tuple[ToolResult, ...]) -> Steps:
    """How many of which cards, where no instance holds it and no single card could."""
    from agent.answering.sizing.inverse import count_cards, is_too_large

    found = next((r.report for r in results if isinstance(r.report, RecommendReport)), None)
    if found is not None and not found.offers and is_too_large(need):
        yield from count_cards(draft, need)


def _verdict(request: Request, need: MemoryReport) -> Any:
    """About the machine asked about, where this turn names one; else it depends on the choice."""
    if {"gpu", "instance"} & set(request.inherited):
        return "not_applicable"
    return "does_not_fit" if need.verdict == "does_not_fit" else "depends"


def _settled(need: MemoryReport) -> dict[str, Any]:
    named = need.gpu is not None and not need.gpu.endswith("class")
    return {"gpu": need.gpu, "gpu_count": need.gpu_count} if named else {}


def _method(request: Request) -> str | None:
    slots = request.slots
    return (slots.method or "lora") if slots.task != "infer" else None


def _free(draft: Draft, method: str | None) -> dict[str, Any]:
    """The run without a machine."""
    nothing: dict[str, Any] = dict.fromkeys(_NOT_FOR_THE_SEARCH)
    return memory_arguments(draft.request.slots, method=method, **nothing)


def search_call(draft: Draft, method: str | None, *, by_rate: bool = False) -> Call:
    """The search for instances that hold the run, cheapest first.

    Args:
        draft: The answer so far.
        method: Training method; None for serving.
        by_rate: Put in order by the price of an hour even where the amount of work is known.
    """
    slots = draft.request.slots
    provider = covered_provider(draft)
    providers = slots.providers or ((provider,) if provider else ())
    arguments: dict[str, Any] = {
        **_free(draft, method),
        "providers": providers,
        "region": default_region(draft),
        "spot": slots.billing == "spot",
        "hours": None if _is_all_month(draft.request) else slots.hours,
    }
    work = _work(draft) if slots.task == "train" and not by_rate else {}
    if work and slots.hours is not None and draft.request.says("speed.deadline"):
        arguments |= {"hours": None, "deadline_hours": slots.hours, **work}
    elif slots.hours is None:
        arguments |= work
    if slots.budget is not None:
        period = period_of(draft.request)
        amount = slots.budget.amount * hours_held(period)
        arguments["budget"] = amount
        arguments["budget_currency"] = slots.budget.currency or usual_currency(draft.language)
        arguments["budget_per"] = {"hour": "hour", "month": "month"}.get(period, "run")
    return Call("recommend", {k: v for k, v in arguments.items() if v is not None})


def _is_all_month(request: Request) -> bool:
    """Whether the hours said are those of a machine that is never switched off."""
    span = span_of(request)
    return span is not None and span.key == "month"


def _work(draft: Draft) -> dict[str, Any]:
    """The amount of data that was said, which sets hours and money of each type."""
    slots = draft.request.slots
    each = slots.tokens_per_sample or slots.seq_len
    if slots.tokens is not None:
        return {"tokens": slots.tokens, "epochs": slots.epochs or 1}
    if slots.samples is None or each is None:
        return {}
    return {"samples": slots.samples, "tokens_per_sample": each, "epochs": slots.epochs or 1}


def _tell(
    draft: Draft,
    need: MemoryReport,
    results: tuple[ToolResult, ...],
    standing: InstanceOut | None,
) -> None:
    found = [r.report for r in results if isinstance(r.report, RecommendReport)]
    what = run_text(draft, need)
    if _prefers_second(draft.request, found):
        found = [found[1]]
        what = run_text(draft, need.model_copy(update={"method": "qlora"}))
    if standing is not None:
        say_standing(draft, need, standing, what=what)
        _tell_roomier(draft, found)
    elif found and found[0].offers:
        _tell_offers(draft, found[0], what)
        say_not_covered(draft)
    else:
        _tell_none(draft, need, what)
    for result in results:
        if isinstance(result.report, InstancesReport) and result.report.instances:
            line = instance_line(draft, result.report.instances[0])
            draft.say("rent.asked_instance", line=line)
    alternative = results[3].report if len(results) > 3 else None
    if len(found) > 1 and isinstance(alternative, MemoryReport) and found[1].offers:
        lines = [offer_line(draft, o) + paid_hours(draft, o) for o in found[1].offers[:2]]
        title = draft.phrase("rent.qlora_instead", need=gib(alternative.process_bytes))
        draft.bullets(lines, title=title)
        draft.offer(o.instance.as_offer() for o in found[1].offers[:2])
    if found:
        _tell_misses(draft, found[0])
    draft.say("rent.spot_hint", importance=DETAIL)


def _tell_roomier(draft: Draft, found: list[RecommendReport]) -> None:
    """What costs more than the card of the turn before and leaves more room."""
    offers = found[0].offers[:2] if found else ()
    if offers:
        lines = [offer_line(draft, offer) for offer in offers]
        draft.bullets(lines, title=draft.phrase("rent.roomier"))
        draft.offer(offer.instance.as_offer() for offer in offers)


def _tell_offers(draft: Draft, found: RecommendReport, what: str) -> None:
    best = found.offers[0]
    price = best.instance.price
    draft.say(
        "rent.best",
        instance=f"{provider_name(draft, best.instance.provider)} `{best.instance.instance_type}`",
        cards=cards_text(draft, best.instance) + _spread(draft, best) + _without_bf16(draft, best),
        price=price_text(draft, price) if price else _per_hour(draft, best),
        what=what,
        need=gib(best.need_bytes),
        usable=gib(best.usable_bytes),
        importance=HEAD,
    )
    if best.need_high_bytes > best.usable_bytes:
        key = "rent.upper_bound" if best.requests_held is None else "misses.upper_queue"
        draft.say(key, high=gib(best.need_high_bytes))
    draft.figure("hours_per_month", HOURS_PER_MONTH, "h", formula="365 * 24 / 12")
    costs = [
        draft.phrase(
            "rent.month",
            cost=draft.about_money(
                "month", best.cost_per_month, best.currency, formula="price * 730 h"
            ),
        )
    ]
    if best.hours is not None and best.cost_of_job is not None:
        cost = draft.about_money("job", best.cost_of_job, best.currency, formula="price * hours")
        if say_recurring(draft):
            draft.say("recurring.cost", hours=f"{draft.request.slots.hours:g}", cost=cost,
                      importance=HEAD)  # fmt: skip
        else:
            told = draft.phrase("rent.job", hours=duration(best.hours, draft.language), cost=cost)
            costs.append(told + _setup_text(draft, found))
    say_budget(draft, best)
    _say_speed(draft, best)
    draft.add(joined(draft, costs) + draft.phrase("catalog.stop"))
    draft.bullets([offer_line(draft, o) + paid_hours(draft, o) for o in found.offers[1:3]],
                  title=draft.phrase("rent.others"), importance=BODY)  # fmt: skip
    draft.offer(o.instance.as_offer() for o in found.offers[:3])
    say_price_sources(draft, [o.instance for o in found.offers[:3]])


def _setup_text(draft: Draft, found: RecommendReport) -> str:
    """Paid time before the job starts, which the money of the job holds as well."""
    hours = next((a.value for a in found.assumptions if a.name == "setup_hours"), None)
    if not isinstance(hours, int | float):
        return ""
    draft.figure("set-up", hours, "h", sources=("rule:setup-of-a-machine",))
    return draft.phrase("rent.job_setup", hours=duration(hours, draft.language))


def _say_speed(draft: Draft, offer: RecommendedOut) -> None:
    """Tokens a second of the first choice: of one stream in serving, of all cards in training."""
    rate = offer.tokens_per_s
    if rate is None:
        return
    slots = draft.request.slots
    is_serving = slots.task == "infer"
    told = float(format_significant(rate, 2))
    draft.figure("tokens per second", told, "token/s", formula="speed of the card, estimated")
    if not is_serving:
        draft.say("rent.speed_train", rate=f"{told:,.0f}", importance=DETAIL)
        return
    users = slots.concurrency or 1
    draft.figure("streams", users, "1", sources=("user:concurrency",))
    draft.figure("tokens per second of all", told * users, "token/s", formula="rate * streams")
    key = "rent.speed_serve" if users > 1 else "rent.speed_stream"
    draft.say(key, rate=f"{told:g}", users=users, total=f"{told * users:,.0f}")


def _prefers_second(request: Request, found: list[RecommendReport]) -> bool:
    """Whether QLoRA comes first: the method was left open and it makes more of the budget."""
    if request.slots.budget is None or "method" not in request.inferred or len(found) < 2:
        return False
    if not found[1].offers:
        return False
    if not found[0].offers:
        return True
    first, second = found[0].offers[0], found[1].offers[0]
    return not is_covered(request, first) and second.cost_per_hour < first.cost_per_hour


def _tell_none(draft: Draft, need: MemoryReport, what: str) -> None:
    budget = draft.request.slots.budget
    if budget is None:
        draft.say("rent.none", what=what, need=gib(need.process_bytes), importance=HEAD)
        return
    per = {"hour": ("/小时", "/h"), "month": ("/月", "/month")}.get(budget.per or "", ("", ""))
    amount = money(budget.amount, budget.currency or usual_currency(draft.language), draft.language,
                   per=per[0 if draft.language == "zh" else 1])  # fmt: skip
    draft.say("rent.none_budget", budget=amount, what=what, need=gib(need.process_bytes),
              importance=HEAD)  # fmt: skip


def offer_line(draft: Draft, offer: RecommendedOut) -> str:
    """One recommended type: cards, how it is spread, price."""
    price = offer.instance.price
    cost = price_text(draft, price) if price else _per_hour(draft, offer)
    name = f"{provider_name(draft, offer.instance.provider)} `{offer.instance.instance_type}`"
    spread = _spread(draft, offer) + _without_bf16(draft, offer)
    separator = ", " if draft.language == "en" else "，"
    cards = draft.phrase("machines.in_brackets", text=cards_text(draft, offer.instance) + spread)
    return f"{name}{cards}{separator}{cost}"


def _per_hour(draft: Draft, offer: RecommendedOut) -> str:
    return hourly(offer.cost_per_hour, offer.currency, draft.language)


def _without_bf16(draft: Draft, offer: RecommendedOut) -> str:
    """Said of a card that computes in fp16, where a run in bf16 may be meant."""
    said = draft.request.slots.precision or draft.request.slots.quantization
    if "fp16_only" not in offer.notes or said not in (None, "bf16"):
        return ""
    return draft.phrase("rent.fp16_only")


def _spread(draft: Draft, offer: RecommendedOut) -> str:
    if offer.parallelism is None or offer.gpus_used < 2:
        return ""
    words = {"zero3": "ZeRO-3", "zero2": "ZeRO-2", "ddp": "DDP"}
    name = words.get(offer.parallelism, offer.parallelism.upper())
    draft.figure(f"{offer.instance.instance_type}: cards used", offer.gpus_used, "1",
                 formula="cards that hold the run")  # fmt: skip
    return draft.phrase("rent.spread", gpus=offer.gpus_used, parallelism=name)


def _tell_misses(draft: Draft, found: RecommendReport) -> None:
    """Offers that nearly do, with what they lack; none that costs more than the best."""
    best = found.offers[0].cost_per_hour if found.offers else None
    near = [
        miss
        for miss in found.near_misses
        if is_near(miss) and (best is None or (miss.cost_per_hour or best) <= best)
    ]
    lines = [line for miss in near if (line := miss_line(draft, miss))]
    draft.bullets(lines[:2], title=draft.phrase("rent.misses"),
                  importance=BODY if best else DETAIL)  # fmt: skip
