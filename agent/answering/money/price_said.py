"""Cost of computed hours at a price that was said, instead of one from the catalog."""

from __future__ import annotations

from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import hourly, money, usual_currency
from agent.toolbox.timing import TimeReport


def say_cost_at_price(draft: Draft, report: TimeReport) -> bool:
    """Tells hours times the price said; of a price per card, times the cards. False without one."""
    price, hours = draft.request.slots.first_price, report.hours
    if price is None or price.per != "hour" or hours is None:
        return False
    currency = price.currency or usual_currency(draft.language)
    cards = report.gpu_count if draft.request.says("money.per_card") else 1
    draft.figure("price", price.amount, f"{currency}/h", sources=("user:price",))
    draft.figure("cards", cards, "1", sources=("user:gpu_count",))
    amounts = [price.amount * cards * value for value in (hours.value, hours.low, hours.high)]
    for name, amount in zip(("cost", "cost_low", "cost_high"), amounts, strict=True):
        draft.figure(name, round(amount, 4), currency, formula="hours * cards * price")
    told = [money(amount, currency, draft.language) for amount in amounts]
    rate = hourly(price.amount, currency, draft.language)
    times = draft.phrase("sums.times", value=draft.phrase("sums.cards", value=cards))
    draft.say("times.cost_said", rate=rate + (times if cards > 1 else ""), cost=told[0],
              low=told[1], high=told[2], importance=HEAD)  # fmt: skip
    return True
