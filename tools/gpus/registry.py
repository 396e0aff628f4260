"""The GPU table: every row of data/gpus.csv, built once and frozen."""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources

from tools.errors import BadQuantityError, DataError, UnknownGpuError
from tools.gpus.spec import GpuSpec, spec_from_row
from tools.gpus.vocabulary import vocabulary

DATA_FILE = "data/gpus.csv"


@cache
def all_gpus() -> tuple[GpuSpec, ...]:
    """Every card of the table, in the order of the file.

    Raises:
        DataError: If a row does not validate; names file, line and column.
    """
    text = (resources.files("tools.gpus") / DATA_FILE).read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return tuple(
        spec_from_row(row, where=f"tools/gpus/{DATA_FILE} row {number}")
        for number, row in enumerate(rows, start=2)
    )


@cache
def gpus_by_name() -> dict[str, GpuSpec]:
    """Table name to row.

    Raises:
        DataError: If a name stands on two rows.
    """
    by_name: dict[str, GpuSpec] = {}
    for spec in all_gpus():
        if spec.name in by_name:
            raise DataError(f"tools/gpus/{DATA_FILE}: name {spec.name!r} stands twice.")
        by_name[spec.name] = spec
    return by_name


def get_gpu(name: str) -> GpuSpec:
    """The row of an exact table name; `find_gpu` reads other spellings.

    Raises:
        UnknownGpuError: If no row has that name.
    """
    spec = gpus_by_name().get(name)
    if spec is None:
        from tools.gpus.index import closest_gpus

        raise UnknownGpuError(name, closest_gpus(name))
    return spec


def memory_class(label_gb: float, *, total_mib: int | None = None) -> GpuSpec:
    """A card of which only the memory is known: "24G 显存", "an 80 GB card".

    Usable memory is `total_mib` where a log gave it, else that of the common card of this label
    which has the least, else the rule of the table (512 MiB below the label up to 48 GB,
    820 MiB above). Support for bf16, FP8 and FlashAttention is unknown.

    Args:
        label_gb: GB as written on the box.
        total_mib: A torch total in MiB, where one was given.

    Raises:
        BadQuantityError: If the size is not positive or above 100,000 GB.
    """
    if not 0 < label_gb <= 100_000:
        raise BadQuantityError(field="gpu_mem_gb", given=label_gb, allowed="0 to 100000 GB")
    name = f"{label_gb:g} GB class"
    common = gpus_by_name().get(vocabulary().common_cards.get(f"{label_gb:g}", ""))
    if total_mib is not None:
        usable, why = total_mib, "the total given"
    elif common is not None and common.memory_usable_mib is not None:
        usable = common.memory_usable_mib
        why = f"as {common.name}, the common card of {label_gb:g} GB with the least usable memory"
    else:
        usable = max(int(label_gb * 1024) - (512 if label_gb <= 48 else 820), 0)
        why = "label less what the driver keeps (no common card of this size)"
    return GpuSpec(
        name=name,
        memory_label_gb=label_gb,
        memory_usable_mib=usable,
        usable_basis="seen" if total_mib is not None else "derived",
        notes=f"no card was named; usable memory {usable} MiB: {why}",
        is_class=True,
    )
