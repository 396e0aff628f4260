"""What a job of known length costs, on types with the cards that it was reckoned with."""

from __future__ import annotations

from collections.abc import Generator

from agent.answering.money.job_billing import say_job_billing
from agent.answering.money.price_said import say_cost_at_price
from agent.answering.plan import Call
from agent.answering.renting.renting import default_provider, default_region
from agent.answering.telling.draft import BODY, HEAD, Draft
from agent.answering.telling.machines import provider_name, short_line
from agent.answering.telling.numbers import money
from agent.toolbox import ToolResult
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.offers import InstanceOut
from agent.toolbox.timing import TimeReport

NODE = 8
"""Cards of the largest common machine."""


def types_call(
    draft: Draft, *, count: int | None = None, larger: bool = False, everywhere: bool = False
) -> Call:
    """Instances with the card asked for: with just as many, or `larger` ones."""
    slots = draft.request.slots
    if slots.instance is not None and not larger:
        return named_call(draft)
    count = count or slots.gpu_count or 1
    return Call(
        "find_instances",
        {
            "gpu": slots.gpu,
            "any_variant": slots.gpu_mem_gb is None,
            "provider": None if everywhere else default_provider(draft),
            "region": None if everywhere else default_region(draft),
            "min_gpu_count": count,
            "max_gpu_count": None if larger else count,
            "limit": 50,
        },
    )


def named_call(draft: Draft) -> Call:
    """The types that a name stands for."""
    slots = draft.request.slots
    return Call("find_instances", {"name": slots.instance, "provider": draft.request.cloud,
                                   "region": default_region(draft), "limit": 50})  # fmt: skip


def say_cost(
    draft: Draft, report: TimeReport, found: ToolResult
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], None]:
    """Cost on the cheapest type with these cards; on a larger one where the cloud has no other."""
    if report.hours is None:
        return
    if say_cost_at_price(draft, report):
        return
    priced = yield from _types_priced(draft, found)
    if not priced:
        draft.say("times.no_price", gpu=draft.request.slots.gpu)
        return
    count = report.gpu_count
    best = min(priced, key=lambda r: (_machines(r, count), r.price.amount if r.price else 0))
    assert best.price is not None
    machines, cards = _machines(best, count), best.gpu_count or 1
    price, currency = float(best.price.amount) * machines, best.price.currency
    amounts = [price * getattr(report.hours, name) for name in ("value", "low", "high")]
    for name, amount in zip(("cost", "cost_low", "cost_high"), amounts, strict=True):
        draft.figure(name, round(amount, 4), currency, formula="hours * price")
    told_amounts = [
        draft.about_money(name, amount, currency, formula="hours * price")
        for name, amount in zip(("cost", "cost_low", "cost_high"), amounts, strict=True)
    ]
    _say_budget(draft, amounts, currency)
    is_asked = draft.request.intent == "cost_estimate"
    draft.say("times.cost", line=short_line(draft, best), cost=told_amounts[0],
              low=told_amounts[1], high=told_amounts[2],
              importance=HEAD if is_asked else BODY)  # fmt: skip
    if machines > 1:
        draft.figure("machines", machines, "1", formula="cards / cards of a machine, rounded up")
        draft.say("times.machines", machines=machines, each=cards,
                  importance=HEAD if is_asked else BODY)  # fmt: skip
    if cards > report.gpu_count:
        draft.say("times.larger", count=best.gpu_count, used=report.gpu_count,
                  importance=HEAD if is_asked else BODY)  # fmt: skip
    yield from say_job_billing(draft, best, report.hours, machines)
    draft.offer([best.as_offer()])


def _types_priced(
    draft: Draft, found: ToolResult
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], list[InstanceOut]]:
    """Priced types with the very card that was reckoned with; another of its kind where none is.

    Just as many cards first, then more, then several machines; the cloud named first, then all.
    """
    slots = draft.request.slots
    tried = [_priced(found)]
    if slots.instance is not None and any(tried):
        return [row for row in tried[0] if row.instance_type == slots.instance] or tried[0]
    counts: tuple[int | None, ...] = (None, 1) if (slots.gpu_count or 1) > NODE else (None,)
    for number in counts:
        if _same(tried, slots.gpu):
            break
        results = yield (
            types_call(draft, count=number, larger=True),
            types_call(draft, count=number, larger=True, everywhere=True),
        )
        draft.use(*results)
        tried += [_priced(result) for result in results]
    named = slots.provider
    chosen = _same(tried, slots.gpu) or next((rows for rows in tried if rows), [])
    if named is not None and not any(row.provider == named for row in chosen):
        draft.say("times.elsewhere", cloud=provider_name(draft, named), gpu=slots.gpu)
    return chosen


def _same(tried: list[list[InstanceOut]], gpu: str | None) -> list[InstanceOut]:
    """The rows of the first search that found the very card."""
    exact = ([row for row in rows if row.gpu == gpu] for rows in tried)
    return next((rows for rows in exact if rows), [])


def _say_budget(draft: Draft, amounts: list[float], currency: str) -> None:
    """Whether a sum that was named pays for the job; silent where currencies differ."""
    budget = draft.request.slots.budget
    if budget is None or budget.per not in (None, "total") or budget.currency not in (
        None, currency,
    ):  # fmt: skip
        return
    _, low, high = amounts
    told = [
        draft.about_money(name, amount, currency, formula="hours * price")
        for name, amount in zip(("cost", "cost_low", "cost_high"), amounts, strict=True)
    ]
    key = "in" if high <= budget.amount else "over" if low > budget.amount else "maybe_in"
    draft.figure("budget", budget.amount, currency, sources=("user:budget",))
    draft.say(
        f"cost.work_{key}_budget",
        budget=money(budget.amount, currency, draft.language),
        cost=told[0],
        low=told[1],
        high=told[2],
        importance=HEAD,
    )


def _machines(row: InstanceOut, count: int) -> int:
    """Machines of a type that hold so many cards."""
    return -(-count // max(row.gpu_count or 1, 1))


def _priced(found: ToolResult) -> list[InstanceOut]:
    rows = found.report.instances if isinstance(found.report, InstancesReport) else ()
    return [row for row in rows if row.price is not None and row.category == "gpu"]
