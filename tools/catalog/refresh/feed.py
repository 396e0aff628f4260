"""What a vendor's API answered, in the units of the catalog."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from tools.catalog.offer import Billing, Category, Status
from tools.errors import UserInputError


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedType:
    """One instance type as the vendor's API states it; None = the API is silent."""

    instance_type: str
    family: str
    category: Category
    status: Status = "current"
    gpu_model: str | None = None
    gpu_count: int | None = None
    gpu_fraction: Fraction | None = None
    gpu_memory_gib: float | None = None
    """Of one GPU that the guest sees, GiB as the API counts it."""
    vcpu_count: int | None = None
    memory_gib: float | None = None
    cpu_model: str | None = None
    network_gbps: float | None = None
    rdma: bool | None = None
    rdma_gbps: float | None = None
    local_storage_gb: float | None = None


@dataclass(frozen=True, slots=True)
class FetchedPrice:
    """One price of today."""

    instance_type: str
    region: str
    billing: Billing
    amount: Decimal
    """For one hour."""
    currency: str


@dataclass(frozen=True, slots=True)
class Feed:
    """Everything that one call of `refresh` brought."""

    provider: str
    region: str
    locator: str
    """API and region, for the list of sources."""
    types: tuple[FetchedType, ...]
    prices: tuple[FetchedPrice, ...] = ()
    notes: tuple[str, ...] = ()
    """What could not be asked, in one sentence each."""


def card_row(model: str | None, *, memory_gib: float | None) -> str | None:
    """Row of the GPU table for a vendor's card name, or None where it is not certain."""
    if model is None or memory_gib is None:
        return None
    from tools.gpus import find_gpu

    label = round(memory_gib)
    for written in (f"{model} {label}GB", model):
        try:
            match = find_gpu(written)
        except UserInputError:
            continue
        size = match.spec.memory_label_gb
        if match.conflict is None and size is not None and abs(size - memory_gib) <= 0.1 * size:
            return match.spec.name
    return None
