"""What a recommendation is asked for and what it hands back."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Literal, NamedTuple

from tools.catalog.money import ExchangeRates
from tools.catalog.offer import OLD_AFTER_DAYS, Billing, InstanceOffer, Price
from tools.catalog.prices import SpotQuote
from tools.errors import BadQuantityError
from tools.provenance import Assumption, Figure, Source

if TYPE_CHECKING:
    from tools.memory import MemoryEstimate

BudgetPer = Literal["hour", "month", "run"]
MissCode = Literal[
    "memory",
    "tight",
    "host_memory",
    "gpu_memory_unknown",
    "no_bf16",
    "no_fp8",
    "no_flash_attention",
    "no_nvlink",
    "nvlink_unknown",
    "no_rdma",
    "rdma_unknown",
    "network",
    "network_unknown",
    "price",
    "no_dated_price",
    "no_price",
    "not_in_region",
    "not_for_sale",
    "deadline",
    "speed",
    "gpu_count",
    "no_cuda",
    "too_old",
    "no_kernel",
    "card_unknown",
    "unsupported",
]
"""Why an offer does not do; the text is worded by whoever shows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """How much is to be computed: given hours, or tokens or samples to train on."""

    hours: float | None = None
    """Hours of rent, the same on every machine."""
    tokens: float | None = None
    """Training tokens of one epoch."""
    samples: float | None = None
    tokens_per_sample: float | None = None
    epochs: float = 1

    def __post_init__(self) -> None:
        for name in ("hours", "tokens", "samples", "tokens_per_sample", "epochs"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise BadQuantityError(field=name, given=value, allowed="a number above 0")

    @property
    def total_tokens(self) -> float | None:
        """Tokens over all epochs, where they can be counted."""
        if self.tokens is not None:
            return self.tokens * self.epochs
        if self.samples is not None and self.tokens_per_sample is not None:
            return self.samples * self.tokens_per_sample * self.epochs
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraints:
    """What the reader will accept; None = not said.

    Raises:
        BadQuantityError: If a number is not above zero.
    """

    providers: tuple[str, ...] = ()
    """Any spelling; empty = all."""
    region: str | None = None
    """Any spelling of a region or group; cn = mainland China."""
    gpu_names: tuple[str, ...] = ()
    """Rows of the GPU table; empty = all."""
    gpu_count: int | None = None
    max_gpu_count: int | None = None
    budget: Decimal | None = None
    budget_currency: str = "CNY"
    budget_per: BudgetPer = "hour"
    hours_per_month: float | None = None
    """Hours a month that the machine runs; without it a monthly budget gives affordable hours
    and excludes nothing."""
    deadline_hours: float | None = None
    billing: Billing = "on_demand"
    spot_allowed: bool = False
    """Ranks by the likely spot price where one is known."""
    nvlink: bool = False
    rdma: bool = False
    min_network_gbps: float | None = None
    whole_cards: bool = False
    rocm: bool = False
    """True lets AMD Instinct cards in; code for CUDA does not run on them as it is."""
    bf16: bool | None = None
    """True = the card must compute bf16; None = as the workload's precision says."""
    fp8: bool | None = None
    flash_attention: bool | None = None
    min_decode_tokens_per_s: float | None = None
    """For serving: tokens per second of one stream at the workload's concurrency."""
    currency: str | None = None
    """Currency of costs; the budget's, else that of most offers."""
    rates: ExchangeRates | None = None
    today: date | None = None
    old_after_days: int = OLD_AFTER_DAYS
    limit: int = 5

    def __post_init__(self) -> None:
        for name in (
            "gpu_count",
            "max_gpu_count",
            "budget",
            "hours_per_month",
            "deadline_hours",
            "min_network_gbps",
            "min_decode_tokens_per_s",
            "limit",
        ):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise BadQuantityError(field=name, given=value, allowed="a number above 0")


class Miss(NamedTuple):
    """One reason why an offer does not do, with its figures."""

    code: MissCode
    needed: float | Decimal | None = None
    has: float | Decimal | None = None
    unit: str = "1"
    """B, Gbit/s, h, token/s, a currency per hour, ...; "1" for counts."""
    detail: str | None = None

    @property
    def shortfall(self) -> float:
        """How far off, as a ratio above one; a missing feature counts as far."""
        if (
            self.code not in _DISTANCE
            and self.needed
            and self.has
            and float(self.needed) > 0
            and float(self.has) > 0
        ):
            ratio = float(self.needed) / float(self.has)
            return max(ratio, 1 / ratio)
        return _DISTANCE.get(self.code, 2.0)


_DISTANCE = {
    "too_old": 8.0,
    "no_kernel": 1.3,
    "no_cuda": 9.0,
    "card_unknown": 5.0,
    "gpu_memory_unknown": 6.0,
    "not_for_sale": 4.0,
    "no_dated_price": 1.2,
}
"""How far off a reason without figures is, beside the ratios of those that have some."""


class GpuNeed(NamedTuple):
    """Memory of one GPU that a workload needs at a number of GPUs, in bytes."""

    likely_bytes: int
    high_bytes: int
    usable_bytes: int
    """What the card gives; of an engine that takes a share of it, that share."""
    verdict: Literal["fits", "tight", "does_not_fit"]
    gpus_used: int
    parallelism: str | None
    """ddp, zero2, zero3 for training; tpN for serving; None on one card."""
    host_ram_bytes: int = 0
    estimate: MemoryEstimate | None = None
    """The calculation behind it; None for a need that was given in bytes."""
    unsupported: str | None = None

    @property
    def figure(self) -> Figure:
        """The likely need, with where it comes from."""
        if self.estimate is None:
            return Figure(
                "process", self.likely_bytes, "B", (Source("user:memory", "user", "given need"),)
            )
        return next(f for f in self.estimate.figures() if f.name == "process")


@dataclass(frozen=True, slots=True)
class HoursInterval:
    """Hours of a job, with the range around it."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RecommendedOffer:
    """An offer that fits with margin, and what it costs."""

    offer: InstanceOffer
    need: GpuNeed
    price: Price
    """The dated price it is ranked by (on demand, subscription, or spot)."""
    is_old_price: bool
    spot: SpotQuote | None
    currency: str
    """Of the costs below; amounts in another currency are converted by `Recommendation.rates`."""
    cost_per_hour: Decimal
    cost_per_month: Decimal
    """Round the clock: 730 hours."""
    hours: HoursInterval | None
    cost_of_job: Decimal | None
    """Hours of the job and, where they are computed, of setting up, times the cost of an hour."""
    affordable_hours: float | None
    """Hours that the budget buys."""
    tokens_per_s: float | None
    """Training: all GPUs together; serving: one stream at the concurrency asked for."""
    notes: tuple[str, ...]
    """Codes: old_price, slice_licence, fp16_only, nvlink_unknown, rocm, larger_than_needed."""
    figures: tuple[Figure, ...]

    @property
    def headroom_bytes(self) -> int:
        """Usable memory less the likely need, per GPU."""
        return self.need.usable_bytes - self.need.likely_bytes


@dataclass(frozen=True, slots=True)
class NearMiss:
    """An offer that fails, and every reason why."""

    offer: InstanceOffer
    misses: tuple[Miss, ...]
    price: Price | None
    cost_per_hour: Decimal | None
    need: GpuNeed | None = None
    """Memory of one GPU; None where something else rules the offer out."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """Offers that fit, best first, and the nearest that do not."""

    offers: tuple[RecommendedOffer, ...]
    near_misses: tuple[NearMiss, ...]
    considered: int
    """Offers looked at."""
    currency: str
    rates: ExchangeRates
    ranked_by: Literal["cost_of_job", "cost_per_hour"]
    assumptions: tuple[Assumption, ...] = field(default=())
