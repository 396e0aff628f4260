"""What a card is: one frozen record a row of data/gpus.csv.

A blank cell is None: not known, never zero and never false. Every row has three levels of
memory: the label on the box, what nvidia-smi prints, and what torch can get. Fit decisions
use the last.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from tools.errors import DataError
from tools.provenance import Source
from tools.units import bytes_from_gb, bytes_from_mib


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSpec:
    """One card (one GPU of a board; one chip for Apple)."""

    name: str
    aliases: tuple[str, ...] = ()
    vendor: str | None = None
    architecture: str | None = None
    compute_capability: float | None = None
    """CUDA compute capability; None for cards without CUDA."""
    memory_label_gb: float | None = None
    """GB on the box: for names and search, never for fit."""
    memory_smi_mib: int | None = None
    """MiB that nvidia-smi (npu-smi) prints as total."""
    memory_usable_mib: int | None = None
    """MiB that torch can get."""
    usable_basis: str | None = None
    """seen in a published torch total, or derived by the rule of the data's README."""
    mem_bandwidth_gbs: float | None = None
    """Memory bandwidth in GB/s (10**9)."""
    fp32_tflops: float | None = None
    tf32_dense: float | None = None
    bf16_dense: float | None = None
    fp16_tensor_dense: float | None = None
    """TFLOPS (TOPS for int8); tensor figures are without sparsity."""
    fp8_dense: float | None = None
    int8_dense: float | None = None
    bf16_supported: bool | None = None
    fp8_supported: bool | None = None
    flash_attention2_supported: bool | None = None
    nvlink: bool | None = None
    """None: a bridge exists or nothing was seen; the notes say which."""
    nvlink_total_gbs: float | None = None
    """GB/s, both directions together."""
    mig: bool | None = None
    mig_max_instances: int | None = None
    tdp_w: float | None = None
    sources: str = ""
    notes: str = ""
    is_class: bool = False
    """True for "a 24 GB card": memory is known, the card is not."""

    @property
    def usable_bytes(self) -> int | None:
        """Memory that a process can get, in bytes; None when not known."""
        return None if self.memory_usable_mib is None else bytes_from_mib(self.memory_usable_mib)

    @property
    def label_bytes(self) -> int | None:
        """The label's GB (10**9) in bytes; for names, never for fit."""
        return None if self.memory_label_gb is None else bytes_from_gb(self.memory_label_gb)

    @property
    def is_unified(self) -> bool:
        """Whether the memory is shared with the CPU (Apple, GB10, Jetson)."""
        return self.vendor == "Apple" or self.name.startswith(("Jetson", "NVIDIA GB10"))

    @property
    def source(self) -> Source:
        """Where the row comes from."""
        if self.is_class:
            return Source("assumed:gpu", "assumed", self.notes)
        return Source(f"data:gpus.csv#{self.name}", "vendor", self.sources)


class GpuMatch(NamedTuple):
    """The card that a written name stands for."""

    spec: GpuSpec
    slice_memory_gb: float | None = None
    """Memory of the MIG instance or vGPU profile, where one is named."""
    notes: tuple[str, ...] = ()
    also: tuple[GpuSpec, ...] = ()
    """Other cards that the bare name may mean."""
    conflict: str | None = None
    """What is contradictory or ambiguous about it, in one English sentence."""
    given_memory_gb: float | None = None
    """The size written beside the name."""
    slice_name: str | None = None
    """Such as 3g.40gb or A10-4Q."""
    total_mib: int | None = None
    """The total of a pasted log; it wins over the table."""

    @property
    def usable_bytes(self) -> int | None:
        """Memory of what was named: the log's total, the slice's or the card's, in bytes.

        A slice gives what is left of it by the rule of the table: 512 MiB below its size.
        """
        if self.total_mib is not None:
            return bytes_from_mib(self.total_mib)
        if self.slice_memory_gb is not None:
            return bytes_from_mib(self.slice_memory_gb * 1024 - 512)
        return self.spec.usable_bytes


class GpuMention(NamedTuple):
    """A card named in free text."""

    match: GpuMatch
    count: int | None  # type: ignore[assignment]  # the contract's name hides tuple.count
    start: int
    end: int
    text: str


_BOOLEANS = {"true": True, "false": False}


@cache
def _columns() -> dict[str, tuple[str, str]]:
    """Column of the file to field and declared type: `source` is `sources`, the rest is alike."""
    fields = {field.name: str(field.type) for field in dataclasses.fields(GpuSpec)}
    del fields["is_class"]
    return {("source" if name == "sources" else name): (name, t) for name, t in fields.items()}


def spec_from_row(row: Mapping[str, str], *, where: str) -> GpuSpec:
    """A `GpuSpec` from one row of the CSV file.

    Raises:
        DataError: If a column is missing or unknown, or a cell does not read as its type.
    """
    columns = _columns()
    if row.keys() != columns.keys():
        odd = sorted(str(column) for column in row.keys() ^ columns.keys())
        raise DataError(f"{where}: columns missing or unknown: {', '.join(odd)}.")
    values: dict[str, Any] = {}
    for column, (field, declared) in columns.items():
        try:
            values[field] = _read(row[column], declared)
        except (KeyError, ValueError) as error:
            raise DataError(f"{where}: {column!r} is {row[column]!r}, not {declared}.") from error
    if not values["name"]:
        raise DataError(f"{where}: 'name' is empty.")
    return GpuSpec(**values)


def _read(cell: str, declared: str) -> object:
    if declared == "tuple[str, ...]":
        return tuple(part for part in cell.split(";") if part)
    if declared == "str":
        return cell
    if cell == "":
        return None
    if declared == "int | None":
        return int(cell)
    if declared == "float | None":
        return float(cell)
    return _BOOLEANS[cell] if declared == "bool | None" else cell
