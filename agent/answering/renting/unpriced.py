"""A machine that was named, holds the run, and has no price in the catalog."""

from __future__ import annotations

from collections.abc import Generator

from agent.answering.plan import Call
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.machines import (
    instance_line,
    price_text,
    say_price_sources,
    short_line,
)
from agent.answering.telling.numbers import gib
from agent.answering.telling.run_words import run_text
from agent.toolbox import ToolResult
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.memory import MemoryReport
from agent.toolbox.offers import InstanceOut

Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], bool]


def say_unpriced(draft: Draft, need: MemoryReport, results: tuple[ToolResult, ...]) -> Steps:
    """That it holds the run, that its price is not known, and what the same card costs elsewhere.

    Returns:
        False, with nothing said, where no such machine was named.
    """
    row = _named(draft, results)
    if row is None or row.price is not None or need.usable_bytes is None:
        return False
    if need.verdict not in ("fits", "tight"):
        return False
    draft.say(
        f"unpriced.{need.verdict}",
        what=run_text(draft, need),
        line=instance_line(draft, row),
        need=gib(need.process_bytes),
        usable=gib(need.usable_bytes),
        importance=HEAD,
    )
    count = row.gpu_count or 1
    results = yield (
        Call("find_instances", {"gpu": need.gpu, "any_variant": True, "min_gpu_count": count,
                                "max_gpu_count": count, "limit": 50}),
    )  # fmt: skip
    draft.use(*results)
    same = _cheapest_by_currency(results[0], gpu=need.gpu)
    same = same or _cheapest_by_currency(results[0], memory_gb=row.gpu_memory_gb)
    if not same:
        draft.say("unpriced.none", gpu=need.gpu)
        return True
    title = draft.phrase("unpriced.elsewhere", gpu=need.gpu)
    draft.bullets([short_line(draft, other) for other in same], title=title, importance=HEAD)
    _say_day(draft, same[0])
    draft.offer(other.as_offer() for other in same)
    say_price_sources(draft, same)
    return True


def _named(draft: Draft, results: tuple[ToolResult, ...]) -> InstanceOut | None:
    """The type that was named, as the catalog has it."""
    name = draft.request.slots.instance
    rows = [row for r in results if isinstance(r.report, InstancesReport)
            for row in r.report.instances]  # fmt: skip
    return next((row for row in rows if row.instance_type == name), None)


def _cheapest_by_currency(
    result: ToolResult, *, gpu: str | None = None, memory_gb: float | None = None
) -> list[InstanceOut]:
    """The lowest price an hour of each currency, of whole cards of that row or that size."""
    report = result.report
    rows = report.instances if isinstance(report, InstancesReport) else ()
    best: dict[str, InstanceOut] = {}
    for row in rows:
        price = row.price
        is_same = row.gpu == gpu if gpu is not None else row.gpu_memory_gb == memory_gb
        if price is None or price.per != "hour" or row.gpu_share not in (None, 1) or not is_same:
            continue
        held = best.get(price.currency)
        if held is None or held.price is None or price.amount < held.price.amount:
            best[price.currency] = row
    return list(best.values())


_DAY_H = 24


def _say_day(draft: Draft, row: InstanceOut) -> None:
    """What a day of the priced one comes to."""
    assert row.price is not None
    draft.figure("hours of a day", _DAY_H, "h", formula="24")
    cost = draft.about_money("day", float(row.price.amount) * _DAY_H, row.price.currency,
                             formula="price * 24 h")  # fmt: skip
    draft.say("unpriced.day", type=row.instance_type, cost=cost,
              price=price_text(draft, row.price))  # fmt: skip
