"""What is to be placed, and what comes back."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Literal, NamedTuple

from tools.catalog import InstanceOffer, Price, Recommendation
from tools.errors import BadQuantityError
from tools.provenance import Assumption, Figure

if TYPE_CHECKING:
    from tools.models import ModelSpec

Action = Literal["train", "infer", "preprocess", "notebook"]
TrainMethod = Literal["full", "lora", "qlora"]
Kind = Literal["cpu", "vgpu_slice", "one_gpu", "several_gpus", "managed"]
WorkKind = Literal["trees", "classic", "network", "preprocess"]
ReasonCode = Literal[
    "library_without_gpu_code",
    "short_on_cpu",
    "long_on_cpu",
    "cheaper_on_cpu",
    "cheaper_on_gpu",
    "faster_on_gpu",
    "cpu_carries_the_load",
    "cpu_too_slow_per_request",
    "cpu_too_slow_per_stream",
    "cpu_fast_enough_per_stream",
    "cpu_cores_for_the_load",
    "host_memory",
    "gpu_memory",
    "data_above_gpu_memory",
    "slice_is_enough",
    "several_for_memory",
    "several_for_load",
    "no_single_machine",
    "cpu_bound",
    "no_offer",
    "interactive",
]
"""What speaks for the place; the figures beside it carry the numbers."""

_POSITIVE = (
    "model_bytes", "params", "rows", "columns", "data_bytes", "rounds", "samples", "epochs",
    "tokens", "seq_len", "requests_per_s", "concurrency", "latency_s", "prompt_len", "output_len",
    "vcpu_count", "host_ram_bytes", "deadline_hours",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A job to place; None = not said, assumed and reported.

    Raises:
        BadQuantityError: If a number is not above zero.
    """

    action: Action
    work: str | None = None
    """A library, algorithm, small network or data set as written: XGBoost, sklearn, MNIST."""
    model: ModelSpec | None = None
    """A model of the registry, or one built from a size."""
    params: float | None = None
    """Parameters of a model that is not in the registry."""
    model_bytes: int | None = None
    """Size of a model file, bytes."""
    method: TrainMethod | None = None
    weight_format: str | None = None
    rows: int | None = None
    columns: int | None = None
    rounds: int | None = None
    """Boosting rounds or iterations."""
    data_bytes: int | None = None
    """Size of the data on disk, bytes."""
    samples: float | None = None
    epochs: float | None = None
    tokens: float | None = None
    """Training tokens over all epochs."""
    seq_len: int | None = None
    requests_per_s: float | None = None
    concurrency: int | None = None
    latency_s: float | None = None
    """Seconds that one request may take."""
    prompt_len: int | None = None
    output_len: int | None = None
    vcpu_count: int | None = None
    """vCPUs of a machine that is there already."""
    host_ram_bytes: int | None = None
    provider: str | None = None
    region: str | None = None
    deadline_hours: float | None = None

    def __post_init__(self) -> None:
        for name in _POSITIVE:
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise BadQuantityError(field=name, given=value, allowed="a number above 0")


class Reason(NamedTuple):
    """One point for the place, with its figures."""

    code: ReasonCode
    figures: tuple[Figure, ...] = ()
    detail: str | None = None


class Option(NamedTuple):
    """One place that was computed: a machine, what it does, what it costs."""

    offer: InstanceOffer | None
    price: Price | None
    per_hour: Decimal | None
    """In CNY, or the currency of the recommendation it comes from."""
    hours: float | None = None
    """Hours of the job on it."""
    rate: float | None = None
    """Requests or tokens per second that it delivers (token/s of one stream for a language
    model)."""
    vcpu_count: int | None = None


class ManagedService(NamedTuple):
    """A managed platform that takes the same job."""

    provider: str
    name: str
    use: Literal["train", "infer", "notebook"]
    what_en: str
    what_zh: str
    source: str


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a job belongs, and why."""

    kind: Kind
    reasons: tuple[Reason, ...]
    cpu: Option | None
    gpu: Option | None
    managed: tuple[ManagedService, ...]
    """Platforms of the provider (or of all) for this kind of job; chosen when `kind` is managed,
    else an alternative."""
    assumptions: tuple[Assumption, ...] = ()
    recommendation: Recommendation | None = None
    """GPU offers that were weighed, best first, with the near misses."""

    @property
    def needs_gpu(self) -> bool:
        """True when a CPU instance is not the place."""
        return self.kind in ("vgpu_slice", "one_gpu", "several_gpus")

    def figures(self) -> tuple[Figure, ...]:
        """Figures of all reasons, each once."""
        return tuple(dict.fromkeys(f for reason in self.reasons for f in reason.figures))
