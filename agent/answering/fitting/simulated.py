"""A simulated training step in an answer: where an exact figure is asked for, or the limit is near.

The closed form answers at once. The step is run where it was asked for, and where the closed
form's interval reaches over the card's limit and under it; then the verdict is the step's.
"""

from __future__ import annotations

from collections.abc import Generator

from agent.answering.plan import Call
from agent.answering.telling.draft import DETAIL, Draft
from agent.answering.telling.numbers import gib, gib_range, quoted
from agent.answering.telling.run_words import memory_arguments, said_method
from agent.toolbox import ToolResult
from agent.toolbox.memory import MemoryReport
from agent.toolbox.simulate import SimulationReport, SimulationState
from tools.memory import likely


def straddles(report: MemoryReport) -> bool:
    """Whether the interval of an estimate reaches under the card's limit and over it."""
    usable = report.usable_bytes
    return usable is not None and report.low_bytes <= usable < report.high_bytes


def simulated(
    draft: Draft, report: MemoryReport, state: SimulationState
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], MemoryReport]:
    """The run with a simulated step's figures, where one is wanted and runs; else as it is."""
    is_asked = draft.request.says("fitting.exact")
    if not is_asked and not (state == "ready" and straddles(report)):
        return report
    if state != "ready" or report.is_reference:
        draft.say(f"simulated.{'size_only' if state == 'ready' else state}")
        return report
    arguments = memory_arguments(draft.request.slots, method=said_method(report))
    results = yield (Call("simulate_memory", arguments),)
    found = results[0].report
    if not isinstance(found, SimulationReport):
        draft.use(*results)
        if is_asked or results[0].fields.get("limit"):
            _say_failed(draft, results[0])
        return report
    draft.use(*results)
    _say_found(draft, found)
    return _with_figures(report, found)


def _say_found(draft: Draft, found: SimulationReport) -> None:
    beside = found.process_bytes - found.allocated_bytes
    draft.figure("closed_form_of_the_same_tensors", found.estimate_bytes, "B",
                 formula="allocated of estimate_memory - what the step does not see")  # fmt: skip
    draft.figure("beside_the_step", beside, "B", formula="process - simulated tensors")
    draft.say(
        "simulated.found",
        peak=gib(found.allocated_bytes),
        phase=draft.phrase(f"simulated.phase_{found.phase}"),
        closed=gib(found.estimate_bytes),
        beside=gib(beside),
        need=gib(found.process_bytes),
        range=gib_range(found.low_bytes, found.high_bytes),
    )


def _say_failed(draft: Draft, result: ToolResult) -> None:
    """Why the closed form stands: a limit, or a configuration that is not simulated."""
    limit = result.fields.get("limit")
    if limit is not None:
        draft.say(f"simulated.stopped_{limit}")
        return
    what = quoted(str(result.fields.get("what") or result.hint))
    draft.say("simulated.unsupported", what=what, importance=DETAIL)


def _with_figures(report: MemoryReport, found: SimulationReport) -> MemoryReport:
    """The report with the step's figures, and the verdict that follows from them."""
    usable = report.usable_bytes
    verdict = None
    if usable is not None:
        verdict = likely(found.process_bytes, high_bytes=found.high_bytes, usable_bytes=usable)
    return report.model_copy(
        update={
            "allocated_bytes": found.allocated_bytes,
            "process_bytes": found.process_bytes,
            "low_bytes": found.low_bytes,
            "high_bytes": found.high_bytes,
            "parts": found.parts,
            "verdict": verdict,
            "headroom_bytes": None if usable is None else usable - found.process_bytes,
        }
    )
