"""On demand beside spot for the same hours: both totals, and what spot saves."""

from __future__ import annotations

from collections.abc import Sequence

from agent.answering.money.factors import Factor, product, record
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import hourly, money
from agent.toolbox.offers import PriceOut, SpotOut


def say_versus(draft: Draft, price: PriceOut, spot: SpotOut, factors: Sequence[Factor]) -> None:
    """Tells both totals; of a range of spot prices its ends."""
    currency, times = price.currency, product(factors)
    full = record(draft, factors, float(price.amount), currency)

    def told(amount: float, name: str, formula: str) -> str:
        draft.figure(name, round(amount, 4), currency, formula=formula)
        return money(amount, currency, draft.language)

    values = {"hours": f"{factors[0].value:g}",
              "full": money(full, currency, draft.language)}  # fmt: skip
    if spot.likely is None:
        draft.say("sums.versus_range", importance=HEAD, **values,
                  low=told(float(spot.low) * times, "spot_low", "lowest spot price * hours"),
                  high=told(float(spot.high) * times, "spot_high", "highest spot price * hours"),
                  )  # fmt: skip
    else:
        likely = float(spot.likely)
        share = 1 - likely / float(price.amount)
        draft.figure("saved_share", round(share, 4), "1", formula="1 - spot / on demand")
        draft.say("sums.versus", importance=HEAD, **values,
                  spot=told(likely * times, "spot_cost", "spot price * hours"),
                  saved=told(full - likely * times, "saved", "on demand - spot"),
                  share=f"{share * 100:.0f}%",
                  spot_price=hourly(likely, currency, draft.language),
                  price=hourly(float(price.amount), currency, draft.language))  # fmt: skip
    draft.say("sums.versus_mind")
