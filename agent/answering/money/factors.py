"""Factors of a sum of money (hours, machines, cards, runs, epochs, a discount); their product."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import NamedTuple

from agent.answering.money.spans import Span
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import hourly, money


class Factor(NamedTuple):
    """One factor of a sum, as it is told."""

    key: str
    value: float
    told: str


def factors_of(draft: Draft, span: Span, *, of_machine: bool = False) -> list[Factor]:
    """Everything that multiplies a price an hour.

    Args:
        draft: Answer that is written; its request gives the counts.
        span: Hours of use.
        of_machine: Whether the price is that of a machine, which holds all its cards.
    """
    slots = draft.request.slots
    raw: list[tuple[str, float]] = [(span.key, span.hours)]
    machines = slots.instance_count or (slots.nodes if slots.instance is not None else None)
    if machines:
        raw.append(("machines", machines))
    is_each = draft.request.says("money.per_card") and not slots.card_hours
    if slots.gpu_count and slots.gpu_count > 1 and is_each and not of_machine:
        raw.append(("cards", slots.gpu_count))
    if slots.runs:
        raw.append(("runs", slots.runs))
    if slots.epochs and slots.epochs > 1 and draft.request.says("money.per_epoch"):
        raw.append(("epochs", slots.epochs))
    discount = _share_paid(draft)
    if discount and not draft.request.says("money.after_discount"):
        raw.append(("discount", discount))
    return [Factor(key, value, _told(draft, key, value)) for key, value in raw]


def _told(draft: Draft, key: str, value: float) -> str:
    """A factor in words; parts of an hour in minutes."""
    if key == "hours" and value < 1:
        return draft.phrase("sums.minutes", value=f"{round(60 * value, 2):g}")
    return draft.phrase(f"sums.{key}", value=f"{value:g}")


def product(factors: Iterable[Factor]) -> float:
    """What a price is multiplied with."""
    return prod(factor.value for factor in factors)


def record(draft: Draft, factors: Sequence[Factor], price: float, currency: str) -> float:
    """Notes every factor and the cost as figures; gives the cost."""
    for factor in factors:
        is_span = factor.key in ("hours", "week", "month")
        source = f"user:{factor.key}"
        if is_span and factor.key != "hours":
            source = f"rule:hours-of-a-{factor.key}"
        draft.figure(factor.key, factor.value, "h" if is_span else "1", sources=(source,))
    cost = price * product(factors)
    formula = " * ".join(["price", *(f.key for f in factors)])
    draft.figure("cost", round(cost, 4), currency, formula=formula)
    return cost


def say_sum(draft: Draft, factors: Sequence[Factor], price: float, currency: str) -> None:
    """Tells the product, and of several runs or a discount the parts."""
    cost = record(draft, factors, price, currency)
    told = [_rate(draft, price, currency), *(f.told for f in factors)]
    draft.say("sums.head", cost=money(cost, currency, draft.language), factors=" × ".join(told),
              importance=HEAD)  # fmt: skip
    _say_each_run(draft, factors, cost, currency)
    discount = next((f.value for f in factors if f.key == "discount"), None)
    if discount:
        draft.figure("cost_before", round(cost / discount, 4), currency, formula="cost / discount")
        draft.say("sums.before_discount", full=money(cost / discount, currency, draft.language))
    elif draft.request.says("money.after_discount"):
        _say_saved(draft, cost, price, currency)


def _rate(draft: Draft, amount: float, currency: str) -> str:
    return hourly(amount, currency, draft.language)


def _share_paid(draft: Draft) -> float | None:
    """What is left of a price by the discount that was said."""
    discount = draft.request.slots.discount
    return discount if discount is not None and 0 < discount < 1 else None


def _say_each_run(draft: Draft, factors: Sequence[Factor], cost: float, currency: str) -> None:
    runs = next((f.value for f in factors if f.key == "runs"), 0)
    if runs <= 1:
        return
    hours = factors[0].value * runs
    draft.figure("hours_of_all", hours, "h", formula="hours * runs")
    draft.figure("cost_of_one", round(cost / runs, 4), currency, formula="cost / runs")
    draft.say("sums.each_run", each=money(cost / runs, currency, draft.language),
              runs=f"{runs:g}", hours=f"{round(hours, 2):g}")  # fmt: skip


def _say_saved(draft: Draft, cost: float, price: float, currency: str) -> None:
    """What the same hours cost at the list price, where the price said is the one after it."""
    discount = _share_paid(draft)
    if discount is None:
        return
    full = cost / discount
    draft.figure("discount", discount, "1", sources=("user:discount",))
    draft.figure("list_price", price / discount, f"{currency}/h", formula="price / discount")
    draft.figure("cost_before", round(full, 4), currency, formula="cost / discount")
    draft.figure("saved", round(full - cost, 4), currency, formula="cost_before - cost")
    draft.say("sums.saved", full=money(full, currency, draft.language),
              list_price=_rate(draft, price / discount, currency),
              discount=f"{discount:g}", saved=money(full - cost, currency, draft.language),
              importance=HEAD)  # fmt: skip
