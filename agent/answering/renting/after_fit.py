"""What to rent for a run: instances with its card, or with cards that hold it."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agent.answer import Verdict
from agent.answering.plan import Call
from agent.answering.renting.renting import cards_to_rent, host_gib, say_fitting_cards
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import gib
from agent.answering.telling.run_words import memory_arguments, outcome
from agent.toolbox import ToolResult
from agent.toolbox.memory import MemoryReport


def _say_one_is_enough(
    draft: Draft, report: MemoryReport, verdict: Verdict
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], None]:
    """Where several cards are doubted: whether one holds the run, and what the others bring."""
    asks = draft.request.says("renting.doubts_need")
    if not asks or report.gpu_count < 2 or verdict not in ("fits", "tight", "depends"):
        return
    shared = ("nodes", "tp", "pp", "zero_stage", "strategy")
    alone: dict[str, Any] = {"gpu_count": 1} | dict.fromkeys(shared)
    method = report.method if report.task == "train" else None
    results = yield (
        Call("estimate_memory", memory_arguments(
            draft.request.slots, task=report.task, method=method, **alone)),
    )  # fmt: skip
    draft.use(*results)
    one = results[0].report
    if not isinstance(one, MemoryReport) or one.usable_bytes is None:
        return
    draft.figure("cards", report.gpu_count, "1", sources=("user:gpu_count",))
    key = "one_is_enough" if one.verdict in ("fits", "tight") else "one_is_short"
    job = "train" if report.task == "train" else "infer"
    draft.say(f"fit.{key}_{job}", need=gib(one.process_bytes), usable=gib(one.usable_bytes),
              outcome=outcome(draft, one), gpu=one.gpu, count=report.gpu_count,
              importance=HEAD)  # fmt: skip


def rent_after(
    draft: Draft, report: MemoryReport, verdict: Verdict
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], None]:
    """Instances with the card asked for, or cards that would hold it."""
    from agent.answering.sizing.inverse import count_cards, is_too_large

    yield from _say_one_is_enough(draft, report, verdict)

    if is_too_large(report):
        yield from count_cards(draft, report)
        return
    if report.gpu is not None and verdict in ("fits", "tight") and not report.gpu.endswith("class"):
        yield from cards_to_rent(draft, report.gpu, count=report.gpu_count,
                                 min_memory_gib=host_gib(draft, report))  # fmt: skip
    else:
        yield from say_fitting_cards(draft, report)
