"""Memory that a workload needs on a card at a number of GPUs, and how it is spread over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from tools.catalog.constraints import GpuNeed
from tools.errors import UnsupportedError, UserInputError
from tools.gpus import GpuSpec
from tools.provenance import Figure, Source

if TYPE_CHECKING:
    from tools.memory import InferenceWorkload, MemoryEstimate, TrainingWorkload

Verdict = Literal["fits", "tight", "does_not_fit"]
SHARDED = ("zero2", "zero3")
"""Tried in this order once plain data parallelism does not fit."""


class PlainNeed(NamedTuple):
    """A need in bytes that is known already: "at least 40 GiB"."""

    likely_bytes: int
    high_bytes: int
    splits: bool = False
    """True when it may be spread over several GPUs."""
    host_bytes: int = 0
    """Host memory that the job needs beside it."""


Workload = "TrainingWorkload | InferenceWorkload | PlainNeed"
Trial = tuple[str | None, "TrainingWorkload | InferenceWorkload"]
Measure = Callable[["TrainingWorkload | InferenceWorkload"], "MemoryEstimate"]


@dataclass
class Fitter:
    """Answers for one workload, each card and count once."""

    workload: TrainingWorkload | InferenceWorkload | PlainNeed
    measure: Measure | None = None
    """The calculator; None = tools.memory.estimate."""
    _found: dict[tuple[str | None, int, int], GpuNeed] = field(default_factory=dict)
    _estimates: dict[tuple[str | None, int, str | None], MemoryEstimate | str] = field(
        default_factory=dict
    )

    def need(self, card: GpuSpec | None, *, usable_bytes: int, gpu_count: int) -> GpuNeed:
        """Need of one GPU where `gpu_count` of them share the work."""
        key = (card.name if card else None, usable_bytes, gpu_count)
        if key not in self._found:
            self._found[key] = self._compute(card, usable_bytes, gpu_count)
        return self._found[key]

    def _compute(self, card: GpuSpec | None, usable_bytes: int, gpu_count: int) -> GpuNeed:
        if isinstance(self.workload, PlainNeed):
            return _plain(self.workload, usable_bytes, gpu_count)
        best: GpuNeed | None = None
        for gpus, label, workload in _trials(self.workload, gpu_count):
            estimate = self._estimate(card, gpus, label, workload)
            if isinstance(estimate, str):
                found = GpuNeed(0, 0, usable_bytes, "does_not_fit", gpus, label, 0, None, estimate)
            else:
                found = _judged(estimate, usable_bytes, gpus, label)
            if found.verdict == "fits":
                return found
            if best is None or _is_nearer(found, best):
                best = found
        assert best is not None
        return best

    def _estimate(
        self,
        card: GpuSpec | None,
        gpus: int,
        label: str | None,
        workload: TrainingWorkload | InferenceWorkload,
    ) -> MemoryEstimate | str:
        name = card.name if card else None
        key = (name, gpus, label)
        if key not in self._estimates:
            measure = self.measure or _calculator()
            try:
                self._estimates[key] = measure(replace(workload, gpu=card))
            except UnsupportedError as error:
                self._estimates[key] = error.reason
            except UserInputError as error:
                self._estimates[key] = str(error)
        return self._estimates[key]


def _calculator() -> Measure:
    from tools.memory import estimate

    return estimate


def _trials(
    workload: TrainingWorkload | InferenceWorkload, gpu_count: int
) -> Iterator[tuple[int, str | None, TrainingWorkload | InferenceWorkload]]:
    """Ways to run on `gpu_count` GPUs, simplest first: GPUs used, how, and the workload."""
    from tools.memory import TrainingWorkload

    if isinstance(workload, TrainingWorkload):
        if gpu_count == 1:
            yield 1, None, replace(workload, gpu_count=1)
        elif workload.parallelism is not None:
            yield gpu_count, workload.parallelism, replace(workload, gpu_count=gpu_count)
        else:
            for way in ("ddp", *SHARDED):
                yield gpu_count, way, replace(workload, gpu_count=gpu_count, parallelism=way)
        return
    if workload.tensor_parallel_size is not None:
        size = workload.tensor_parallel_size
        if size <= gpu_count:
            yield size, f"tp{size}", replace(workload, gpu_count=size)
            return
    size = 1
    while size <= gpu_count:
        label = f"tp{size}" if size > 1 else None
        yield size, label, replace(workload, gpu_count=size, tensor_parallel_size=size)
        size *= 2


def _judged(estimate: MemoryEstimate, usable_bytes: int, gpus: int, label: str | None) -> GpuNeed:
    from tools.memory import fit

    verdict: Verdict = fit(estimate, usable_bytes).verdict
    inputs = tuple(f for f in estimate.figures() if f.name == "process")
    figure = inputs[0] if inputs else None
    return GpuNeed(
        likely_bytes=estimate.process_bytes,
        high_bytes=estimate.high_bytes,
        usable_bytes=usable_bytes,
        verdict=verdict,
        gpus_used=gpus,
        parallelism=label,
        host_ram_bytes=estimate.host_ram_bytes,
        figure=figure,
    )


def _plain(need: PlainNeed, usable_bytes: int, gpu_count: int) -> GpuNeed:
    gpus = gpu_count if need.splits else 1
    likely, high = -(-need.likely_bytes // gpus), -(-need.high_bytes // gpus)
    verdict: Verdict = "fits" if high <= usable_bytes else "tight"
    if likely > usable_bytes:
        verdict = "does_not_fit"
    figure = Figure("process", likely, "B", (Source("user:memory", "user", "given need"),))
    return GpuNeed(likely, high, usable_bytes, verdict, gpus, None, need.host_bytes, figure)


def _is_nearer(found: GpuNeed, best: GpuNeed) -> bool:
    if best.unsupported is not None:
        return found.unsupported is None
    return found.unsupported is None and found.likely_bytes < best.likely_bytes
