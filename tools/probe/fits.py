"""What fits on a machine now: inference and training by model size, against FREE memory.

Sizes are reference architectures; each cell is a full estimate of `tools.memory`, compared with
what a new process can get of the device at this moment. Across cards the work is split evenly,
so a mixed set is bound by its smallest free card, and the table says so.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal

from tools.errors import UserInputError
from tools.models import ModelSpec, reference_model
from tools.probe.calibration import load_calibration
from tools.probe.report import Device, Host, MachineReport
from tools.units import bytes_from_gib

Verdict = Literal["fits", "tight", "does_not_fit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FitRow:
    """One workload of one size on one device, a set of devices, or the CPU."""

    place: str
    """Such as "0: NVIDIA A10", "4 x NVIDIA A10" or "CPU"."""
    cards: int
    """Devices that share the work; 0 on the CPU."""
    size: str
    """Such as 7B or 235B-A22B."""
    workload: str
    """chat_4bit, chat_4bit_32k, chat_16bit, chat_16bit_32k, qlora, lora, full."""
    context: int
    """Tokens of the cache, or of a training sequence."""
    verdict: Verdict
    need_bytes: int
    """Per card."""
    low_bytes: int
    high_bytes: int
    free_bytes: int
    """Free on the device, or on the smallest of the set."""
    tokens_per_s: tuple[float, float] | None = None
    """On the CPU: the range in which generation speed is expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitTable:
    """What fits, and what would come nearest where nothing does."""

    rows: tuple[FitRow, ...]
    notes: tuple[str, ...]
    nearest: tuple[FitRow, ...] = ()
    """For each place on which nothing fits: the row that lacks least."""

    def largest(self, workload: str, *, place: str | None = None) -> FitRow | None:
        """The largest size of a workload that fits, tight ones last; None when none does."""
        for verdict in ("fits", "tight"):
            rows = [
                row
                for row in self.rows
                if row.workload == workload
                and row.verdict == verdict
                and (place is None or row.place == place)
            ]
            if rows:
                return rows[-1]
        return None

    @property
    def places(self) -> tuple[str, ...]:
        """Devices and sets in the order of the table."""
        return tuple(dict.fromkeys(row.place for row in self.rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    name: str
    cards: int
    free_bytes: int
    device: Device | None
    extra_bytes: int = 0
    """What a calibration of this machine measured above the assumed context."""


@cache
def _plan() -> dict[str, Any]:
    text = (resources.files("tools.probe") / "data/fits.json").read_text(encoding="utf-8")
    plan: dict[str, Any] = json.loads(text)
    return plan


def fits_here(report: MachineReport, *, models: tuple[ModelSpec, ...] | None = None) -> FitTable:
    """What fits on a machine against what is free on it.

    Args:
        report: From `probe()` or `parse_pasted`.
        models: Models in the place of the reference sizes.

    Returns:
        Rows per device, per set of cards, and for the CPU where there is no device; never
        raises for what a report lacks, but says it in the notes.
    """
    notes: list[str] = []
    places = _places(report, notes)
    sizes = models or tuple(reference_model(total, active_b=active) for total, active in _sizes())
    rows: list[FitRow] = []
    for place in places:
        for spec in sizes:
            rows.extend(_rows(place, spec))
    if not report.cards:
        rows.extend(_cpu_rows(report.host, sizes, notes))
    nearest = []
    for name in dict.fromkeys(row.place for row in rows):
        here = [row for row in rows if row.place == name]
        if here and all(row.verdict == "does_not_fit" for row in here):
            nearest.append(min(here, key=lambda row: row.need_bytes - row.free_bytes))
    return FitTable(rows=tuple(rows), notes=tuple(notes), nearest=tuple(nearest))


def _sizes() -> list[tuple[float, float | None]]:
    return [(total, active) for total, active in _plan()["sizes"]]


def _places(report: MachineReport, notes: list[str]) -> list[_Place]:
    places: list[_Place] = []
    seen: dict[tuple[str, int], str] = {}
    usable: list[tuple[Device, int]] = []
    for device in report.cards:
        free = device.free_for_a_process_bytes
        if free is None:
            notes.append(
                f"device {device.index} ({device.name}) does not say how much memory it has"
            )
            continue
        usable.append((device, free))
        key = (device.name, free // bytes_from_gib(1))
        if key in seen:
            continue
        name = f"{device.index}: {device.spec.name if device.spec else device.name}"
        if device.slice_name is not None:
            name += f" {device.slice_name}"
        seen[key] = name
        places.append(_place(name, device, free, report, notes))
        notes.extend(_device_notes(device))
    if len(usable) > 1 and not any(device.parent_index is not None for device, _ in usable):
        places.append(_set_of(usable, notes))
    return [place for place in places if place.free_bytes > 0]


def _place(name: str, device: Device, free: int, report: MachineReport, notes: list[str]) -> _Place:
    calibration = None if report.is_pasted else load_calibration(device.name)
    extra = 0
    if calibration is not None:
        from tools.memory.overhead import context_bytes

        extra = calibration.context_bytes - context_bytes(device.spec)
        notes.append(
            f"device {device.index}: CUDA context as measured here on {calibration.measured_on}"
        )
    return _Place(name=name, cards=1, free_bytes=free, device=device, extra_bytes=extra)


def _device_notes(device: Device) -> list[str]:
    notes = []
    if device.bf16_supported is False:
        notes.append(f"{device.name} has no bf16: fp16 takes its place, with the same memory")
    if device.is_unified:
        notes.append(f"{device.name}: memory is shared with the system, so free changes with it")
    if device.spec is None:
        notes.append(f"{device.name} is in no table: described from what it reports")
    elif device.spec.vendor not in ("NVIDIA", None):
        notes.append(f"{device.name}: estimates are those of the CUDA stack; others differ some")
    return notes


def _set_of(usable: list[tuple[Device, int]], notes: list[str]) -> _Place:
    """All cards together, split evenly: the smallest free one bounds every share."""
    names = dict.fromkeys(device.spec.name if device.spec else device.name for device, _ in usable)
    smallest, least = min(usable, key=lambda item: item[1])
    count = len(usable)
    if len(names) > 1:
        name = f"{count} cards ({', '.join(names)})"
        notes.append(
            f"mixed cards: an even split is bound by device {smallest.index} ({smallest.name}); "
            f"only engines that place layers by memory (llama.cpp, device_map) use the rest"
        )
    else:
        name = f"{count} x {next(iter(names))}"
        most = max(free for _, free in usable)
        if most - least > bytes_from_gib(1):
            notes.append(f"device {smallest.index} has the least free and bounds an even split")
    return _Place(name=name, cards=count, free_bytes=least, device=smallest)


def _rows(place: _Place, spec: ModelSpec) -> list[FitRow]:
    rows = []
    for workload in _plan()["workloads"]:
        row = _row(place, spec, workload)
        if row is not None:
            rows.append(row)
    return rows


def _row(place: _Place, spec: ModelSpec, plan: dict[str, Any]) -> FitRow | None:
    """One cell; None where the split does not exist (heads that do not divide)."""
    from tools.memory import InferenceWorkload, TrainingWorkload, estimate, fit

    gpu = place.device.spec if place.device is not None else None
    workload: InferenceWorkload | TrainingWorkload
    try:
        if plan["task"] == "inference":
            workload = InferenceWorkload(
                spec, gpu=gpu, engine=plan["engine"], weight_format=plan["weight_format"],
                context_len=plan["context"], batch=1, gpu_count=place.cards,
                tensor_parallel_size=place.cards,
            )  # fmt: skip
        else:
            split = _plan()["even_split"][plan["method"]] if place.cards > 1 else None
            workload = TrainingWorkload(
                spec, gpu=gpu, method=plan["method"], micro_batch_size=1, seq_len=plan["context"],
                gpu_count=place.cards, parallelism=split,
            )  # fmt: skip
        need = estimate(workload)
    except UserInputError:
        return None
    found = fit(need, max(place.free_bytes - place.extra_bytes, 1))
    return FitRow(
        place=place.name,
        cards=place.cards,
        size=_size_name(spec),
        workload=plan["id"],
        context=plan["context"],
        verdict=found.verdict,
        need_bytes=need.process_bytes + place.extra_bytes,
        low_bytes=need.low_bytes + place.extra_bytes,
        high_bytes=need.high_bytes + place.extra_bytes,
        free_bytes=place.free_bytes,
    )


def _size_name(spec: ModelSpec) -> str:
    return spec.name.removesuffix(" reference architecture")


def _cpu_rows(host: Host, sizes: tuple[ModelSpec, ...], notes: list[str]) -> list[FitRow]:
    """What runs in RAM: 4-bit weights read once a token, so memory traffic bounds the speed."""
    ram = host.usable_ram_bytes
    if ram is None:
        notes.append("how much RAM is free could not be read")
        return []
    from tools.memory import InferenceWorkload, estimate

    plan = next(item for item in _plan()["workloads"] if item["id"] == "chat_4bit")
    free = max(ram - bytes_from_gib(_plan()["system_ram_gib"]), 0)
    rows = []
    for spec in sizes:
        workload = InferenceWorkload(
            spec, engine=plan["engine"], weight_format=plan["weight_format"],
            context_len=plan["context"], batch=1,
        )  # fmt: skip
        need = estimate(workload).allocated_bytes
        rows.append(
            FitRow(
                place="CPU", cards=0, size=_size_name(spec), workload=plan["id"],
                context=plan["context"], verdict="fits" if need <= free else "does_not_fit",
                need_bytes=need, low_bytes=need, high_bytes=need, free_bytes=free,
                tokens_per_s=_cpu_speed(host, spec, need),
            )
        )  # fmt: skip
    notes.append(
        "CPU: expected from the memory traffic of a one-thread copy measured here; enough to try "
        "models, to embed small batches, and for tree models; not for fine-tuning"
    )
    return rows


def _cpu_speed(host: Host, spec: ModelSpec, need_bytes: int) -> tuple[float, float] | None:
    copied = host.memory_copy_bytes_per_s
    if copied is None:
        return None
    share = (spec.params_active or spec.params_total) / spec.params_total
    read = need_bytes * share
    cores = (host.usable_cores or 1) / _plan()["cpu_cores_per_copy"]
    threads = max(1.0, min(cores, _plan()["cpu_most_copies"]))
    low = copied * _plan()["cpu_share_low"] / read
    return low, max(copied * threads / read, low)
