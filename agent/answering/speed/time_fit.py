"""Whether a training run fits the card that its hours are asked for, told before the hours."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from agent.answer import Verdict
from agent.answering.fitting.training import scheme_is_open
from agent.answering.plan import Call
from agent.answering.renting.renting import default_provider
from agent.answering.telling.draft import BODY, HEAD, Draft
from agent.answering.telling.machines import short_line
from agent.answering.telling.numbers import gib
from agent.answering.telling.run_words import memory_arguments, outcome
from agent.answering.telling.verdicts import say_verdict
from agent.toolbox import ToolResult
from agent.toolbox.memory import MemoryReport
from agent.toolbox.rent import RecommendReport

_HOLDS = ("fits", "tight", None)
Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], "Room"]


@dataclass(frozen=True, slots=True)
class Room:
    """What was found of the memory of a run before its time is told."""

    verdict: Verdict = "depends"
    is_moved: bool = False
    """Whether the draft's request now names a machine that holds the run."""
    is_sharded: bool = False
    """Whether it holds only split over its cards, whatever the estimate of speed takes."""
    is_homeless: bool = False
    """Whether neither the card asked for nor a type of the catalog holds it."""


def memory_call(draft: Draft, method: str, length: int | None, **changes: Any) -> Call:
    """The memory of the run whose time is asked for, at the length of its samples."""
    slots = draft.request.slots
    said = {"seq_len": slots.seq_len or length, **changes}
    return Call(
        "estimate_memory",
        memory_arguments(slots, **{"task": "train", "method": method, **said}),
    )


def room_for(draft: Draft, result: ToolResult, method: str, length: int | None) -> Steps:
    """Says whether the run fits; where it does not, moves the draft to a type that holds it.

    Args:
        draft: The answer so far; its request names the card.
        result: What `memory_call` gave.
        method: Training method of the run.
        length: Tokens of a sample; None where the work is not told in samples.
    """
    whole = result.report
    if not isinstance(whole, MemoryReport) or whole.usable_bytes is None:
        return Room()
    draft.use(result)
    if whole.verdict in _HOLDS:
        draft.say("times.room", need=gib(whole.process_bytes), usable=gib(whole.usable_bytes),
                  outcome=outcome(draft, whole), importance=BODY)  # fmt: skip
        return Room()
    shard: dict[str, Any] = {}
    if whole.gpu_count > 1 and scheme_is_open(draft.request.slots):
        shard = {"zero_stage": 3}
        (result,) = yield (memory_call(draft, method, length, **shard),)
        report = result.report
        if isinstance(report, MemoryReport) and report.usable_bytes is not None:
            draft.use(result)
            whole = report
            if report.verdict in _HOLDS:
                draft.say("times.room_sharded", need=gib(report.process_bytes),
                          usable=gib(report.usable_bytes), outcome=outcome(draft, report),
                          importance=BODY)  # fmt: skip
                return Room(is_sharded=True)
    say_verdict(draft, whole)
    if (yield from _fits_leaner(draft, method, length, shard)):
        return Room(is_sharded=bool(shard))
    return (yield from _elsewhere(draft, method, length))


def _fits_leaner(
    draft: Draft, method: str, length: int | None, shard: dict[str, Any]
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], bool]:
    """Whether settings that were left open make it fit; the length of the data is not one."""
    slots = draft.request.slots
    lean = {
        "batch": slots.batch or 1,
        "gradient_checkpointing": slots.gradient_checkpointing or "full",
        "optimizer": slots.optimizer or "adamw-8bit",
        "fused_ce": True,
    }
    (result,) = yield (memory_call(draft, method, length, **lean, **shard),)
    report = result.report
    if not isinstance(report, MemoryReport) or report.verdict not in ("fits", "tight"):
        return False
    draft.use(result)
    draft.say("times.leaner", need=gib(report.process_bytes), outcome=outcome(draft, report),
              importance=HEAD)  # fmt: skip
    return True


def _elsewhere(draft: Draft, method: str, length: int | None) -> Steps:
    """The cheapest type that holds the run takes the place of the card, where there is one."""
    from agent.answering.renting import rent

    slots = draft.request.slots
    free = slots.model_copy(update={"budget": None, "provider": default_provider(draft),
                                    "seq_len": slots.seq_len or length})  # fmt: skip
    unlimited = Draft(draft.request.model_copy(update={"slots": free}))
    search = rent.search_call(unlimited, method, by_rate=True)
    calls = [search]
    if slots.provider is None and not slots.providers:
        anywhere = {k: v for k, v in search.arguments.items() if k not in ("providers", "region")}
        calls.append(Call("recommend", anywhere))
    results = yield tuple(calls)
    for result in results:
        found = result.report
        if not isinstance(found, RecommendReport) or not found.offers:
            continue
        draft.use(result)
        best = found.offers[0]
        row = best.instance
        draft.say("times.on_one_that_holds", line=short_line(draft, row),
                  need=gib(best.need_bytes), usable=gib(best.usable_bytes),
                  importance=HEAD)  # fmt: skip
        draft.offer([row.as_offer()])
        changed = {"gpu": row.gpu, "gpu_count": best.gpus_used, "provider": row.provider,
                   "gpu_mem_gb": row.gpu_memory_gb}  # fmt: skip
        draft.request = draft.request.model_copy(update={"slots": slots.model_copy(update=changed)})
        return Room(verdict="does_not_fit", is_moved=True, is_sharded=best.gpus_used > 1)
    return Room(verdict="does_not_fit", is_homeless=True)
