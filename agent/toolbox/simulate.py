"""simulate_memory: the peak of one simulated step of the real model."""

from __future__ import annotations

from typing import Any

from agent.settings import Settings
from agent.toolbox.base import Report, Tool, description_of, figure_out
from agent.toolbox.memory import MemoryArguments, workload_of
from agent.toolbox.resolve import resolve_model
from tools.errors import MissingExtraError
from tools.units import format_gib


class SimulationReport(Report):
    """Peak of live tensors on one card, bytes."""

    model: str
    allocated_bytes: int
    estimate_bytes: int
    """The closed-form estimate of the same counter, for comparison."""

    def summary(self) -> str:
        """The peak."""
        return f"{self.model}: {format_gib(self.allocated_bytes)} at the peak"


def build(settings: Settings) -> Tool[MemoryArguments]:
    """The tool; it depends on no setting."""
    return Tool(
        name="simulate_memory",
        description=description_of("simulate_memory"),
        arguments=MemoryArguments,
        report=SimulationReport,
        function=simulate_memory,
    )


def simulate_memory(arguments: MemoryArguments) -> SimulationReport:
    """Simulates one step of a language model on one card.

    Raises:
        MissingExtraError: When torch and its companions are not installed.
        UserInputError: Unknown names, impossible values, and kinds that are not simulated.
    """
    from tools import memory
    from tools.memory import simulate

    if not simulate.is_available():
        raise MissingExtraError("simulating a step", extra="simulate")
    model = resolve_model(arguments.model, arguments.params_b)
    workload = workload_of(arguments.model_copy(update={"gpu_count": 1}), model, None)
    estimate = memory.estimate(workload)
    held = {a.name: a.value for a in estimate.assumptions}

    def value(name: str, default: Any) -> Any:
        said = getattr(workload, name, None)
        return said if said is not None else held.get(name, default)

    is_training = arguments.task == "train"
    request = simulate.SimulationRequest(
        model=model.spec.name,
        config=simulate.hf_config(model.spec),
        task=arguments.task,
        method=value("method", "full") if is_training else None,
        precision=value("precision", "pure-bf16"),
        optimizer=value("optimizer", "adamw") if is_training else None,
        lora_rank=arguments.lora_rank,
        lora_targets=value("lora_targets", None),
        batch=value("micro_batch_size" if is_training else "concurrency", 1),
        seq_len=value("seq_len" if is_training else "context_len", 1024),
        gradient_checkpointing=value("gradient_checkpointing", "none") if is_training else "none",
    )
    peak = simulate.simulate(request)
    return SimulationReport(
        figures=tuple(figure_out(figure) for figure in peak.figures()),
        model=model.spec.name,
        allocated_bytes=peak.peak_bytes,
        estimate_bytes=estimate.allocated_bytes,
    )
