"""What disks and file systems give: throughput and reads a second, by the vendors' documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tools.errors import UserInputError
from tools.speed.results import load_data, require_positive


@dataclass(frozen=True, slots=True)
class StorageLimit:
    """What a disk or file system gives."""

    name: str
    mb_s: float
    """MB/s (10**6 bytes)."""
    iops: float | None
    """Reads a second; None when the vendor states none."""
    latency_ms: float | None
    origin: str


def storage_limit(name: str, *, size_gib: float | None = None) -> StorageLimit:
    """Throughput and IOPS of a storage product.

    Args:
        name: essd-pl0 .. essd-pl3, nas, cpfs, cfs-turbo, nvme, ...; case and spaces are free.
        size_gib: Capacity; matters where the throughput grows with it.

    Raises:
        UserInputError: If the product is not known; the message lists those that are.

    Source: data/storage.json, vendor documents.

    >>> storage_limit("ESSD PL1", size_gib=200).mb_s
    220.0
    """
    table = load_data("storage")
    key = name.strip().casefold().replace("_", "-")
    key = table["aliases"].get(key, key.replace(" ", "-"))
    key = table["aliases"].get(key, key)
    row = table["products"].get(key)
    if row is None:
        known = ", ".join(table["products"])
        raise UserInputError(f"Unknown storage {name!r}. Known: {known}. Or give its MB/s.")
    require_positive("size_gib", size_gib)
    iops = _grown(row, "iops", size_gib)
    mb_s = _grown(row, "mb_s", size_gib)
    if mb_s is None:  # every row has mb_s
        raise UserInputError(f"Storage {name!r} states no throughput.")
    return StorageLimit(key, mb_s, iops, row.get("latency_ms"), row["origin"])


def _grown(row: dict[str, Any], field: str, size_gib: float | None) -> float | None:
    """The row's cap, or less where the capacity does not buy it."""
    cap = row.get(field)
    if cap is None or size_gib is None:
        return None if cap is None else float(cap)
    tiers = row.get(f"tiers_gib_{field}")
    if tiers:
        reached = [rate for start, rate in tiers if size_gib >= start]
        return float(reached[-1] if reached else tiers[0][1])
    slope = row.get(f"{field}_per_gib")
    if slope is None:
        return float(cap)
    return float(min(row.get(f"{field}_base", 0) + slope * size_gib, cap))


def capacity_for(name: str, mb_s: float) -> float | None:
    """Capacity at which a storage product gives a throughput, in GiB.

    Args:
        name: As for `storage_limit`.
        mb_s: MB/s wanted.

    Returns:
        0 where the capacity does not matter; None where no capacity gives as much.

    Raises:
        UserInputError: If the product is not known.

    >>> round(capacity_for("cpfs", 1360)), capacity_for("nas", 700), capacity_for("nvme", 1000)
    (13600, 4096.0, 0.0)
    """
    limit = storage_limit(name)
    if limit.mb_s < mb_s:
        return None
    row = load_data("storage")["products"][limit.name]
    tiers = row.get("tiers_gib_mb_s")
    if tiers:
        return float(next(start for start, rate in tiers if rate >= mb_s))
    slope = row.get("mb_s_per_gib")
    return 0.0 if slope is None else max(0.0, (mb_s - float(row.get("mb_s_base", 0))) / slope)
