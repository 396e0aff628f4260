"""simulate_memory: the peak of one simulated training step of the real model.

The step runs on fake tensors in a process of its own, within limits, one at a time; its result is
kept. It sees the tensors of one card. What the card holds beside them (CUDA context, slack of the
allocator, communication) is the closed form's, so both figures are of the same process.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from agent.answer import FigureOut
from agent.settings import Settings
from agent.toolbox.base import Report, Tool, description_of, figure_out
from agent.toolbox.memory import MemoryArguments, PartOut, planned_run
from tools.errors import MissingExtraError, UnsupportedError
from tools.units import format_gib

SimulationState = Literal["ready", "missing", "off"]
"""Whether a step can be simulated: now, not without the extra, or not under these settings."""

_EXACTNESS = 0.02
"""Worst deviation of a simulated peak from a measured one, over the published runs."""
_NAMES = {
    "params": "weights", "buffers": "buffers", "grads": "gradients", "opt": "optimizer_states",
    "other": "activations",
}  # fmt: skip
_BESIDE = ("cublas_workspace", "text_encoders", "vae")
"""Parts of the closed form that the step does not see: a handle, and models that wait beside."""


class SimulationReport(Report):
    """Peak of one card, bytes."""

    model: str
    phase: str
    """fwd, bwd or opt: where the peak is."""
    allocated_bytes: int
    """Live tensors at the peak of the simulated step."""
    estimate_bytes: int
    """The closed form's figure for the same tensors, for comparison."""
    process_bytes: int
    """Those tensors and what the card holds beside them."""
    low_bytes: int
    high_bytes: int
    parts: tuple[PartOut, ...]
    """They sum to process_bytes."""
    from_cache: bool

    def summary(self) -> str:
        """The peak."""
        return f"{self.model}: {format_gib(self.allocated_bytes)} at the peak"


def build(settings: Settings) -> Tool[MemoryArguments]:
    """The tool under these settings."""
    return Tool(
        name="simulate_memory",
        description=description_of("simulate_memory"),
        arguments=MemoryArguments,
        report=SimulationReport,
        function=partial(simulate_memory, settings=settings),
    )


def simulation_state(settings: Settings) -> SimulationState:
    """Whether the tool can run; installed libraries are looked for, not imported."""
    from tools.memory import simulate

    if not settings.simulation:
        return "off"
    return "ready" if simulate.is_available() else "missing"


def simulate_memory(arguments: MemoryArguments, *, settings: Settings) -> SimulationReport:
    """Simulates one step of one rank, with what was not said as the estimate assumes it.

    Raises:
        MissingExtraError: When torch and its companions are not installed.
        UnsupportedError: Where it is turned off, for kinds that are not simulated, at a limit,
            and while another simulation runs.
        UserInputError: Unknown names and impossible values.
    """
    from tools import memory
    from tools.memory import simulate

    state = simulation_state(settings)
    if state == "off":
        raise UnsupportedError("simulating a step", reason="it is turned off in the settings")
    if state == "missing":
        raise MissingExtraError("simulating a step", extra="simulate")
    run = planned_run(arguments)
    estimate = memory.estimate(run.workload)
    request = simulate.request_of(run.workload)
    peak = simulate.remembered(request)
    if peak is None:
        limits = simulate.Limits(seconds=settings.simulation_seconds)
        with _only_one(request.model, settings.state_dir):
            peak = simulate.simulate(request, limits=limits)
    whole = _whole(estimate, peak)
    return SimulationReport(
        figures=(*(figure_out(figure) for figure in peak.figures()), *whole.figures()),
        model=run.model.spec.name,
        phase=peak.peak_phase,
        allocated_bytes=peak.peak_bytes,
        estimate_bytes=estimate.allocated_bytes - whole.beside_bytes,
        process_bytes=whole.process_bytes,
        low_bytes=whole.low_bytes,
        high_bytes=whole.high_bytes,
        parts=whole.parts,
        from_cache=peak.from_cache,
    )


@dataclass(frozen=True, slots=True)
class _Whole:
    """What one card holds: the simulated tensors, and the closed form's figures beside them."""

    parts: tuple[PartOut, ...]
    process_bytes: int
    low_bytes: int
    high_bytes: int
    beside_bytes: int

    def figures(self) -> Iterator[FigureOut]:
        """The process and its bounds."""
        for name in ("process", "low", "high"):
            yield FigureOut(
                name=f"simulated_{name}",
                value=getattr(self, f"{name}_bytes"),
                unit="B",
                formula="simulated_allocated + CUDA context, slack and what waits beside",
                sources=("rule:simulated-step", "measured:cuda-context"),
            )


def _whole(estimate: Any, peak: Any) -> _Whole:
    """The process around a simulated peak.

    The tensors may be off by 2 %, the allocator's slack may be none or twice the usual.
    """
    seen = tuple(
        PartOut(name=_NAMES[name], bytes=size, formula="one simulated step")
        for name, size in peak.parts.items()
        if size
    )
    rest = tuple(
        PartOut(name=part.name, bytes=part.bytes, formula=part.formula)
        for part in estimate.parts
        if part.name in _BESIDE or part.counter != "allocated"
    )
    beside = sum(part.bytes for part in estimate.parts if part.name in _BESIDE)
    slack = sum(part.bytes for part in estimate.parts if part.counter == "reserved")
    process = sum(part.bytes for part in (*seen, *rest))
    off = peak.peak_bytes * _EXACTNESS
    return _Whole(
        parts=(*seen, *rest),
        process_bytes=process,
        low_bytes=math.floor(process - slack - off),
        high_bytes=math.ceil(process + slack + off),
        beside_bytes=beside,
    )


_RUNNING = threading.Lock()


@contextmanager
def _only_one(model: str, folder: Path) -> Iterator[None]:
    """Lets one simulation run at a time, over all threads and processes of a state folder.

    Raises:
        SimulationStoppedError: While another one runs: nobody waits for it.
    """
    from tools.memory.simulate import SimulationStoppedError

    busy = SimulationStoppedError(model, limit="busy", reason="another simulation is running")
    if not _RUNNING.acquire(blocking=False):
        raise busy
    try:
        with _lock_file(folder) as is_ours:
            if not is_ours:
                raise busy
            yield
    finally:
        _RUNNING.release()


@contextmanager
def _lock_file(folder: Path) -> Iterator[bool]:
    """Whether the lock over processes was free; where there are no locks it counts as free."""
    try:
        import fcntl

        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / "simulation.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except (ImportError, OSError):
        yield True
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_ours = True
    except OSError:
        is_ours = False
    try:
        yield is_ours
    finally:
        os.close(handle)  # gives the lock back
