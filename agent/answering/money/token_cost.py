"""What a million tokens cost on a card of one's own: price an hour over tokens an hour."""

from __future__ import annotations

from typing import Any, NamedTuple

from agent.answering.plan import Call, Context, Plan
from agent.answering.speed.times import time_arguments, types_call
from agent.answering.telling.draft import BODY, DETAIL, HEAD, Draft
from agent.answering.telling.found import quoted_hint
from agent.answering.telling.machines import short_line
from agent.answering.telling.numbers import hourly, money
from agent.answering.telling.run_words import memory_arguments
from agent.request import Request
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.limits import LimitReport
from agent.toolbox.offers import InstanceOut
from agent.toolbox.timing import TimeReport
from tools.units import format_significant

_MILLION = 1_000_000
_PROMPT, _OUTPUT = 512, 256
"""Tokens of a request where none were said; the same as the speed assumes."""
_BUSY = 32
"""Requests at once where none were said: a service in use."""
_LONGEST_ANSWER = 100_000
_USUAL_LOAD = 0.3
"""Share of the day's capacity that a service commonly uses."""


class _Rate(NamedTuple):
    """Price of the machine."""

    amount: float
    currency: str
    source: str
    row: InstanceOut | None


def applies(request: Request, context: Context) -> bool:
    """True where the cost of a million tokens is asked for and a model and a card are known."""
    slots = request.slots
    has_job = slots.has_model
    has_card = slots.has_card and slots.task in ("infer", None)
    return has_job and has_card and request.says("money.million_tokens")


def compose(request: Request, context: Context) -> Plan:
    """Cost of a million output tokens, alone and with many requests at once."""
    draft = Draft(_without_the_million(request))
    slots = draft.request.slots
    wanted = slots.concurrency or _BUSY
    length = slots.seq_len or (slots.input_len or _PROMPT) + (slots.output_len or _OUTPUT)
    arguments = memory_arguments(slots, task="infer", concurrency=None, batch=None,
                                 seq_len=length)  # fmt: skip
    arguments.pop("with_changes")
    found = yield (
        Call("find_limit", {**arguments, "goal": "most_concurrent"}),
        types_call(draft),
        types_call(draft, everywhere=slots.provider is None),
    )
    draft.use(*found)
    limit = found[0].report
    held = limit.value if isinstance(limit, LimitReport) else wanted
    if not held:
        draft.say("token_cost.no_fit", importance=HEAD)
        return draft.finish("does_not_fit")
    rate = _rate(draft, found[1].report) or _rate(draft, found[2].report)
    many = min(wanted, held)
    levels = sorted({1, many})
    results = yield tuple(
        Call("estimate_time_and_cost", time_arguments(
            draft, task="infer", concurrency=level, batch=None))
        for level in levels
    )  # fmt: skip
    draft.use(*results)
    if rate is None:
        draft.say("token_cost.no_price", importance=HEAD)
        return draft.finish("depends")
    for level, result in zip(reversed(levels), reversed(results), strict=True):
        if not isinstance(result.report, TimeReport) or result.report.tokens_per_s is None:
            draft.add(quoted_hint(draft, result), importance=HEAD)
            return draft.finish("depends")
        _tell(draft, result.report, rate, level, is_first=level == many)
    _say_basis(draft, rate, wanted, held)
    return draft.finish("depends", intent="cost_estimate")


def _without_the_million(request: Request) -> Request:
    """The request without the million read as the length of an answer or an amount of work."""
    slots = request.slots
    is_million = slots.output_len is not None and slots.output_len > _LONGEST_ANSWER
    update: dict[str, Any] = {"output_len": None} if is_million else {}
    return request.model_copy(update={"slots": slots.model_copy(update={**update, "tokens": None})})


def _rate(draft: Draft, found: object) -> _Rate | None:
    """The price that was said, of all cards; else that of the cheapest machine with them."""
    slots = draft.request.slots
    said, count = slots.first_price, slots.gpu_count or 1
    if said is not None:
        amount = said.amount * (count if draft.request.says("money.per_card") else 1)
        return _Rate(amount, said.currency or "USD", "user:price", None)
    rows = found.instances if isinstance(found, InstancesReport) else ()
    priced = [row for row in rows if row.price is not None and row.price.per == "hour"
              and (row.gpu_count or 0) * (row.gpu_share or 1) >= count]  # fmt: skip
    if not priced:
        return None
    best = min(priced, key=lambda row: float(row.price.amount) if row.price else 0.0)
    assert best.price is not None
    return _Rate(float(best.price.amount), best.price.currency, best.price.source, best)


def _tell(draft: Draft, report: TimeReport, rate: _Rate, level: int, *, is_first: bool) -> None:
    total = report.tokens_per_s
    assert total is not None
    costs = {
        name: rate.amount / (speed * 3600) * _MILLION
        for name, speed in (("value", total.value), ("low", total.high), ("high", total.low))
    }
    told = {}
    for name, cost in costs.items():
        shown = float(format_significant(cost, 2))
        draft.figure(f"cost of a million tokens at {level}: {name}", shown, rate.currency,
                     formula="price per hour / (tokens per s * 3600) * 1e6")  # fmt: skip
        told[name] = money(shown, rate.currency, draft.language)
    speeds = {"total": total.value, "total_low": total.low, "total_high": total.high}
    for name, speed in speeds.items():
        draft.figure(f"tokens per s at {level}: {name}", float(format_significant(speed, 2)),
                     "token/s", formula="all streams together")  # fmt: skip
    draft.figure("requests at once", level, "1", sources=("user:concurrency",))
    draft.say(
        "token_cost.many" if is_first and level > 1 else "token_cost.alone",
        level=level,
        importance=HEAD if is_first else BODY,
        **told,
        **{name: format_significant(speed, 2) for name, speed in speeds.items()},
    )
    if is_first:
        draft.assume(report.assumptions)


def _say_basis(draft: Draft, rate: _Rate, wanted: int, held: int) -> None:
    """The price, the lengths, what the card holds, and what an idle hour does to the sum."""
    slots = draft.request.slots
    held_lengths = {a.name: a.value for a in draft.assumptions}
    prompt = slots.input_len or held_lengths.get("prompt_len") or slots.seq_len
    output = slots.output_len or held_lengths.get("output_len")
    for name, value in (("prompt_len", prompt), ("output_len", output)):
        draft.figure(name, int(value or 0), "token", formula="of the speed that is told")
    draft.figure("price_per_hour", rate.amount, f"{rate.currency}/h", sources=(rate.source,))
    draft.say("token_cost.basis", price=hourly(rate.amount, rate.currency, draft.language),
              prompt=prompt, output=output)  # fmt: skip
    if rate.row is not None:
        draft.add(short_line(draft, rate.row))
        draft.offer([rate.row.as_offer()])
    if held < wanted:
        draft.figure("requests_held", held, "1", formula="most concurrent that fit")
        draft.say("token_cost.held", held=held, wanted=wanted)
    draft.figure("usual_load", _USUAL_LOAD * 100, "%", sources=("rule:usual-load",))
    times = format_significant(1 / _USUAL_LOAD, 2)
    draft.figure("idle_factor", float(times), "1", formula="1 / usual load")
    draft.say("token_cost.load", share=f"{_USUAL_LOAD * 100:.0f}%", times=times)
    draft.say("token_cost.api", importance=DETAIL)
