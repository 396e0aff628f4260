"""The rows of the catalog: an instance type, a price, a spot record.

A field that its source does not state is None. None is neither zero nor false: an instance with
unknown NVLink may have NVLink.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Literal, get_args

from tools.provenance import Source
from tools.units import HOURS_PER_MONTH

Category = Literal["gpu", "vgpu-slice", "accelerator", "cpu"]
Status = Literal[
    "current",
    "previous-gen",
    "invitational-preview",
    "retired",
    "inactive-in-api-dump",
    "api-listed",
]
Billing = Literal["on_demand", "spot", "subscription"]
Per = Literal["hour", "month"]
InterruptionBand = Literal["<5%", "5-10%", "10-15%", "15-20%", ">20%"]

CATEGORIES: tuple[Category, ...] = get_args(Category)
STATUSES: tuple[Status, ...] = get_args(Status)
BILLINGS: tuple[Billing, ...] = get_args(Billing)
PERS: tuple[Per, ...] = get_args(Per)
INTERRUPTION_BANDS: tuple[InterruptionBand, ...] = get_args(InterruptionBand)

OLD_AFTER_DAYS = 365
"""A price of this age or more is labelled old, unless the caller sets another limit."""


@dataclass(frozen=True, slots=True)
class InstanceOffer:
    """One instance type of one provider, as its sources state it."""

    provider: str
    instance_type: str
    """The vendor's own spelling, such as ecs.gn7i-c8g1.2xlarge."""
    family: str
    category: Category
    gpu_model: str | None
    """What the source calls the card; None for a CPU type and where the source is silent."""
    gpu_name: str | None
    """Row of `tools.gpus`; None where the vendor names no card or not its memory size."""
    gpu_count: int | None
    """GPUs that the guest sees; 1 for a slice."""
    gpu_fraction: Fraction | None
    """Share of a card behind each GPU that the guest sees; 1 for whole cards."""
    card_memory_gb: float | None
    """Label of the whole card, GB."""
    slice_memory_gb: float | None
    """Memory of the slice, GB: this and not the card is what a vGPU instance offers."""
    vcpu_count: int | None
    memory_gib: float | None
    """Host memory, GiB."""
    cpu_model: str | None
    network_gbps: float | None
    """Gbit/s; baseline, private, peak or assured as the vendor prints it (see data/README.md)."""
    rdma: bool | None
    rdma_gbps: float | None
    nvlink: bool | None
    nvlink_gbs: float | None
    """GB/s, both directions together, per GPU."""
    local_storage_gb: float | None
    storage_note: str | None
    status: Status
    source_ids: tuple[str, ...]
    """Rows of data/sources.csv."""
    note: str | None
    file: str
    """Data file that the row stands in, relative to the data folder."""

    @property
    def is_gpu(self) -> bool:
        """True for whole GPUs and slices of one; false for CPU types and other accelerators."""
        return self.category in ("gpu", "vgpu-slice")

    @property
    def is_slice(self) -> bool:
        """True when the guest gets less than a whole card."""
        return self.gpu_fraction is not None and self.gpu_fraction < 1

    @property
    def card_count(self) -> float | None:
        """Cards behind the instance: 8, 1, or a fraction of one for a slice."""
        if self.gpu_count is None or self.gpu_fraction is None:
            return None
        return float(self.gpu_count * self.gpu_fraction)

    @property
    def gpu_memory_gb(self) -> float | None:
        """Label memory that one guest GPU offers, GB: the slice's where there is one."""
        if self.category == "vgpu-slice":
            return self.slice_memory_gb
        return self.card_memory_gb

    @property
    def gpu_label(self) -> str | None:
        """Name of the card to print: the GPU table's row, else the vendor's words."""
        return self.gpu_name or self.gpu_model


@dataclass(frozen=True, slots=True)
class Price:
    """What one instance type costs: never a number without currency and source."""

    provider: str
    instance_type: str
    region: str | None
    """Vendor's region id; None = the source does not state it."""
    billing: Billing
    amount: Decimal
    """In `currency`, for one instance and one `per`."""
    currency: str
    per: Per
    priced_on: date | None
    """None = an undated list price: shown, never ranked."""
    source_id: str
    """Row of data/sources.csv."""
    note: str | None
    source: Source

    @property
    def is_rankable(self) -> bool:
        """True when the price may be compared with others: it carries a date."""
        return self.priced_on is not None

    @property
    def per_hour(self) -> Decimal:
        """Amount for one hour; a monthly price is spread over 730 hours."""
        return self.amount if self.per == "hour" else self.amount / HOURS_PER_MONTH

    def age_days(self, *, today: date) -> int | None:
        """Days since the price was taken; None without a date."""
        return None if self.priced_on is None else (today - self.priced_on).days

    def is_old(self, *, today: date, old_after_days: int = OLD_AFTER_DAYS) -> bool:
        """True when the price has the age at which it is labelled old, or no date at all."""
        age = self.age_days(today=today)
        return age is None or age >= old_after_days


@dataclass(frozen=True, slots=True)
class SpotRecord:
    """How much spot saved on average, and how often it was interrupted."""

    provider: str
    instance_type: str
    region: str
    saving_pct: int | None
    """Percent off the on-demand price, average; 0 is a real value."""
    interruption_band: InterruptionBand | None
    """Share of instances interrupted in a month."""
    as_of: date
    source: Source
