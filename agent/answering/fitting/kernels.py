"""A card that holds a run whose engine has no kernels for it."""

from __future__ import annotations

from agent.answer import Verdict
from agent.answering.telling.draft import Draft
from agent.toolbox.memory import MemoryReport
from agent.toolbox.registries import GpuReport
from tools.errors import UserInputError
from tools.models import LANGUAGE_KINDS

_NAMES = {"vllm": "vLLM", "sglang": "SGLang", "tensorrt-llm": "TensorRT-LLM", "autoawq": "AutoAWQ"}


def kernel_name(engine: str, weight_format: str | None) -> str:
    """An engine with a format as people write them.

    >>> kernel_name("vllm", "awq-int4"), kernel_name("sglang", None)
    ('vLLM AWQ', 'SGLang')
    """
    form = (weight_format or "").partition("-")[0].upper()
    return f"{_NAMES.get(engine, engine)} {form}".strip()


def judged_kernels(
    draft: Draft, report: MemoryReport, card: GpuReport | None, verdict: Verdict
) -> Verdict:
    """The verdict, turned where the engine does not run the format on this card.

    Memory is not what is missing then: the sentence stands in front of it, with its source.
    """
    from tools.memory import kernel_floor

    slots = draft.request.slots
    floor = kernel_floor(slots.framework, report.weight_format, kind=report.kind)
    if floor is None or card is None or card.compute_capability is None or card.vendor != "NVIDIA":
        return verdict
    if card.compute_capability >= floor.capability or verdict == "does_not_fit":
        return verdict
    draft.figure("least_capability", floor.capability, "1", sources=(floor.source,))
    draft.figure("capability", card.compute_capability, "1", sources=("data:gpus.csv",))
    key = "of_format" if floor.weight_format else "of_engine"
    draft.lead(
        f"kernels.{key}",
        what=kernel_name(floor.engine, floor.weight_format),
        gpu=card.name,
        least=f"{floor.capability:.1f}",
        has=f"{card.compute_capability:.1f}",
    )
    return "does_not_fit" if slots.framework is not None and floor.weight_format else "depends"


_OLDEST = 7.0
"""Compute capability below which no card is recommended for a text model (ADR 033)."""


def runs_on(draft: Draft, report: MemoryReport, gpu: str | None) -> bool:
    """Whether the engine of a serving run has kernels for a card of the catalog."""
    from tools.gpus import get_gpu
    from tools.memory import kernel_floor

    if gpu is None or report.task != "infer" or report.kind not in LANGUAGE_KINDS:
        return True
    try:
        capability = get_gpu(gpu).compute_capability
    except UserInputError:
        return True
    floor = kernel_floor(draft.request.slots.framework, report.weight_format, kind=report.kind)
    least = max(_OLDEST, floor.capability if floor is not None else 0.0)
    return capability is None or capability >= least
