"""A table that is trained on against the memory of the machine that was named."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from agent.answer import MemoryRange, Verdict
from agent.answering.hosts import shares
from agent.answering.plan import Call
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.machines import instance_line
from agent.answering.telling.numbers import quoted
from agent.request import Slots
from agent.toolbox import ToolResult
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.offers import InstanceOut
from tools.errors import BadQuantityError
from tools.memory.other import TableNeed, table_ram
from tools.units import GB, GIB, bytes_from_gb

_BYTES = {"fp32": 4, "fp16": 2, "bf16": 2, "int8": 1}
"""Bytes of a number, where its type was said."""
_WIDEST = 8
"""Of a column whose type was not said: pandas reads float64 and int64."""


@dataclass(frozen=True, slots=True)
class TableFit:
    """Whether the machine holds the table."""

    verdict: Verdict
    memory: MemoryRange


def table_fit(
    draft: Draft, machine: InstanceOut | None
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], TableFit | None]:
    """What the table takes while it is read and trained on, and what the machine has.

    Args:
        draft: The answer in the making.
        machine: The type that was named.

    Returns:
        None where the table's size or the machine's memory was not said.
    """
    slots = draft.request.slots
    need = _need(slots)
    given = machine.memory_gib if machine is not None else None
    have = given * GIB if given else bytes_from_gb(slots.host_ram_gb) if slots.host_ram_gb else None
    if need is None or have is None:
        return None
    usable = round(have * shares.PROCESS)
    verdict = _verdict(need, usable)
    _say_need(draft, need, usable=usable, verdict=verdict, machine=machine)
    if verdict != "fits":
        draft.say("table_ram.ways", importance=HEAD)
        yield from _say_larger(draft, need, machine)
    if machine is not None and machine.category != "cpu":
        _say_card(draft, need, machine)
    memory = MemoryRange(scope="host_ram", low_bytes=need.low_bytes, high_bytes=need.high_bytes,
                         usable_bytes=usable)  # fmt: skip
    return TableFit(verdict, memory)


def _need(slots: Slots) -> TableNeed | None:
    if slots.task != "train" or not slots.rows or not slots.columns or slots.model is None:
        return None
    width = _BYTES.get(slots.precision or "", _WIDEST)
    try:
        return table_ram(slots.rows, slots.columns, library=slots.model, value_bytes=width)
    except BadQuantityError:
        return None


def _verdict(need: TableNeed, usable: int) -> Verdict:
    """Short of the table itself; of its copies; of a margin; of nothing."""
    if need.low_bytes > usable:
        return "does_not_fit"
    if need.point_bytes > usable:
        return "depends"
    return "tight" if need.high_bytes > usable else "fits"


def _say_need(
    draft: Draft, need: TableNeed, *, usable: int, verdict: Verdict,
    machine: InstanceOut | None,
) -> None:  # fmt: skip
    slots = draft.request.slots
    rows, columns = slots.rows or 0, slots.columns or 0
    width = need.table_bytes // (rows * columns)
    draft.figure("rows", rows, "1", sources=("user:rows",))
    draft.figure("columns", columns, "1", sources=("user:columns",))
    draft.figure("bytes_of_a_number", width, "B", sources=("rule:type of the columns",))
    draft.figure("table", need.table_bytes, "B", formula="rows * columns * bytes of a number")
    draft.figure("streamed", need.low_bytes, "B", formula="table + library data")
    draft.figure("host_ram", need.point_bytes, "B", formula="2 * table + library data")
    if machine is not None and machine.memory_gib is not None:
        size, unit, source = machine.memory_gib, "GiB", "data:catalog"
    else:
        size, unit, source = slots.host_ram_gb or 0, "GB", "user:host_ram_gb"
    draft.figure("machine_ram", size, unit, sources=(source,))
    draft.figure("usable_ram", usable, "B", formula=f"RAM * {shares.PROCESS}")
    place = machine.instance_type if machine else draft.phrase("table_ram.this_machine")
    draft.lead(f"table_ram.{verdict}", work=quoted(slots.model or ""), rows=f"{rows:,}",
               columns=f"{columns:,}", width=width, table=_gb(need.table_bytes),
               low=_gb(need.low_bytes), need=_gb(need.point_bytes), place=place,
               have=f"{size:g} {unit}", usable=_gb(usable))  # fmt: skip


def _say_larger(
    draft: Draft, need: TableNeed, machine: InstanceOut | None
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], None]:
    """The smallest type of the same family and cards whose memory is enough."""
    if machine is None:
        return
    results = yield (
        Call("find_instances", {"name": machine.family, "provider": machine.provider}),
    )
    report = results[0].report
    if not isinstance(report, InstancesReport):
        return
    enough = [
        row for row in report.instances
        if row.gpu_count == machine.gpu_count
        and (row.memory_gib or 0) * GIB * shares.PROCESS >= need.point_bytes
    ]  # fmt: skip
    if enough:
        draft.use(*results)
        least = min(enough, key=lambda row: row.memory_gib or 0)
        draft.say("table_ram.larger", line=instance_line(draft, least), importance=HEAD)
        draft.offer([least.as_offer()])


def _say_card(draft: Draft, need: TableNeed, machine: InstanceOut) -> None:
    """The library's own data on the machine's card: one byte a number, where it is binned."""
    binned = next((f for f in need.figures if f.name == "library_data"), None)
    if binned is None or machine.gpu_memory_gb is None:
        return
    size = float(binned.value)
    draft.figure("binned", round(size), "B", formula="1 B a number + rows")
    draft.figure("card", machine.gpu_memory_gb, "GB", sources=("data:catalog",))
    fits = size + GIB <= machine.gpu_memory_gb * GB
    draft.say(f"table_ram.card_{'fits' if fits else 'short'}", binned=_gb(size),
              card=f"{machine.gpu_memory_gb:g} GB")  # fmt: skip


def _gb(size_bytes: float) -> str:
    """Host memory as it is sold, in GB."""
    return f"{size_bytes / GB:,.0f} GB"
