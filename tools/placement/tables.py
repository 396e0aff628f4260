"""Work on tables and files: gradient boosting, classic machine learning, preprocessing."""

from __future__ import annotations

import math
from typing import NamedTuple

from tools.catalog import Recommendation, gpu_of, usable_memory
from tools.placement.constants import Work, assumed, computed, constant, given
from tools.placement.machines import (
    cheapest_cpu,
    gpu_option,
    plain_gpu,
    price_figure,
    vcpus,
)
from tools.placement.task import Kind, Option, Placement, Reason, Task
from tools.provenance import Assumption, Figure
from tools.units import GIB

_DEFAULT_VCPU = 16
_SHORT_S = 300.0
"""A job that ends within this on a CPU is not worth a GPU."""
_CLEARLY_FASTER = 3.0
_FLOAT32_BYTES = 4
_MOST_GPU_BYTES = 64 * GIB
"""Larger tables are fed in blocks."""
_RAM_PER_TABLE = 2.5


class Table(NamedTuple):
    """Size of a table: what was given, and what follows from it."""

    cells: Figure
    ram_bytes: Figure
    matrix_bytes: Figure
    """The same numbers as one FP32 matrix."""
    assumptions: tuple[Assumption, ...]


def place_table(task: Task, work: Work) -> Placement:
    """Boosting and classic machine learning on a table."""
    table = _table(task, work)
    rounds = _rounds(task, work)
    vcpu = task.vcpu_count or _DEFAULT_VCPU
    cpu_s = _cpu_seconds(table, rounds, vcpu, work)
    cpu = cheapest_cpu(vcpu, int(table.ram_bytes.value), provider=task.provider, region=task.region)
    cpu = cpu._replace(hours=float(cpu_s.value) / 3600) if cpu else None
    reasons = [Reason("host_memory", (table.ram_bytes, table.matrix_bytes))]
    if not work.has_gpu_code:
        reasons.insert(0, Reason("library_without_gpu_code", (cpu_s,), task.work))
        return Placement("cpu", tuple(reasons), cpu, None, (), table.assumptions)
    found = plain_gpu(
        _gpu_bytes(table), task, host_bytes=float(table.ram_bytes.value), whole_cards=True
    )
    gpu, gpu_s = _cheapest_gpu(table, rounds, found)
    is_short = float(cpu_s.value) <= _SHORT_S
    reasons.insert(0, Reason("short_on_cpu" if is_short else "long_on_cpu", (cpu_s,)))
    kind: Kind = "cpu"
    if not is_short and gpu is not None and gpu_s is not None:
        reasons.append(Reason("faster_on_gpu", (gpu_s, _ratio(cpu_s, gpu_s))))
        is_large = _exceeds(table, gpu)
        if is_large:
            reasons.append(Reason("data_above_gpu_memory", (table.matrix_bytes, *_memory(gpu))))
        cheaper = _costs(cpu, gpu)
        if cheaper is not None:
            reasons.append(cheaper)
        faster = float(cpu_s.value) >= _CLEARLY_FASTER * float(gpu_s.value)
        if faster and not is_large and cheaper is not None and cheaper.code == "cheaper_on_gpu":
            kind = "one_gpu"
    return Placement(
        kind,
        tuple(reasons),
        cpu,
        gpu,
        (),
        table.assumptions,
        found,
    )


def place_preprocessing(task: Task) -> Placement:
    """Cleaning, decoding and reshaping of data: bound by cores, memory and disk."""
    vcpu = task.vcpu_count or _DEFAULT_VCPU
    figures: list[Figure] = []
    hours = None
    if task.samples is not None:
        rate = constant("decode_images_per_s_per_vcpu")
        seconds = computed(
            "cpu_seconds", task.samples / (float(rate.value) * vcpu), "s",
            "samples / (rate per vCPU * vCPU)", given("samples", task.samples, "1"), rate,
            vcpus(vcpu),
        )  # fmt: skip
        hours = float(seconds.value) / 3600
        figures.append(seconds)
    ram = task.host_ram_bytes or vcpu * 2 * GIB
    reasons = [Reason("cpu_bound", tuple(figures))]
    if task.data_bytes is not None:
        need = _ram_of_file(task.data_bytes)
        ram = math.ceil(float(need.value))
        reasons.append(Reason("host_memory", (need,)))
    cpu = cheapest_cpu(vcpu, int(ram), provider=task.provider, region=task.region)
    cpu = cpu._replace(hours=hours) if cpu else None
    return Placement("cpu", tuple(reasons), cpu, None, ())


def _table(task: Task, work: Work) -> Table:
    per_cell = constant("csv_bytes_per_cell")
    notes: list[Assumption] = []
    if task.data_bytes is not None and task.rows is None:
        size = given("data_size", task.data_bytes, "B")
        cells = computed("cells", task.data_bytes / float(per_cell.value), "1",
                         "file size / bytes per cell", size, per_cell)  # fmt: skip
        ram = _ram_of_file(task.data_bytes)
    else:
        said_rows = task.rows or (int(task.samples) if task.samples else None)
        rows, columns = said_rows or work.rows or 1, task.columns or work.columns or 1
        for name, said, number in (("rows", said_rows, rows), ("columns", task.columns, columns)):
            if said is None:
                notes.append(Assumption(name, number, "1", "no size was given: a common table"))
        cells = computed("cells", rows * columns, "1", "rows * columns", given("rows", rows, "1"),
                         given("columns", columns, "1"))  # fmt: skip
        ram = computed("host_memory", float(cells.value) * 8 * _RAM_PER_TABLE, "B",
                       "cells * 8 B * 2.5 while it is read", cells)  # fmt: skip
    matrix = computed(
        "matrix", float(cells.value) * _FLOAT32_BYTES, "B", "cells * 4 B (FP32)", cells
    )
    return Table(cells, ram, matrix, tuple(notes))


def _ram_of_file(data_bytes: float) -> Figure:
    factor = constant("ram_per_csv_byte")
    return computed(
        "host_memory", data_bytes * float(factor.value), "B", "file size * 2.5",
        given("data_size", data_bytes, "B"), factor,
    )  # fmt: skip


def _rounds(task: Task, work: Work) -> Figure:
    if task.rounds is not None:
        return given("rounds", task.rounds, "1")
    return assumed("rounds", work.rounds or 100, "1", "a common number of rounds or passes")


def _cpu_seconds(table: Table, rounds: Figure, vcpu: int, work: Work) -> Figure:
    name = "tree_cells_per_s_per_vcpu" if work.kind == "trees" else "classic_cells_per_s_per_vcpu"
    rate = constant(name)
    seconds = float(table.cells.value) * float(rounds.value) / (float(rate.value) * vcpu)
    return computed(
        "cpu_seconds", seconds, "s", "cells * rounds / (cells per second and vCPU * vCPU)",
        table.cells, rounds, rate, vcpus(vcpu),
    )  # fmt: skip


def _gpu_seconds(table: Table, rounds: Figure, gpu: Option | None) -> Figure | None:
    card = gpu_of(gpu.offer) if gpu is not None and gpu.offer is not None else None
    if card is None or card.mem_bandwidth_gbs is None or gpu is None or gpu.offer is None:
        return None
    share = float(gpu.offer.gpu_fraction or 1)
    bandwidth = Figure("gpu_bandwidth", card.mem_bandwidth_gbs * share, "GB/s", (card.source,))
    rate, start = constant("tree_cells_per_s_per_gpu_gb_s"), constant("tree_gpu_start_s")
    work = float(table.cells.value) * float(rounds.value)
    seconds = work / (float(rate.value) * float(bandwidth.value)) + float(start.value)
    return computed(
        "gpu_seconds", seconds, "s", "cells * rounds / (rate * bandwidth) + start",
        table.cells, rounds, rate, bandwidth, start,
    )  # fmt: skip


def _cheapest_gpu(
    table: Table, rounds: Figure, found: Recommendation
) -> tuple[Option | None, Figure | None]:
    """The GPU offer that does the job for the least money, and its seconds."""
    best: tuple[Option | None, Figure | None] = (None, None)
    least = math.inf
    for number in range(len(found.offers)):
        option = gpu_option(found, number=number)
        seconds = _gpu_seconds(table, rounds, option)
        if option is None or seconds is None or option.per_hour is None:
            continue
        cost = float(option.per_hour) * float(seconds.value)
        if cost < least:
            least = cost
            best = (option._replace(hours=float(seconds.value) / 3600), seconds)
    return best


def _gpu_bytes(table: Table) -> float:
    """A quantised copy of the table (one byte a cell), gradients, and the CUDA context."""
    return min(float(table.cells.value) + GIB, _MOST_GPU_BYTES)


def _exceeds(table: Table, gpu: Option) -> bool:
    memory = usable_memory(gpu.offer) if gpu.offer is not None else None
    return memory is not None and float(table.matrix_bytes.value) > memory.bytes


def _memory(gpu: Option) -> tuple[Figure, ...]:
    memory = usable_memory(gpu.offer) if gpu.offer is not None else None
    return () if memory is None else (memory.figure,)


def _ratio(cpu_s: Figure, gpu_s: Figure) -> Figure:
    ratio = float(cpu_s.value) / float(gpu_s.value)
    return computed("speed_up", ratio, "1", "cpu_seconds / gpu_seconds", cpu_s, gpu_s)


def _costs(cpu: Option | None, gpu: Option | None) -> Reason | None:
    """Which of the two does the job for less money."""
    if cpu is None or gpu is None or cpu.per_hour is None or gpu.per_hour is None:
        return None
    if cpu.hours is None or gpu.hours is None:
        return None
    cost = {
        name: computed(
            f"{name}_job_cost", float(option.per_hour or 0) * (option.hours or 0), "CNY",
            "price * hours", price_figure(name, option),
        )
        for name, option in (("cpu", cpu), ("gpu", gpu))
    }  # fmt: skip
    is_gpu = float(cost["gpu"].value) < float(cost["cpu"].value)
    return Reason("cheaper_on_gpu" if is_gpu else "cheaper_on_cpu", (cost["cpu"], cost["gpu"]))
