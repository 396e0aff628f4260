"""What an engine's kernels ask of a card: the least compute capability, by weight format."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tools.memory.tables import row_name, table

if TYPE_CHECKING:
    from tools.memory.workload import InferenceWorkload

_USUAL = "vllm"
"""Engine where none is said; the same as the calculator assumes."""
_TEXT_KINDS = ("decoder-lm", "moe-lm", "vlm")


class KernelFloor(NamedTuple):
    """The oldest cards that an engine runs a format on."""

    engine: str
    weight_format: str | None
    """The format that sets the floor; None where it is the engine itself."""
    capability: float
    """CUDA compute capability."""
    source: str


def kernel_floor(
    engine: str | None, weight_format: str | None, *, kind: str = "decoder-lm"
) -> KernelFloor | None:
    """The least compute capability that an engine needs for a weight format.

    Args:
        engine: As written; None takes the usual server of language models, and only what it
            asks for the format.
        weight_format: As written; None = 16 bit.
        kind: Kind of the model; only text models are served by these engines.

    Returns:
        The floor with its source; None where the engine states none.

    >>> kernel_floor("vllm", "awq").capability, kernel_floor("llama.cpp", "q4_k_m")
    (7.5, None)
    >>> kernel_floor("tensorrt-llm", None).capability
    8.0
    """
    form = row_name("formats", weight_format) if weight_format else None
    if kind not in _TEXT_KINDS or (engine is None and (form or "").startswith("gguf")):
        return None
    name = row_name("engines", engine) if engine is not None else _USUAL
    row = table("kernels").get(name or "")
    if row is None or name is None:
        return None
    of_format = row["formats"].get(form or "")
    if engine is None and of_format is None:
        return None  # another engine, or an older release, runs 16 bit on older cards
    floor = of_format or row["any"]
    return KernelFloor(
        name, form if of_format else None, float(floor["capability"]), str(floor["source"])
    )


def workload_floor(workload: InferenceWorkload) -> KernelFloor | None:
    """`kernel_floor` of a serving workload."""
    engine = workload.engine or workload.framework
    return kernel_floor(engine, workload.weight_format, kind=workload.model.kind)
