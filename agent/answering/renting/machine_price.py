"""The price of the machine that was named for a run, whether it holds it, and what costs less.

A rate needs no amount of work, so none is assumed here.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agent.answer import Answer, Verdict
from agent.answering.fitting.training import scheme_is_open
from agent.answering.money import cost
from agent.answering.plan import Call, Context, Plan
from agent.answering.renting import rent
from agent.answering.telling.draft import BODY, HEAD, Draft
from agent.answering.telling.machines import say_price_sources
from agent.answering.telling.numbers import gib, money
from agent.answering.telling.run_words import card_name, memory_arguments, outcome, run_text
from agent.answering.telling.verdicts import say_verdict
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.memory import MemoryReport
from agent.toolbox.offers import InstanceOut
from agent.toolbox.rent import RecommendedOut, RecommendReport

_SPANS = (("day", "renting.a_day", 24), ("week", "renting.a_week", 168))
"""Units of time that the head of a price does not tell already, the words that ask for them, and
their hours."""
_CHEAPER_SHOWN = 2
Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], Answer]


def applies(request: Request, context: Context) -> bool:
    """True for the price of a named machine for a run of which no amount is given."""
    slots = request.slots
    has_run = slots.has_model
    has_card = slots.has_card and slots.instance is None
    is_one = len(slots.gpus or ()) < 2 and len(slots.models or ()) < 2
    work = (slots.samples, slots.tokens, slots.steps, slots.step_s, slots.budget, slots.price,
            slots.hours, slots.request_rate_per_s)  # fmt: skip
    if not (has_run and has_card and is_one) or any(value is not None for value in work):
        return False
    if slots.billing == "spot":
        return False
    if asks_rate(request):
        return request.intent in ("cost_estimate", "time_estimate", "recommend_instance")
    return request.intent == "cost_estimate" and "gpu" not in request.inherited


def asks_rate(request: Request) -> bool:
    """Whether the money for a unit of time is asked for."""
    is_rate = request.says("renting.a_day", "renting.a_week", "renting.a_time")
    return is_rate and request.says("renting.price")


def compose(request: Request, context: Context) -> Plan:
    """The price, the memory of the run on that machine, and cheaper types that hold it."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    slots = request.slots
    method = (slots.method or "lora") if slots.task == "train" else None
    _, row = yield from cost.say_machine(draft)
    _say_day(draft, row)
    verdict = yield from _say_room(draft, method)
    yield from _say_cheaper(draft, method, verdict, row)
    return draft.finish(verdict, intent="cost_estimate")


def _say_room(
    draft: Draft, method: str | None
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], Verdict]:
    """Whether the machine named holds the run: as copies, else sharded where that is open."""
    slots = draft.request.slots
    changes: dict[str, Any] = {"method": method} if method else {}
    (result,) = yield (Call("estimate_memory", memory_arguments(slots, **changes)),)
    report = result.report
    if not isinstance(report, MemoryReport) or report.usable_bytes is None:
        return "depends"
    is_short = report.verdict == "does_not_fit"
    if is_short and scheme_is_open(slots) and report.gpu_count > 1:
        scheme = "ZeRO-3" if method else "TP"
        spread: dict[str, Any] = {"zero_stage": 3} if method else {"tp": report.gpu_count}
        arguments = memory_arguments(slots, **(changes | spread))
        (sharded,) = yield (Call("estimate_memory", arguments),)
        shard = sharded.report
        if isinstance(shard, MemoryReport) and shard.usable_bytes is not None:
            draft.use(sharded)
            if shard.verdict in ("fits", "tight"):
                draft.say("machine_price.sharded", scheme=scheme, what=run_text(draft, shard),
                          card=card_name(draft, shard), need=gib(shard.process_bytes),
                          usable=gib(shard.usable_bytes), outcome=outcome(draft, shard),
                          importance=HEAD)  # fmt: skip
                return shard.verdict
            report = shard
    draft.use(result)
    say_verdict(draft, report)
    return report.verdict or "depends"


def _say_cheaper(
    draft: Draft, method: str | None, verdict: Verdict, named: InstanceOut | None
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], None]:
    """Types that hold the run for less than the machine named; any, where that holds it not."""
    (result,) = yield (rent.search_call(draft, method),)
    found = result.report
    if not isinstance(found, RecommendReport):
        return
    is_open = verdict == "does_not_fit" or named is None
    rows = [o for o in found.offers if is_open or _is_below(o, named)]
    if not rows:
        return
    draft.use(result)
    key = "holding" if is_open else "cheaper"
    shown = rows[:_CHEAPER_SHOWN]
    draft.bullets([rent.offer_line(draft, o) for o in shown],
                  title=draft.phrase(f"machine_price.{key}"), importance=BODY)  # fmt: skip
    draft.offer(o.instance.as_offer() for o in shown)
    say_price_sources(draft, [o.instance for o in shown])


def _is_below(offer: RecommendedOut, named: InstanceOut | None) -> bool:
    """Whether an offer costs less an hour, at the rates of the catalog's exchange table."""
    from tools.catalog import exchange_rates

    if named is None or named.price is None:
        return False
    price = exchange_rates().convert(
        named.price.amount, given=named.price.currency, wanted=offer.currency
    )
    return offer.cost_per_hour < price


def _say_day(draft: Draft, row: InstanceOut | None) -> None:
    """The money of a day or a week around the clock, where that was the unit asked for."""
    if row is None or row.price is None or row.price.per != "hour":
        return
    for name, mark, hours in _SPANS:
        if not draft.request.says(mark):
            continue
        amount, currency = float(row.price.amount) * hours, row.price.currency
        draft.figure(f"hours of a {name}", hours, "h", sources=("rule:calendar",))
        told = draft.about_money(name, amount, currency, formula=f"price * {hours} h")
        draft.lead(f"machine_price.{name}", cost=told, type=row.instance_type,
                   price=money(float(row.price.amount), currency, draft.language))  # fmt: skip
