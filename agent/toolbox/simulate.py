"""simulate_memory: the peak of one simulated step of the real model."""

from __future__ import annotations

from agent.settings import Settings
from agent.toolbox.base import Report, Tool, description_of, figure_out
from agent.toolbox.memory import MemoryArguments
from agent.toolbox.resolve import resolve_model
from agent.toolbox.workloads import workload_of
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
    """Simulates one step of one rank, with what was not said as the estimate assumes it.

    Raises:
        MissingExtraError: When torch and its companions are not installed.
        UserInputError: Unknown names, impossible values, and kinds that are not simulated.
    """
    from tools import memory
    from tools.memory import simulate

    if not simulate.is_available():
        raise MissingExtraError("simulating a step", extra="simulate")
    model = resolve_model(arguments.model, arguments.params_b)
    workload = workload_of(arguments, model, None)
    estimate = memory.estimate(workload)
    peak = simulate.simulate_workload(workload)
    return SimulationReport(
        figures=tuple(figure_out(figure) for figure in peak.figures()),
        model=model.spec.name,
        allocated_bytes=peak.peak_bytes,
        estimate_bytes=estimate.allocated_bytes,
    )
