"""What a budget of a day, a week, a month or in all buys of an offer."""

from __future__ import annotations

from typing import Any

from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import money, usual_currency
from agent.request import Request
from agent.toolbox.rent import RecommendedOut
from tools.units import HOURS_PER_MONTH, format_significant

HOURS_OF = {"day": 24.0, "week": 168.0, "month": float(HOURS_PER_MONTH)}
"""Hours of a period that a budget is said for."""


def period_of(request: Request) -> str:
    """What a budget is for: an hour, a day, a week, a month, or all of it."""
    budget = request.slots.budget
    if budget is None or budget.per in (None, "total"):
        return "total"
    return budget.period if budget.period in ("day", "week") else str(budget.per)


def hours_held(period: str) -> float:
    """Hours by which an amount that is kept an hour is multiplied, to be that of its period."""
    return HOURS_OF[period] if period in ("day", "week") else 1.0


def is_covered(request: Request, offer: RecommendedOut) -> bool:
    """Whether a budget a day or a month pays for an offer round the clock."""
    full = HOURS_OF.get(period_of(request))
    return full is None or (offer.affordable_hours or 0) >= full


def say_budget(draft: Draft, offer: RecommendedOut) -> None:
    """What a budget buys of the first choice: all of the time, or so many hours."""
    budget, hours = draft.request.slots.budget, offer.affordable_hours
    period = period_of(draft.request)
    if budget is None or hours is None:
        return
    full = HOURS_OF.get(period)
    amount = budget.amount * hours_held(period)
    currency = budget.currency or usual_currency(draft.language)
    told_amount = money(amount, currency, draft.language)
    draft.figure("budget", amount, currency, sources=("user:budget",))
    draft.figure("affordable_hours", round(hours, 2), "h", formula="budget / price")
    values: dict[str, Any] = {"budget": told_amount, "hours": format_significant(hours, 3)}
    if full is None:
        draft.say("rent.budget_total", importance=HEAD, **values)
    elif hours >= full:
        draft.say(f"rent.budget_covers_{period}", importance=HEAD, **values)
    else:
        each = hours * 24 / full
        draft.figure("hours_a_day", round(each, 2), "h", formula="affordable_hours / days")
        draft.say(f"rent.budget_part_{period}", each=format_significant(each, 2),
                  full=f"{full:g}", importance=HEAD, **values)  # fmt: skip


def paid_hours(draft: Draft, offer: RecommendedOut) -> str:
    """Hours that the budget buys of another choice."""
    if draft.request.slots.budget is None or offer.affordable_hours is None:
        return ""
    hours = offer.affordable_hours
    draft.figure(f"{offer.instance.instance_type}: affordable", round(hours, 2), "h",
                 formula="budget / price")  # fmt: skip
    return draft.phrase("rent.paid_hours", hours=format_significant(hours, 3))
