"""A failure on the cards that there are, and a question about more of them."""

from __future__ import annotations

import re
from collections.abc import Generator

from agent.answering.plan import Call
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import gib
from agent.answering.telling.run_words import card_name, memory_arguments, outcome
from agent.request import Pasted, Request
from agent.toolbox import ToolResult
from agent.toolbox.memory import MemoryReport

_ADDED = re.compile(
    r"[再加插添补多].{0,2}[一两二三四1-4]\s?[张块]|another|one more|second|2nd"
    r"|extra|additional|two more",
    re.IGNORECASE,
)


def is_of_fewer_cards(request: Request) -> bool:
    """Whether the cards counted are more than those that the failure was of."""
    said = request.spans.get("gpu_count")
    return said is not None and _ADDED.search(said.text) is not None


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
