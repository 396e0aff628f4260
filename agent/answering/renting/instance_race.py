"""Types against each other at one model: whether each holds it, bandwidth, speed, price a token."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

from agent.answer import MemoryRange, Verdict
from agent.answering.plan import Call, Context, Plan
from agent.answering.speed.times import time_arguments
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.machines import cards_text, short_line
from agent.answering.telling.numbers import gib, hourly, money, rate
from agent.answering.telling.run_words import memory_arguments, memory_range, outcome
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.memory import MemoryReport
from agent.toolbox.offers import InstanceOut
from agent.toolbox.registries import GpuReport
from agent.toolbox.timing import TimeReport
from tools.units import format_significant

_TOKENS = 1_000_000
_INTENTS = ("gpu_compare", "serving_plan", "fit_check", "recommend_instance", "cost_estimate")


class _Entry(NamedTuple):
    """One type at the job."""

    row: InstanceOut
    card: GpuReport
    memory: MemoryReport
    speed: TimeReport | None

    @property
    def tokens_per_s(self) -> float | None:
        if self.speed is None or self.speed.tokens_per_s is None:
            return None
        return self.speed.tokens_per_s.value

    @property
    def per_million(self) -> float | None:
        """Price of a million tokens at that speed."""
        if self.row.price is None or not self.tokens_per_s:
            return None
        return float(self.row.price.amount) / (self.tokens_per_s * 3600) * _TOKENS


def applies(request: Request, context: Context) -> bool:
    """True for several named types and a model to serve."""
    slots = request.slots
    has_model = slots.has_model
    is_several = len(slots.instances or ()) > 1
    is_serving = slots.task == "infer" and request.intent in _INTENTS
    return has_model and is_several and is_serving


def compose(request: Request, context: Context) -> Plan:
    """What decides first: decoding goes by bandwidth, money by price over speed."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    rows = yield from _rows(draft)
    entries = yield from _entries(draft, rows)
    if len(entries) < 2:
        draft.bullets([short_line(draft, row) for row in rows], importance=HEAD)
        return draft.finish("not_applicable", intent="gpu_compare")
    _say_head(draft, entries)
    draft.table(
        [draft.phrase(f"instance_race.{name}") for name in ("type", "card", "bandwidth", "memory",
                                                            "speed", "price", "million")],
        [_cells(draft, entry) for entry in entries], importance=HEAD,
    )  # fmt: skip
    draft.say("instance_race.why")
    draft.bullets([short_line(draft, entry.row) for entry in entries])
    draft.offer(entry.row.as_offer() for entry in entries)
    for entry in entries:
        if entry.speed is not None:
            draft.assume(entry.speed.assumptions)
    verdict, memory = _verdict(entries)
    return draft.finish(verdict, memory=memory, intent="gpu_compare")


def _rows(
    draft: Draft,
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], list[InstanceOut]]:
    """The types named; of a family the cheapest with whole cards."""
    slots = draft.request.slots
    results = yield tuple(
        Call(
            "find_instances", {"name": name, "provider": draft.request.cloud_of(name), "limit": 50}
        )
        for name in dict.fromkeys(slots.instances or ())
    )
    draft.use(*results)
    found = []
    for result in results:
        rows = result.report.instances if isinstance(result.report, InstancesReport) else ()
        whole = [r for r in rows if r.gpu is not None and r.category == "gpu"]
        if whole:
            found.append(min(whole, key=lambda r: (r.price is None, r.price.amount if r.price
                                                   else 0)))  # fmt: skip
    return found


def _entries(
    draft: Draft, rows: Sequence[InstanceOut]
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], list[_Entry]]:
    slots = draft.request.slots
    calls = []
    for row in rows:
        count = row.gpu_count or 1
        on_it: dict[str, Any] = {"gpu": row.gpu, "gpu_count": count}
        tp: dict[str, Any] = {"tp": count} if count > 1 else {}
        calls += [
            Call("find_gpu", {"name": row.gpu}),
            Call("estimate_memory", memory_arguments(
                slots, task="infer", instance=None, gpu_mem_gb=None, **on_it, **tp)),
            Call("estimate_time_and_cost", time_arguments(
                draft, task="infer", batch=None,
                concurrency=slots.concurrency or slots.batch or 1, **on_it)),
        ]  # fmt: skip
    results = yield tuple(calls)
    draft.use(*results)
    entries = []
    for number, row in enumerate(rows):
        card, memory, speed = (r.report for r in results[3 * number : 3 * number + 3])
        if isinstance(card, GpuReport) and isinstance(memory, MemoryReport):
            told = speed if isinstance(speed, TimeReport) else None
            entries.append(_Entry(row, card, memory, told))
    return entries


def _say_head(draft: Draft, entries: Sequence[_Entry]) -> None:
    """Faster and dearer, or faster and cheaper: both ratios."""
    known = [e for e in entries if e.tokens_per_s and e.row.price is not None]
    if len(known) < 2 or len({e.row.price.currency for e in known if e.row.price}) > 1:
        return
    known.sort(key=lambda e: -(e.tokens_per_s or 0))
    fast, slow = known[0], known[-1]
    assert fast.row.price is not None
    assert slow.row.price is not None
    speeds = (fast.tokens_per_s or 0) / (slow.tokens_per_s or 1)
    share = float(fast.row.price.amount / slow.row.price.amount) - 1
    draft.figure("speed_ratio", round(speeds, 3), "1", formula="faster / slower")
    draft.figure("price_difference", round(share, 4), "1", formula="price / price - 1")
    best = min(known, key=lambda e: e.per_million or 0)
    dearer = "dearer" if share > 0.02 else "cheaper" if share < -0.02 else "same"
    draft.say("instance_race.head", fast=fast.row.instance_type, slow=slow.row.instance_type,
              ratio=format_significant(speeds, 2),
              price=draft.phrase(f"instance_race.{dearer}", share=f"{abs(share) * 100:.0f}%"),
              best=best.row.instance_type, importance=HEAD)  # fmt: skip


def _cells(draft: Draft, entry: _Entry) -> list[str]:
    row, price = entry.row, entry.row.price
    bandwidth, speed, million = entry.card.mem_bandwidth_gbs, entry.tokens_per_s, entry.per_million
    if million is not None and price is not None:
        draft.figure(f"{row.instance_type}: million tokens", round(million, 4), price.currency,
                     formula="price / (tokens per s * 3600) * 1e6")  # fmt: skip
    return [
        f"`{row.instance_type}`",
        cards_text(draft, row),
        f"{bandwidth:,.0f} GB/s" if bandwidth else "?",
        f"{gib(entry.memory.process_bytes)} / {gib(entry.memory.usable_bytes or 0)} "
        f"({outcome(draft, entry.memory)})",
        f"{rate(speed, 2)} token/s" if speed else "?",
        hourly(price.amount, price.currency, draft.language) if price else "?",
        money(million, price.currency, draft.language) if million and price else "?",
    ]


def _verdict(entries: Sequence[_Entry]) -> tuple[Verdict, MemoryRange]:
    """That of all where they agree; else it depends on which is taken."""
    said = {entry.memory.verdict for entry in entries}
    verdict: Verdict = entries[0].memory.verdict or "depends"
    return verdict if len(said) == 1 else "depends", memory_range(entries[0].memory)
