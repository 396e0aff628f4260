"""What a job costs on spot and by subscription, beside its cost on demand."""

from __future__ import annotations

from collections.abc import Generator

from agent.answer import CitationOut
from agent.answering.money.interruptions import spot_arguments
from agent.answering.plan import Call
from agent.answering.telling.draft import BODY, EXTRA, HEAD, Draft
from agent.answering.telling.numbers import duration, money
from agent.toolbox import ToolResult
from agent.toolbox.offers import InstanceOut, SpotOut
from agent.toolbox.ranges import Range
from agent.toolbox.spot import SpotReport
from tools.units import HOURS_PER_MONTH, format_significant

_SHORT_HOURS = 1.0
"""Jobs below this are over before billing matters."""
Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], None]


def say_job_billing(draft: Draft, row: InstanceOut, hours: Range, machines: int) -> Steps:
    """Spot and subscription of a job; told first where they were asked for, else where room is."""
    asked = draft.request.slots.billing in ("spot", "subscription") or draft.request.says(
        "money.versus", "billing.compared"
    )
    is_of_money = draft.request.intent == "cost_estimate" or draft.request.says("renting.price")
    importance = HEAD if asked else BODY if is_of_money else EXTRA
    if not asked and (not is_of_money or hours.value < _SHORT_HOURS):
        return
    if row.spot is None:
        if asked:
            draft.say("job_billing.no_spot", importance=importance)
    else:
        yield from _say_spot(draft, row, row.spot, hours, machines, importance)
    _say_subscription(draft, row, hours, machines, BODY if asked else EXTRA)


def _say_spot(
    draft: Draft, row: InstanceOut, spot: SpotOut, hours: Range, machines: int, importance: int
) -> Steps:
    slots = draft.request.slots
    wanted = spot_arguments(draft.request) | {"job_hours": hours.value, "instances": machines}
    if (slots.method or "lora").endswith("lora"):
        wanted["params_b"] = None  # the base does not change and is not saved
    (result,) = yield (Call("spot_plan", wanted),)
    plan = result.report
    if not isinstance(plan, SpotReport) or plan.wall_hours is None:
        return
    draft.use(result)
    longer = 1 + plan.overhead
    draft.figure("overhead_pct", round(plan.overhead * 100, 1), "%", formula="overhead * 100")
    shared = {
        "wall": duration(plan.wall_hours, draft.language),
        "overhead": f"{format_significant(plan.overhead * 100, 2)}%",
        "mtbf": duration(plan.mtbf_hours, draft.language),
    }
    if spot.likely is None:
        ends = [float(price) * plan.wall_hours * machines for price in (spot.low, spot.high)]
        low, high = (_told(draft, amount, spot.currency) for amount in ends)
        draft.say("job_billing.spot_range", low=low, high=high, importance=importance, **shared)
        return
    price = float(spot.likely) * machines * longer
    amounts = [price * value for value in (hours.value, hours.low, hours.high)]
    cost, low, high = (_told(draft, amount, spot.currency) for amount in amounts)
    region = spot.region or draft.phrase("machines.no_region")
    date = spot.as_of or draft.phrase("machines.no_date")
    draft.cite(CitationOut(id=f"spot:{row.instance_type}", title="spot price",
                           locator=f"{region}, {date}"))  # fmt: skip
    draft.say("job_billing.spot", cost=cost, low=low, high=high, region=region, date=date,
              price=money(spot.likely, spot.currency, draft.language),
              hours=duration(hours.value, draft.language), importance=importance,
              **shared)  # fmt: skip
    if row.price is not None and row.price.currency == spot.currency:
        limit = float(row.price.amount) / float(spot.likely) - 1
        draft.figure("spot stops paying", round(limit * 100), "%", formula="on demand / spot - 1")
        draft.say("job_billing.limit", limit=f"{limit * 100:.0f}%", importance=BODY)


def _told(draft: Draft, amount: float, currency: str) -> str:
    return draft.about_money("spot_cost", amount, currency, formula="price * hours on spot")


def _say_subscription(
    draft: Draft, row: InstanceOut, hours: Range, machines: int, importance: int
) -> None:
    """Whether a month's subscription would pay for this job."""
    price = row.price
    if price is None or price.per != "hour" or hours.value > HOURS_PER_MONTH:
        return
    rent = next((p for p in row.listed if p.billing == "subscription"), None)
    if rent is None:
        used = float(price.amount) * hours.value
        told = draft.about_money(
            "job on one machine", used, price.currency, formula="hours * price"
        )
        draft.say("job_billing.no_subscription", cost=told, importance=importance)
        return
    pays = float(rent.per_month) / float(price.amount)
    draft.figure("break-even hours", pays, "h", formula="price of a month / price of an hour")
    draft.figure("job hours", hours.value, "h", formula="work / speed")
    draft.figure("rent", rent.per_month, rent.currency, formula="price of a month")
    key = "worth" if hours.value >= pays else "not_worth"
    date = rent.priced_on or draft.phrase("machines.no_date")
    draft.cite(CitationOut(id=rent.source, title="subscription", locator=f"{rent.locator}, {date}"))
    draft.say("job_billing.subscription", rent=money(rent.per_month, rent.currency, draft.language),
              date=date, hours=format_significant(hours.value, 3), pays=f"{pays:.0f}",
              verdict=draft.phrase(f"job_billing.{key}"), importance=importance)  # fmt: skip
