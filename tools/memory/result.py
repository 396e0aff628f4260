"""What comes back: `MemoryEstimate` with its parts, `FitResult`, `Change`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from tools.gpus import GpuSpec
from tools.memory.workload import Counter, Workload
from tools.provenance import Assumption, Figure, Source
from tools.units import format_gib

Verdict = Literal["fits", "tight", "does_not_fit"]


class Part(NamedTuple):
    """One named share of the total, with the formula that gives it."""

    name: str
    """weights, gradients, optimizer_states, activations, logits, kv_cache, cuda_context, ..."""
    bytes: int
    formula: str
    sources: tuple[str, ...]
    """Ids by the grammar of tools.provenance."""
    counter: Counter = "allocated"
    """The narrowest of the three counters that sees this part."""


class Interval(NamedTuple):
    """Bounds around a counter, in bytes."""

    low_bytes: int
    high_bytes: int


class Swing(NamedTuple):
    """How far the estimate moves when an assumed value is another plausible one."""

    name: str
    low_bytes: int
    high_bytes: int


@dataclass(frozen=True)
class MemoryEstimate:
    """Memory of one card (`scope` per_gpu), in bytes, as three counters."""

    workload: Workload
    allocated_bytes: int
    """Live tensors at the peak (torch.cuda.max_memory_allocated)."""
    reserved_bytes: int
    """What the caching allocator holds (max_memory_reserved)."""
    process_bytes: int
    """What nvidia-smi shows: reserved, CUDA context, communication buffers."""
    weights_bytes: int
    """Weights resident on this card, adapters and copies included."""
    kv_cache_bytes: int
    """Keys and values (or state) that the sequences asked for need on this card; 0 in training."""
    host_ram_bytes: int
    """Host memory that the run needs beside the operating system."""
    gpu_count: int
    parts: tuple[Part, ...]
    """They sum to process_bytes; those with counter allocated sum to allocated_bytes."""
    assumed: tuple[tuple[str, int | float | str | bool], ...] = ()
    notes: tuple[str, ...] = ()
    peak_moment: str = ""
    """Where the peak stands: forward, loss, backward, optimizer_step, load, prefill, decode."""
    pool_share: float | None = None
    """Share of the card that a server takes whatever it needs, and must find enough in
    (vLLM, SGLang, TGI); None without a pool."""
    scope: Literal["per_gpu"] = "per_gpu"

    @cached_property
    def assumptions(self) -> tuple[Assumption, ...]:
        """Values that were not said, with the reason for each."""
        from tools.memory.defaults import explain

        return tuple(explain(name, value) for name, value in self.assumed)

    def interval(self, counter: Counter = "process") -> Interval:
        """Bounds around one counter."""
        from tools.memory.uncertainty import interval

        return interval(self, counter)

    def interval_for(self, counter: str) -> Interval:
        """Bounds around any counter of a measured row, weights and kv_cache among them."""
        from tools.memory.uncertainty import interval_for

        return interval_for(self, counter)

    @cached_property
    def low_bytes(self) -> int:
        """Lower bound of the process figure."""
        return self.interval().low_bytes

    @cached_property
    def high_bytes(self) -> int:
        """Upper bound of the process figure."""
        return self.interval().high_bytes

    @cached_property
    def swings(self) -> tuple[Swing, ...]:
        """What each assumed value moves, largest first."""
        from tools.memory.uncertainty import swings

        return swings(self.workload, self.assumed, self.process_bytes)

    @property
    def dominant_unknown(self) -> str | None:
        """The assumed value that moves the estimate most, or None when nothing was assumed."""
        return self.swings[0].name if self.swings else None

    def part(self, name: str) -> int:
        """Bytes of the parts with this name."""
        return sum(part.bytes for part in self.parts if part.name == name)

    def figures(self) -> tuple[Figure, ...]:
        """The estimate as figures with their origin: each part, then the three totals."""
        figures = [
            Figure(
                part.name, part.bytes, "B", tuple(_source(s) for s in part.sources), part.formula
            )
            for part in self.parts
        ]
        counted: dict[str, list[Figure]] = {"allocated": [], "reserved": [], "process": []}
        for part, figure in zip(self.parts, figures, strict=True):
            for counter in ("allocated", "reserved", "process")[_RANK[part.counter] :]:
                counted[counter].append(figure)
        totals = {
            "allocated": self.allocated_bytes,
            "reserved": self.reserved_bytes,
            "process": self.process_bytes,
        }
        for counter, total in totals.items():
            text = " + ".join(figure.name for figure in counted[counter]) or "0"
            figures.append(Figure(counter, total, "B", (), text, tuple(counted[counter])))
        return tuple(figures)


_VERDICT_REASONS = {
    "fits": "the upper bound is below the usable memory",
    "tight": "the estimate is below the usable memory, its upper bound is not",
    "does_not_fit": "the estimate is above the usable memory",
}
_RANK = {"allocated": 0, "reserved": 1, "process": 2}
_KINDS: dict[str, Literal["guide", "vendor", "paper", "measured", "derived", "assumed"]] = {
    "rule": "derived",
    "hf": "vendor",
    "vendor": "vendor",
    "paper": "paper",
    "measured": "measured",
    "code": "vendor",
    "data": "derived",
    "assumed": "assumed",
}


def _source(source_id: str) -> Source:
    return Source(source_id, _KINDS.get(source_id.partition(":")[0], "derived"), source_id)


@dataclass(frozen=True, slots=True)
class FitResult:
    """Verdict of an estimate against the memory that the card gives."""

    verdict: Verdict
    headroom_bytes: int
    """Usable memory less the point estimate; negative when it does not fit."""
    usable_bytes: int
    need_bytes: int
    low_bytes: int
    high_bytes: int

    @property
    def reason(self) -> str:
        """One clause: which bound decided, and the two figures."""
        text = _VERDICT_REASONS[self.verdict]
        return f"{text}: {format_gib(self.need_bytes)} of {format_gib(self.usable_bytes)}"


@dataclass(frozen=True, slots=True)
class Change:
    """One change to a workload, with the new figure beside it."""

    name: str
    """What is changed, such as gradient_checkpointing=full."""
    workload: Workload
    before_bytes: int
    after_bytes: int
    saving_bytes: int
    fits: bool
    cost: str
    """What the change costs: time, quality, or nothing."""
    cost_rank: int
    """0 free ... 4 changes what is trained or served."""


class SmallestCard(NamedTuple):
    """A card that a workload fits on, with what it needs there."""

    gpu: GpuSpec
    usable_bytes: int
    need_bytes: int
