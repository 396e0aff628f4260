"""Memory that a workload needs on a card at a number of GPUs, and how it is spread over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeGuard

from tools.catalog.constraints import GpuNeed
from tools.errors import UnsupportedError, UserInputError
from tools.gpus import GpuSpec
from tools.units import GIB

if TYPE_CHECKING:
    from tools.memory import FitResult, InferenceWorkload, MemoryEstimate, TrainingWorkload

Verdict = Literal["fits", "tight", "does_not_fit"]
_ANY_CARD = 1.15
"""Distance from the border at which the card no longer matters."""
_THIS_CARD = 1.03
"""Distance at which the width of the interval may be that of another card."""
_WIDTH_OF_CARDS = 1.05
"""How far the width of an interval differs between cards of one layout; 1.033 was the most seen."""
_ANY_CARD_BYTES = 24 * GIB
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


Measure = Callable[["TrainingWorkload | InferenceWorkload"], "MemoryEstimate"]


@dataclass
class Fitter:
    """Answers for one workload, each card and count once."""

    workload: TrainingWorkload | InferenceWorkload | PlainNeed
    measure: Measure | None = None
    """The calculator; None = tools.memory.estimate."""
    _found: dict[tuple[str | None, int, int, bool], GpuNeed] = field(default_factory=dict)
    _widths: dict[tuple[int, str | None], _Width] = field(default_factory=dict)
    _estimates: dict[tuple[str | None, int, str | None], MemoryEstimate | str] = field(
        default_factory=dict
    )

    def need(
        self, card: GpuSpec | None, *, usable_bytes: int, gpu_count: int, is_exact: bool = False
    ) -> GpuNeed:
        """Need of one GPU where `gpu_count` of them share the work.

        Args:
            card: Row of the GPU table; None where the vendor names no card.
            usable_bytes: Memory that one of them gives.
            gpu_count: GPUs of the machine.
            is_exact: False lets a clear case be judged by an estimate for no card in particular:
                the card moves little, and an interval costs ten estimates.
        """
        key = (card.name if card else None, usable_bytes, gpu_count, is_exact)
        if key not in self._found:
            self._found[key] = self._compute(card, usable_bytes, gpu_count, is_exact)
        return self._found[key]

    def _compute(
        self, card: GpuSpec | None, usable_bytes: int, gpu_count: int, is_exact: bool
    ) -> GpuNeed:
        if isinstance(self.workload, PlainNeed):
            return _plain(self.workload, usable_bytes, gpu_count)
        best: GpuNeed | None = None
        for gpus, label in _trials(self.workload, gpu_count):
            found = (
                None
                if is_exact
                else self._clear(None, usable_bytes, gpus, label, margin=_ANY_CARD)
                or self._clear(card, usable_bytes, gpus, label, margin=_THIS_CARD)
            )
            found = found or self._exact(card, usable_bytes, gpus, label, is_shown=is_exact)
            if found.verdict == "fits":
                return found
            if best is None or _is_nearer(found, best):
                best = found
        assert best is not None
        return best

    def _estimate(self, card: GpuSpec | None, gpus: int, label: str | None) -> MemoryEstimate | str:
        assert not isinstance(self.workload, PlainNeed)
        key = (card.name if card else None, gpus, label)
        if key not in self._estimates:
            try:
                workload = _spread(self.workload, card, gpus, label)
                self._estimates[key] = self._measure(workload)
            except UnsupportedError as error:
                self._estimates[key] = error.reason
            except UserInputError as error:
                self._estimates[key] = str(error)
        return self._estimates[key]

    @cached_property
    def _measure(self) -> Measure:
        if self.measure is not None:
            return self.measure
        from tools.memory import estimate

        return estimate

    @cached_property
    def _fit(self) -> Callable[[MemoryEstimate, int], FitResult]:
        from tools.memory import fit

        return fit

    @cached_property
    def _likely(self) -> Callable[..., Verdict]:
        from tools.memory import likely

        return likely

    @cached_property
    def _waiting(self) -> Callable[[MemoryEstimate], int]:
        from tools.memory import waiting_bytes

        return waiting_bytes

    def _exact(
        self,
        card: GpuSpec | None,
        usable_bytes: int,
        gpus: int,
        label: str | None,
        *,
        is_shown: bool,
    ) -> GpuNeed:
        """By the estimate of this card; its own interval only where that decides or is shown."""
        estimate = self._estimate(card, gpus, label)
        if isinstance(estimate, str):
            return GpuNeed(0, 0, usable_bytes, "does_not_fit", gpus, label, unsupported=estimate)
        known = self._without_interval(estimate, usable_bytes, gpus, label)
        if known is not None and (known.verdict == "does_not_fit" or not is_shown):
            return known
        result = self._fit(estimate, usable_bytes)
        high, usable = result.high_bytes, result.usable_bytes
        verdict = self._likely(
            result.need_bytes,
            high_bytes=high,
            usable_bytes=usable,
            waiting_bytes=self._waiting(estimate),
        )
        return _need(estimate, gpus, label, high, usable, verdict)

    def _without_interval(
        self, estimate: MemoryEstimate, usable_bytes: int, gpus: int, label: str | None
    ) -> GpuNeed | None:
        """The need where the interval of another card decides alike, its width a little off."""
        rough = self._estimate(None, gpus, label)
        if isinstance(rough, str):
            return None
        width = self._width(rough, gpus, label)
        usable, need = int(usable_bytes * width.usable), estimate.process_bytes
        high, waiting = int(need * width.high), self._waiting(estimate)
        least, most = (
            self._likely(
                need, high_bytes=int(high * by), usable_bytes=usable, waiting_bytes=waiting
            )
            for by in (1 / _WIDTH_OF_CARDS, _WIDTH_OF_CARDS)
        )
        return _need(estimate, gpus, label, high, usable, least) if least == most else None

    def _clear(
        self,
        card: GpuSpec | None,
        usable_bytes: int,
        gpus: int,
        label: str | None,
        *,
        margin: float,
    ) -> GpuNeed | None:
        """A case that is further than `margin` from every border; None where it is closer."""
        estimate, rough = self._estimate(card, gpus, label), self._estimate(None, gpus, label)
        if isinstance(estimate, str) or isinstance(rough, str):
            return None
        width = self._width(rough, gpus, label)
        usable, likely = int(usable_bytes * width.usable), estimate.process_bytes
        high, waiting = int(likely * width.high), self._waiting(estimate)
        least, most = (
            self._likely(
                int(likely * by),
                high_bytes=int(high * by),
                usable_bytes=usable,
                waiting_bytes=int(waiting * by),
            )
            for by in (1 / margin, margin)
        )
        return _need(estimate, gpus, label, high, usable, least) if least == most else None

    def _width(self, estimate: MemoryEstimate, gpus: int, label: str | None) -> _Width:
        key = (gpus, label)
        if key not in self._widths:
            result = self._fit(estimate, _ANY_CARD_BYTES)
            self._widths[key] = _Width(
                result.high_bytes / result.need_bytes, result.usable_bytes / _ANY_CARD_BYTES
            )
        return self._widths[key]


class _Width(NamedTuple):
    """Interval of one estimate, for others of the same layout."""

    high: float
    """Upper bound over the likely value."""
    usable: float
    """Share of the card's memory that the engine may take."""


def _need(
    estimate: MemoryEstimate,
    gpus: int,
    label: str | None,
    high_bytes: int,
    usable_bytes: int,
    verdict: Verdict,
) -> GpuNeed:
    return GpuNeed(
        likely_bytes=estimate.process_bytes,
        high_bytes=high_bytes,
        usable_bytes=usable_bytes,
        verdict=verdict,
        gpus_used=gpus,
        parallelism=label,
        host_ram_bytes=estimate.host_ram_bytes,
        estimate=estimate,
    )


def _is_training(
    workload: TrainingWorkload | InferenceWorkload,
) -> TypeGuard[TrainingWorkload]:
    """Told by a field, so that the calculator is imported only when it calculates."""
    return hasattr(workload, "parallelism")


def _trials(
    workload: TrainingWorkload | InferenceWorkload, gpu_count: int
) -> Iterator[tuple[int, str | None]]:
    """Ways to run on `gpu_count` GPUs, simplest first: GPUs used and how."""
    if _is_training(workload):
        if gpu_count == 1:
            yield 1, None
        elif workload.parallelism is not None:
            yield gpu_count, workload.parallelism
        else:
            yield from ((gpu_count, way) for way in ("ddp", *SHARDED))
        return
    fixed = workload.tensor_parallel_size
    if fixed is not None and fixed <= gpu_count:
        yield fixed, f"tp{fixed}" if fixed > 1 else None
        return
    size = 1
    while size <= gpu_count:
        yield size, f"tp{size}" if size > 1 else None
        size *= 2


def _spread(
    workload: TrainingWorkload | InferenceWorkload,
    card: GpuSpec | None,
    gpus: int,
    label: str | None,
) -> TrainingWorkload | InferenceWorkload:
    """The workload on this many of these cards."""
    if _is_training(workload):
        way = label if gpus > 1 else workload.parallelism
        return replace(workload, gpu=card, gpu_count=gpus, parallelism=way)
    return replace(workload, gpu=card, gpu_count=gpus, tensor_parallel_size=gpus)


def _plain(need: PlainNeed, usable_bytes: int, gpu_count: int) -> GpuNeed:
    gpus = gpu_count if need.splits else 1
    likely, high = -(-need.likely_bytes // gpus), -(-need.high_bytes // gpus)
    verdict: Verdict = "fits" if high <= usable_bytes else "tight"
    if likely > usable_bytes:
        verdict = "does_not_fit"
    return GpuNeed(likely, high, usable_bytes, verdict, gpus, None, need.host_bytes)


def _is_nearer(found: GpuNeed, best: GpuNeed) -> bool:
    if best.unsupported is not None:
        return found.unsupported is None
    return found.unsupported is None and found.likely_bytes < best.likely_bytes
