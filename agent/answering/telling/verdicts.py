"""The first sentence of an answer about fit: the verdict, the need, what it is compared with."""

from __future__ import annotations

from typing import Any

from agent.answer import AssumptionOut, Verdict
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import gib, gib_range
from agent.answering.telling.parts import PARTS
from agent.answering.telling.run_words import card_name, run_text
from agent.toolbox.memory import MemoryReport
from tools.memory import cache_pool
from tools.units import bytes_from_gb, format_significant

_BORDERLINE = 1.05
"""Times the usable memory up to which the answer is open: settings decide."""


_LARGEST_BYTES = bytes_from_gb(141)
"""Memory of the largest common card: a need above it is that of all cards together."""


_ABSURD = 20
"""Times the usable memory from which a need is called out of all proportion."""


def requests_held(draft: Draft, report: MemoryReport) -> tuple[int, int] | None:
    """Full-length requests that a paged engine's cache holds, and those asked for.

    None where there is no such engine, one request, or not even room for one.
    """
    held = {a.name: a.value for a in report.assumptions}
    slots = draft.request.slots
    asked = int(slots.concurrency or slots.batch or held.get("batch") or 1)
    if report.pool_bytes is None or asked < 2 or report.kv_cache_bytes <= 0:
        return None
    each = report.kv_cache_bytes / asked
    room = report.pool_bytes - (report.process_bytes - report.kv_cache_bytes)
    count = int(room // each)
    return (count, asked) if 1 <= count < asked else None


def is_queued(draft: Draft, report: MemoryReport) -> bool:
    """Whether a server starts with less cache than all requests would take: the others wait."""
    is_over = report.task == "infer" and report.verdict == "does_not_fit"
    return is_over and requests_held(draft, report) is not None


def cannot_start(draft: Draft, report: MemoryReport) -> bool:
    """Whether an engine's share of the card that was said is below what has to go into it.

    Weights, work and the cache of one request are what the share has to hold; the CUDA context
    lies outside of it, and further requests wait.
    """
    share = draft.request.slots.gpu_memory_utilization
    if share is None or report.pool_bytes is None or report.task != "infer":
        return False
    if report.verdict in (None, "does_not_fit"):
        return False
    held = {a.name: a.value for a in report.assumptions}
    slots = draft.request.slots
    asked = int(slots.concurrency or slots.batch or held.get("batch") or 1)
    waiting = report.kv_cache_bytes - report.kv_cache_bytes // asked
    inside = report.process_bytes - report.part("cuda_context") - waiting
    return inside > report.pool_bytes


def say_verdict(draft: Draft, report: MemoryReport) -> None:
    """The first sentence: fits or not, the need, and what it is compared with."""
    values: dict[str, object] = {
        "what": run_text(draft, report),
        "need": gib(report.process_bytes),
        "range": gib_range(report.low_bytes, report.high_bytes),
    }
    if report.verdict is None or report.usable_bytes is None or report.headroom_bytes is None:
        key = "memory.need_only"
        if report.gpu is None and report.process_bytes > _LARGEST_BYTES:
            key = f"memory.need_whole_{report.task}"
        draft.say(key, importance=HEAD, **values)
        return
    draft.figure("headroom", report.headroom_bytes, "B", formula="usable - need")
    if report.headroom_bytes < 0:
        draft.figure("shortfall", -report.headroom_bytes, "B", formula="need - usable")
    draft.figure(
        "usable_memory", report.usable_bytes, "B", sources=(f"data:gpus.csv#{report.gpu}",)
    )
    if cannot_start(draft, report):
        _say_share_short(draft, report, report.usable_bytes, values)
        return
    queue = requests_held(draft, report) if is_queued(draft, report) else None
    if queue is not None:
        values |= {"held": queue[0], "asked": queue[1]}
        draft.figure("requests_held", queue[0], "1",
                     formula="(pool - weights - work) / cache of a request")  # fmt: skip
    draft.say(
        "memory.queues" if queue else _verdict_key(report, report.usable_bytes),
        importance=HEAD,
        card=card_name(draft, report),
        usable=gib(report.usable_bytes),
        headroom=gib(report.headroom_bytes),
        short=gib(-report.headroom_bytes),
        **values,
    )
    if report.pool_bytes is not None and report.process_bytes > 0.95 * report.pool_bytes:
        draft.figure("engine_pool", report.pool_bytes, "B", formula="usable * utilization")
        _say_pool(draft, report, report.usable_bytes)
    if is_borderline(report):
        draft.say("memory.borderline")
    if report.process_bytes > _ABSURD * report.usable_bytes:
        times = report.process_bytes / report.usable_bytes
        draft.say(
            "memory.absurd", times=f"{float(format_significant(times, 2)):,.0f}", importance=HEAD
        )


def _verdict_key(report: MemoryReport, usable: int) -> str:
    """The sentence of a verdict: which side of the usable memory the interval reaches."""
    reaches_over = report.high_bytes > usable
    if verdict_of(report) == "depends":
        return "memory.nearly"
    if report.verdict == "fits" and reaches_over:
        return "memory.fits_likely"
    if report.verdict == "tight" and not reaches_over:
        return "memory.tight_below"
    return f"memory.{report.verdict}"


def _say_pool(draft: Draft, report: MemoryReport, usable: int) -> None:
    """What the engine may take at its share of the card, where that is what runs short."""
    assert report.pool_bytes is not None
    share = draft.request.slots.gpu_memory_utilization
    words = pool_words(draft)
    if share is None:
        draft.say("memory.pool", pool=gib(report.pool_bytes), **words)
        return
    draft.figure("utilization", share, "1", sources=("user:gpu_memory_utilization",))
    needed = report.process_bytes / usable
    is_short = report.process_bytes > report.pool_bytes
    key = "memory.pool_short" if is_short and needed <= _MOST_SHARE else "memory.pool_given"
    draft.figure("utilization_needed", round(needed + 0.005, 2), "1", formula="need / usable")
    draft.say(key, share=f"{share:g}", pool=gib(report.pool_bytes),
              needed=f"{needed + 0.005:.2f}", **words)  # fmt: skip


def _say_share_short(
    draft: Draft, report: MemoryReport, usable: int, values: dict[str, object]
) -> None:
    """The share that was said is too small: the verdict on it, and the share that would do."""
    assert report.pool_bytes is not None
    share = draft.request.slots.gpu_memory_utilization
    needed = report.process_bytes / usable
    draft.figure("engine_pool", report.pool_bytes, "B", formula="usable * utilization")
    draft.figure("utilization", share or 0, "1", sources=("user:gpu_memory_utilization",))
    draft.figure("utilization_needed", round(needed + 0.005, 2), "1", formula="need / usable")
    key = "share_short" if needed <= _MOST_SHARE else "share_short_card"
    draft.say(f"memory.{key}", importance=HEAD, share=f"{share:g}", pool=gib(report.pool_bytes),
              needed=f"{needed + 0.005:.2f}", usable=gib(usable),
              card=card_name(draft, report), **pool_words(draft), **values)  # fmt: skip


def pool_words(draft: Draft) -> dict[str, Any]:
    """How the engine spells its share, its longest request and its requests at once."""
    pool = cache_pool(draft.request.slots.framework)
    if not pool.is_reserved:
        pool = cache_pool(None)
    return {"engine": pool.title, "flag": pool.flag, "length_flag": pool.length,
            "requests_flag": pool.requests}  # fmt: skip


_MOST_SHARE = 0.97
"""Share of a card beyond which a server leaves the driver and its graphs no room."""


def is_borderline(report: MemoryReport) -> bool:
    """True when a need is above the card by little, and length or batch could make up for it."""
    if report.verdict != "does_not_fit" or report.usable_bytes is None:
        return False
    movable = report.part(*PARTS["kv"], *PARTS["activations"])
    if report.process_bytes - movable > report.usable_bytes:
        return False
    return report.process_bytes <= _BORDERLINE * report.usable_bytes


_MOVES = ("seq_len", "micro_batch_size", "context_len", "batch")
"""Assumptions that may be changed to make a run fit."""


def _can_shrink(assumption: AssumptionOut) -> bool:
    """Whether an assumption may be lowered: a length, or a batch that is more than one."""
    is_least = assumption.name in ("batch", "micro_batch_size") and assumption.value == 1
    return assumption.name in _MOVES and not is_least


def verdict_of(report: MemoryReport) -> Verdict:
    """An estimate's verdict; open at the border, and about nothing where no card was named."""
    if report.verdict is None:
        return "not_applicable"
    is_open = any(_can_shrink(a) for a in report.assumptions)
    return "depends" if is_open and is_borderline(report) else report.verdict
