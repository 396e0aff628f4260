"""A failure on the cards that there are, and a question about more of them."""

from __future__ import annotations

from collections.abc import Generator

from agent.answering.plan import Call
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import gib
from agent.answering.telling.run_words import card_name, memory_arguments, outcome
from agent.request import Pasted
from agent.toolbox import ToolResult
from agent.toolbox.memory import MemoryReport


def say_before_more_cards(
    draft: Draft, log: Pasted
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], None]:
    """What the run takes of one card: why it failed there, whatever it does on more."""
    slots = draft.request.slots
    results = yield (
        Call("estimate_memory", memory_arguments(
            slots, task="infer", gpu_count=1, tp=None, pp=None)),
    )  # fmt: skip
    draft.use(*results)
    report = results[0].report
    if not isinstance(report, MemoryReport) or report.usable_bytes is None:
        return
    total = log.fields.get("total_bytes")
    if total:
        draft.figure("log: total_bytes", total, "B", sources=("user:log",))
    draft.say("memory.one_card_before", card=card_name(draft, report),
              need=gib(report.process_bytes), weights=gib(report.weights_bytes),
              usable=gib(report.usable_bytes), outcome=outcome(draft, report),
              importance=HEAD)  # fmt: skip
