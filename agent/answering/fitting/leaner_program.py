"""QLoRA whose program was not said: what one that keeps embeddings in 16 bit takes."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

from agent.answering.plan import Call
from agent.answering.telling.draft import Draft
from agent.answering.telling.found import Found
from agent.answering.telling.numbers import gib
from agent.answering.telling.run_words import is_language, memory_arguments, outcome, said_method
from agent.toolbox import ToolResult
from agent.toolbox.memory import MemoryReport
from tools.errors import UserInputError
from tools.gpus import get_gpu

_LEANER = "unsloth"
_CLOSE = 1.3
"""Times the usable memory up to which the recipe may be all that is in the way."""
Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], Found]


def with_leaner_program(draft: Draft, report: MemoryReport, found: Found) -> Steps:
    """The verdict, open where only the program decides it.

    The usual recipe casts embeddings and the head to fp32 and keeps all logits; a program that
    does neither may fit where that recipe does not.

    Args:
        draft: The answer, with the verdict of the usual recipe told.
        report: The estimate by that recipe.
        found: What is held so far.

    Returns:
        The same, or an open verdict with the other figure in front.
    """
    slots = draft.request.slots
    is_said = slots.framework is not None or slots.library is not None
    usable = report.usable_bytes or 0
    is_near = report.low_bytes <= usable and report.process_bytes <= _CLOSE * usable
    if found.verdict != "does_not_fit" or report.method != "qlora" or is_said or not is_near:
        return found
    if report.gpu_count > 1 or not is_language(report) or not _is_of_cuda(report):
        return found
    arguments = memory_arguments(slots, method=said_method(report), framework=_LEANER)
    results = yield (Call("estimate_memory", arguments),)
    draft.use(*results)
    other = results[0].report
    if not isinstance(other, MemoryReport) or other.verdict not in ("fits", "tight"):
        return found
    draft.lead("fit.program_decides", usual=gib(report.process_bytes),
               need=gib(other.process_bytes), outcome=outcome(draft, other))  # fmt: skip
    return replace(found, verdict="depends")


def _is_of_cuda(report: MemoryReport) -> bool:
    """Whether the card is NVIDIA's, or only known by its size."""
    if report.gpu is None or report.gpu.endswith("class"):
        return True
    try:
        return get_gpu(report.gpu).vendor == "NVIDIA"
    except UserInputError:
        return True
