"""Cards side by side at one job: both speeds, their ratio, and what the work costs on each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from agent.answering.plan import Call
from agent.answering.speed.race_prices import HourPrice, hour_prices, price_calls, told_price
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import count as counted
from agent.answering.telling.numbers import duration, hourly, rate
from agent.answering.telling.run_words import joined
from agent.toolbox import ToolResult
from agent.toolbox.ranges import Range
from agent.toolbox.timing import TimeReport
from tools.units import format_significant

_TOKENS = 1_000_000
PEERS = 1.1
"""Ratio of two speeds below which neither is said to be faster."""
_TWICE = 2.0


class Runner(NamedTuple):
    """One card, or several of it, at the job."""

    name: str
    speed: Range
    """Units of work per second of all its cards together."""
    price: HourPrice | None
    holds: bool = True
    """Whether its memory holds the job."""


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
    return calls + price_calls(draft, cards)


def say_race(
    draft: Draft,
    names: Sequence[str],
    speeds: Sequence[ToolResult],
    offers: Sequence[ToolResult],
    *,
    short: Sequence[int] = (),
) -> bool:
    """Tells who is faster and by how much; False where fewer than two speeds are known.

    Args:
        draft: The answer in the making.
        names: The cards.
        speeds: What the tool said of each.
        offers: Machines with each.
        short: Places of the cards that do not hold the job.
    """
    prices = hour_prices(draft, offers)
    runners = [
        Runner(name, speed.report.tokens_per_s, price, place not in short)
        for place, (name, speed, price) in enumerate(zip(names, speeds, prices, strict=False))
        if isinstance(speed.report, TimeReport) and speed.report.tokens_per_s is not None
    ]
    if len(runners) < 2:
        return False
    runners = ranked(runners)
    job = "train" if draft.request.slots.task == "train" else "infer"
    say_holders(draft, runners)
    ratio = ratio_of(draft, runners)
    if ratio is not None:
        first, last = racing(runners)
        key = f"compare.faster_{job}" if ratio >= PEERS else f"compare.peers_{job}"
        draft.say(key, gpu=first.name, other=last.name, ratio=told_ratio(ratio),
                  fast=rate(first.speed.value),
                  slow=rate(last.speed.value), importance=HEAD)  # fmt: skip
    say_cheaper(draft, runners, unit="token")
    work = _tokens(draft)
    items = [_line(draft, runner, work) for runner in runners]
    slots = draft.request.slots
    streams = slots.concurrency or slots.batch or 1
    draft.bullets(items, title=draft.phrase(f"compare.race_title_{job}", streams=streams))
    for result in speeds:
        if isinstance(result.report, TimeReport):
            draft.assume(result.report.assumptions)
    return True


def ranked(runners: Sequence[Runner]) -> list[Runner]:
    """Those that hold the job first, the faster first."""
    return sorted(runners, key=lambda r: (not r.holds, -r.speed.value))


def racing(runners: Sequence[Runner]) -> tuple[Runner, Runner]:
    """The two that are set against each other: the fastest and the slowest that hold the job.

    Where one alone holds it, it stands against the slowest of the others, unless one of them is
    faster than it; then it stands alone.
    """
    holding = [r for r in runners if r.holds] or list(runners)
    if len(holding) > 1:
        return holding[0], holding[-1]
    rest = sorted((r for r in runners if r is not holding[0]), key=lambda r: r.speed.value)
    is_fastest = bool(rest) and rest[-1].speed.value <= holding[0].speed.value
    return holding[0], rest[0] if is_fastest else holding[0]


def ratio_of(draft: Draft, runners: Sequence[Runner]) -> float | None:
    """How much the fastest is ahead of the slowest; None where one alone is to be told of."""
    first, last = racing(runners)
    if first is last:
        return None
    ratio = first.speed.value / last.speed.value
    draft.figure("speed_ratio", round(ratio, 2), "1", formula="faster / slower")
    return ratio


def told_ratio(ratio: float) -> str:
    """A ratio of two speeds; with two decimals where hardly one is ahead.

    >>> told_ratio(5.43), told_ratio(1.024)
    ('5.4', '1.02')
    """
    return format_significant(ratio, 2) if ratio >= PEERS else f"{ratio:.2f}"


def say_holders(draft: Draft, runners: Sequence[Runner]) -> None:
    """Who holds the job, where some cards do not."""
    holding = [r.name for r in runners if r.holds]
    short = [r.name for r in runners if not r.holds]
    if not short:
        return
    if not holding:
        draft.say("compare.race_short", cards=joined(draft, short), importance=HEAD)
        return
    draft.say("compare.holders", yes=joined(draft, holding), no=joined(draft, short),
              importance=HEAD)  # fmt: skip


def _tokens(draft: Draft) -> float | None:
    """Tokens of the whole work, where they were said."""
    slots = draft.request.slots
    tokens = slots.tokens
    if tokens is None and slots.samples and slots.tokens_per_sample:
        tokens = slots.samples * slots.tokens_per_sample
    if tokens is None:
        return None
    return tokens * (slots.epochs or 1 if slots.task == "train" else 1)


def _line(draft: Draft, runner: Runner, work: float | None) -> str:
    values = {name: rate(getattr(runner.speed, name)) for name in ("value", "low", "high")}
    rest = ""
    if work is not None:
        rest = told_work(
            draft,
            runner,
            work,
            draft.phrase("compare.amount_token", amount=counted(work, draft.language)),
        )
    elif runner.price is not None:
        cost = runner.price.amount * _TOKENS / (runner.speed.value * 3600)
        draft.figure(f"cost_per_million {runner.name}", round(cost, 3), runner.price.currency,
                     formula="price per hour / tokens per hour")  # fmt: skip
        told = draft.about_money(f"cost of {runner.name}", cost, runner.price.currency,
                                 formula="price / tokens")  # fmt: skip
        rest = draft.phrase("compare.per_million", cost=told)
    return draft.phrase("compare.race_line", gpu=runner.name, rest=rest,
                        line=told_price(draft, runner.price), **values)  # fmt: skip


def told_work(draft: Draft, runner: Runner, work: float, amount: str) -> str:
    """Hours of the whole work on one side, and what they cost."""
    hours = work / runner.speed.value / 3600
    draft.figure(f"hours on {runner.name}", hours, "h", formula="work / speed")
    told = duration(hours, draft.language)
    if runner.price is None:
        return draft.phrase("compare.work", amount=amount, hours=told)
    cost = draft.about_money(f"cost on {runner.name}", hours * runner.price.amount,
                             runner.price.currency, formula="hours * price")  # fmt: skip
    return draft.phrase("compare.work_cost", amount=amount, hours=told, cost=cost)


def say_cheaper(draft: Draft, runners: Sequence[Runner], *, unit: str) -> None:
    """Which side does the same work for less; without prices, up to what price the faster does.

    Args:
        draft: The answer in the making.
        runners: Ranked; those that do not hold the job are left out.
        unit: What is paid for: token, image, text, speech or video.
    """
    holding = [r for r in runners if r.holds] or list(runners)
    priced = [(r.price.amount / r.speed.value, r) for r in holding if r.price is not None]
    currencies = {r.price.currency for _, r in priced if r.price is not None}
    told = draft.phrase(f"compare.unit_{unit}")
    if len(holding) > 1 and draft.request.says("concepts.half_the_price"):
        _say_at_twice(draft, holding[0], holding[-1], told)
    elif len(priced) > 1 and len(currencies) == 1:
        (best, cheap), (worst, dear) = (f(priced, key=lambda p: p[0]) for f in (min, max))
        ratio = worst / best
        draft.figure("cost_ratio", round(ratio, 2), "1", formula="dearer / cheaper")
        key = "cheaper" if ratio >= PEERS else "cost_peers"
        draft.say(f"compare.{key}", gpu=cheap.name, other=dear.name, unit=told,
                  ratio=told_ratio(ratio), importance=HEAD)  # fmt: skip
    elif len(holding) > 1:
        _say_break_even(draft, holding, told)


def _say_break_even(draft: Draft, holding: Sequence[Runner], unit: str) -> None:
    """Price of an hour up to which a card without one is the cheaper."""
    first, last = holding[0], holding[-1]
    ratio = first.speed.value / last.speed.value
    unpriced = [r for r in holding if r.price is None]
    base = next((r for r in holding if r.price is not None), None)
    if base is not None and base.price is not None and unpriced:
        for runner in unpriced:
            share = runner.speed.value / base.speed.value
            limit = float(format_significant(base.price.amount * share, 3))
            draft.figure(f"break-even of {runner.name}", limit, f"{base.price.currency}/h",
                         formula="price * ratio of speeds")  # fmt: skip
            draft.say("compare.break_even_price", gpu=runner.name, other=base.name, unit=unit,
                      price=hourly(limit, base.price.currency, draft.language),
                      importance=HEAD)  # fmt: skip
    elif first is not last and ratio >= PEERS:
        draft.say("compare.break_even", gpu=first.name, other=last.name, unit=unit,
                  ratio=format_significant(ratio, 2), importance=HEAD)  # fmt: skip


def _say_at_twice(draft: Draft, first: Runner, last: Runner, unit: str) -> None:
    """Who is cheaper where the faster costs twice as much, whatever the catalog says."""
    ratio = first.speed.value / last.speed.value
    draft.say("compare.break_even", gpu=first.name, other=last.name, unit=unit,
              ratio=told_ratio(ratio), importance=HEAD)  # fmt: skip
    gain = ratio / _TWICE
    winner, factor = (first, gain) if gain >= 1 else (last, 1 / gain)
    draft.figure("cheaper at twice the price", round(factor, 2), "1", formula="ratio / 2")
    draft.say("compare.at_twice", gpu=first.name, winner=winner.name, unit=unit,
              ratio=format_significant(factor, 2), importance=HEAD)  # fmt: skip
