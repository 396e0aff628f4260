"""How many machines hold a model that the cards of one do not."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agent.answering.plan import Call
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import gib
from agent.answering.telling.run_words import outcome
from agent.toolbox import ToolResult
from agent.toolbox.memory import MemoryReport

_NODE = 8
"""GPUs of a full machine."""
_MOST = 8
"""Machines above which nobody serves one model."""
_DEALT = ("q2", "q3", "q4_", "q5", "q6", "q8", "iq", "gguf")
"""Formats of llama.cpp, which deals layers out and leaves the rest to the host."""


def say_more_machines(
    draft: Draft, report: MemoryReport, cards: int, arguments: dict[str, Any]
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], None]:
    """Machines of eight with tensor parallelism inside and a pipeline across.

    Args:
        draft: The answer.
        report: The run on the cards asked for, which they do not hold.
        cards: Fewest cards that hold it, more than one machine has.
        arguments: Arguments of estimate_memory for the run.
    """
    least = -(-cards // _NODE)
    tried = range(max(least - 1, 2), least + 2)
    is_dealt = (report.weight_format or "").startswith(_DEALT)
    if report.gpu_count > _NODE or least > _MOST or is_dealt:
        return
    results = yield tuple(
        Call("estimate_memory", {**arguments, "gpu_count": count * _NODE, "tp": _NODE,
                                 "pp": count, "with_changes": False})
        for count in tried
    )  # fmt: skip
    for count, result in zip(tried, results, strict=True):
        found = result.report
        if not isinstance(found, MemoryReport) or found.verdict not in ("fits", "tight"):
            continue
        draft.use(result)
        draft.figure("machines", count, "1", formula="fewest that hold it")
        draft.figure("cards of a machine", _NODE, "1", sources=("rule:machine",))
        draft.figure("cards of all machines", count * _NODE, "1", formula="machines * cards")
        draft.say("memory.more_machines", machines=count, node=_NODE, count=count * _NODE,
                  gpu=report.gpu, each=gib(found.process_bytes), outcome=outcome(draft, found),
                  importance=HEAD)  # fmt: skip
        return
