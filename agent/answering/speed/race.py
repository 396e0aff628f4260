"""Cards side by side at one job: both speeds, their ratio, and what a million tokens cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from agent.answering.plan import Call
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.machines import short_line
from agent.answering.telling.numbers import rate
from agent.answering.telling.run_words import joined
from agent.toolbox import ToolResult
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.offers import InstanceOut
from agent.toolbox.ranges import Range
from agent.toolbox.timing import TimeReport
from tools.units import format_significant

_TOKENS = 1_000_000
_PEERS = 1.1
"""Ratio of two speeds below which neither is said to be faster."""


class Runner(NamedTuple):
    """One card at the job."""

    name: str
    speed: Range
    """Tokens per second of all its cards together."""
    offer: InstanceOut | None
    """The cheapest machine with it that has a price."""


def race_calls(draft: Draft, cards: Sequence[tuple[str, int]]) -> list[Call]:
    """Speed and prices of each card, in the order of the cards."""
    from agent.answering.speed.times import time_arguments

    slots = draft.request.slots
    is_training = slots.task == "train"
    calls = []
    for name, count in cards:
        changes: dict[str, Any] = {"gpu": name, "gpu_count": count}
        if is_training:
            changes |= {"task": "train", "method": slots.method or "lora"}
        else:
            changes |= {"task": "infer", "concurrency": slots.concurrency or slots.batch or 1,
                        "batch": None}  # fmt: skip
        calls.append(Call("estimate_time_and_cost", time_arguments(draft, **changes)))
    for name, count in cards:
        asked = {"gpu": name, "provider": slots.provider, "min_gpu_count": count,
                 "max_gpu_count": count, "limit": 50}  # fmt: skip
        calls.append(Call("find_instances", {k: v for k, v in asked.items() if v is not None}))
    return calls


def say_race(
    draft: Draft,
    names: Sequence[str],
    speeds: Sequence[ToolResult],
    offers: Sequence[ToolResult],
    *,
    short: Sequence[str] = (),
) -> bool:
    """Tells who is faster and by how much; False where fewer than two speeds are known.

    Args:
        draft: The answer in the making.
        names: The cards.
        speeds: What the tool said of each.
        offers: Machines with each.
        short: Cards that do not hold the job.
    """
    runners = [
        Runner(name, speed.report.tokens_per_s, _cheapest(offer))
        for name, speed, offer in zip(names, speeds, offers, strict=False)
        if isinstance(speed.report, TimeReport) and speed.report.tokens_per_s is not None
    ]
    if len(runners) < 2:
        return False
    runners.sort(key=lambda r: -r.speed.value)
    first, last = runners[0], runners[-1]
    ratio = first.speed.value / last.speed.value
    draft.figure("speed_ratio", round(ratio, 2), "1", formula="faster / slower")
    job = "train" if draft.request.slots.task == "train" else "infer"
    key = f"compare.faster_{job}" if ratio >= _PEERS else f"compare.peers_{job}"
    draft.say(key, gpu=first.name, other=last.name, ratio=format_significant(ratio, 2),
              fast=rate(first.speed.value),
              slow=rate(last.speed.value), importance=HEAD)  # fmt: skip
    if short:
        draft.say("compare.race_short", cards=joined(draft, list(short)), importance=HEAD)
    items = [_line(draft, runner) for runner in runners]
    slots = draft.request.slots
    streams = slots.concurrency or slots.batch or 1
    draft.bullets(items, title=draft.phrase(f"compare.race_title_{job}", streams=streams))
    _say_cheaper(draft, runners)
    for result in speeds:
        if isinstance(result.report, TimeReport):
            draft.assume(result.report.assumptions)
    return True


def _cheapest(result: ToolResult) -> InstanceOut | None:
    rows = result.report.instances if isinstance(result.report, InstancesReport) else ()
    priced = [r for r in rows if r.price is not None and r.category == "gpu"]
    cny = [r for r in priced if r.price is not None and r.price.currency == "CNY"]
    return min(cny or priced, key=lambda r: r.price.amount if r.price else 0, default=None)


def _per_million(runner: Runner) -> float | None:
    if runner.offer is None or runner.offer.price is None:
        return None
    return float(runner.offer.price.amount) * _TOKENS / (runner.speed.value * 3600)


def _line(draft: Draft, runner: Runner) -> str:
    values = {name: rate(getattr(runner.speed, name)) for name in ("value", "low", "high")}
    cost, offer = _per_million(runner), runner.offer
    if cost is None or offer is None or offer.price is None:
        return draft.phrase("compare.race_line", gpu=runner.name, **values)
    draft.offer([offer.as_offer()])
    currency = offer.price.currency
    draft.figure(f"cost_per_million {runner.name}", round(cost, 3), currency,
                 formula="price per hour / tokens per hour")  # fmt: skip
    return draft.phrase("compare.race_line_cost", gpu=runner.name, line=short_line(draft, offer),
                        cost=draft.about_money(f"cost of {runner.name}", cost, currency,
                                               formula="price / tokens"), **values)  # fmt: skip


def _say_cheaper(draft: Draft, runners: Sequence[Runner]) -> None:
    """Which one costs less a token, where both have a price in one currency."""
    costs = [
        (cost, r.name, r.offer.price.currency)
        for r in runners
        if (cost := _per_million(r)) is not None and r.offer is not None and r.offer.price
    ]
    if len(costs) < 2 or len({c[2] for c in costs}) > 1:
        return
    best, worst = min(costs), max(costs)
    ratio = worst[0] / best[0]
    draft.figure("cost_ratio", round(ratio, 2), "1", formula="dearer / cheaper")
    draft.say("compare.cheaper", gpu=best[1], ratio=format_significant(ratio, 2))
