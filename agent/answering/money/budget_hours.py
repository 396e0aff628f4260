"""Hours that a sum of money pays at an hourly price, both said in the question."""

from __future__ import annotations

from agent.answering.plan import Context, Plan
from agent.answering.telling.draft import DETAIL, HEAD, Draft
from agent.answering.telling.numbers import hourly, money, usual_currency
from agent.request import Money, Request
from tools.units import format_significant

_INTENTS = ("cost_estimate", "time_estimate", "recommend_instance")
_DAY_H = 24


def applies(request: Request, context: Context) -> bool:
    """True where a sum and an hourly price are given and the hours are asked for."""
    is_open = request.slots.hours is None and request.slots.step_s is None
    return (
        request.intent in _INTENTS
        and is_open
        and request.says("money.asks_hours")
        and _sum_and_price(request) is not None
    )


def _sum_and_price(request: Request) -> tuple[Money, Money] | None:
    """The sum and the hourly price; None where either is missing or the currencies differ."""
    slots = request.slots
    said = slots.price if isinstance(slots.price, tuple) else (slots.price,) if slots.price else ()
    amounts = [*said, *([slots.budget] if slots.budget is not None else [])]
    rates = [m for m in amounts if m.per == "hour"]
    sums = [m for m in amounts if m.per in (None, "total")]
    if len(rates) != 1 or len(sums) != 1 or rates[0].amount <= 0:
        return None
    currencies = {m.currency for m in (rates[0], sums[0]) if m.currency}
    return (sums[0], rates[0]) if len(currencies) <= 1 else None


def compose(request: Request, context: Context) -> Plan:
    """The quotient, with its factors."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    found = _sum_and_price(request)
    assert found is not None
    total, an_hour = found
    currency = total.currency or an_hour.currency or usual_currency(draft.language)
    cards = (request.slots.gpu_count or 1) if request.says("money.per_card") else 1
    hours = total.amount / an_hour.amount / cards
    draft.figure("sum", total.amount, currency, sources=("user:budget",))
    draft.figure("price", an_hour.amount, f"{currency}/h", sources=("user:price",))
    draft.figure("hours", round(hours, 3), "h", formula="sum / price / cards")
    draft.figure("days", round(hours / _DAY_H, 3), "day", formula="hours / 24")
    told = ""
    if cards > 1:
        draft.figure("cards", cards, "1", sources=("user:gpu_count",))
        told = draft.phrase("budget_hours.cards", count=cards)
    draft.say("budget_hours.head", hours=format_significant(hours, 3), cards=told,
              days=format_significant(hours / _DAY_H, 2),
              amount=money(total.amount, currency, draft.language),
              rate=hourly(an_hour.amount, currency, draft.language),
              importance=HEAD)  # fmt: skip
    draft.figure("room", 10, "%", sources=("rule:room-of-a-budget",))
    draft.figure("room_at_most", 20, "%", sources=("rule:room-of-a-budget",))
    draft.say("budget_hours.mind", importance=DETAIL)
    return draft.finish("not_applicable", intent="cost_estimate")
    yield  # one shape for every composer
