"""probe_local_gpu: what the asker's machine has and what fits on it now, or on a pasted one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pydantic import Field

from agent.answer import FigureOut
from agent.settings import Settings
from agent.toolbox.base import Arguments, Report, Row, Tool, description_of
from tools.errors import UnsupportedError
from tools.units import format_gib

if TYPE_CHECKING:
    from tools.probe import FitTable, MachineReport


class ProbeArguments(Arguments):
    """Nothing for this machine, or text pasted from another one."""

    pasted: str | None = Field(
        None, max_length=100_000, description="nvidia-smi or similar output of another machine"
    )


class DeviceOut(Row):
    """One card, or a slice of one."""

    index: int
    name: str
    total_bytes: int | None
    free_bytes: int | None
    used_bytes: int | None
    usable_bytes: int | None
    free_for_a_process_bytes: int | None
    compute_capability: float | None
    bf16_supported: bool | None
    fp8_supported: bool | None
    flash_attention2_supported: bool | None
    slice_name: str | None
    processes: int


class FitOut(Row):
    """One workload on one place."""

    place: str
    size: str
    workload: str
    verdict: str
    need_bytes: int
    free_bytes: int
    context: int
    tokens_per_s_low: float | None
    tokens_per_s_high: float | None


class FindingOut(Row):
    """Something wrong or worth knowing."""

    code: str
    severity: str
    text_en: str
    text_zh: str
    command: str | None


class ProbeReport(Report):
    """A machine."""

    is_pasted: bool
    source: str | None
    driver_version: str | None
    cuda_version: str | None
    devices: tuple[DeviceOut, ...]
    cpu_name: str | None
    logical_cores: int | None
    ram_total_bytes: int | None
    ram_available_bytes: int | None
    best: tuple[FitOut, ...]
    """The largest size of each workload that fits now, for each place."""
    findings: tuple[FindingOut, ...]
    notes: tuple[str, ...]

    def summary(self) -> str:
        """The devices."""
        if not self.devices:
            return "no GPU found"
        free = self.devices[0].free_for_a_process_bytes
        return f"{len(self.devices)} x {self.devices[0].name}, {format_gib(free or 0)} free"


def build(settings: Settings) -> Tool[ProbeArguments]:
    """The tool; this machine is read only when it is the asker's own."""
    return Tool(
        name="probe_local_gpu",
        description=description_of("probe_local_gpu"),
        arguments=ProbeArguments,
        report=ProbeReport,
        function=partial(probe_local_gpu, own_machine=settings.own_machine),
        needs_own_machine=True,
    )


def probe_local_gpu(arguments: ProbeArguments, *, own_machine: bool) -> ProbeReport:
    """Reads this machine, or the text of another one.

    Raises:
        UnsupportedError: When this machine is not the asker's and nothing was pasted.
    """
    from tools.probe import fits_here

    machine = _machine(arguments.pasted, own_machine=own_machine)
    table = fits_here(machine)
    devices, fits = _devices(machine), _largest(table)
    return ProbeReport(
        figures=_figures(devices, fits, machine.host.ram_total_bytes),
        is_pasted=machine.is_pasted,
        source=machine.source,
        driver_version=machine.driver_version,
        cuda_version=machine.cuda_version,
        devices=devices,
        cpu_name=machine.host.cpu_name,
        logical_cores=machine.host.logical_cores,
        ram_total_bytes=machine.host.ram_total_bytes,
        ram_available_bytes=machine.host.ram_available_bytes,
        best=fits,
        findings=tuple(
            FindingOut(code=f.code, severity=f.severity, text_en=f.text_en, text_zh=f.text_zh,
                       command=f.command)
            for f in machine.findings
        ),
        notes=table.notes,
    )  # fmt: skip


def _machine(text: str | None, *, own_machine: bool) -> MachineReport:
    """The machine of a pasted text, or this one."""
    from tools.probe import parse_pasted, probe

    if text is not None:
        read = parse_pasted(text)
        if read is None:
            raise UnsupportedError(
                "reading the pasted text",
                reason="no output of nvidia-smi or a similar tool was found in it",
                instead="Paste the whole output.",
            )
        return read
    if not own_machine:
        raise UnsupportedError(
            "probing the machine",
            reason="the advisor runs as a service here and would see its server, not your machine",
            instead="Paste the output of nvidia-smi.",
        )
    return probe(measure=False)


def _devices(machine: MachineReport) -> tuple[DeviceOut, ...]:
    return tuple(
        DeviceOut(
            index=d.index,
            name=d.spec.name if d.spec is not None else d.name,
            total_bytes=d.total_bytes,
            free_bytes=d.free_bytes,
            used_bytes=d.used_bytes,
            usable_bytes=d.usable_bytes,
            free_for_a_process_bytes=d.free_for_a_process_bytes,
            compute_capability=d.compute_capability,
            bf16_supported=d.bf16_supported,
            fp8_supported=d.fp8_supported,
            flash_attention2_supported=d.flash_attention2_supported,
            slice_name=d.slice_name,
            processes=len(d.processes),
        )
        for d in machine.cards
    )


def _largest(table: FitTable) -> tuple[FitOut, ...]:
    """The largest size of each workload that fits, for each place."""
    workloads = dict.fromkeys(row.workload for row in table.rows)
    best = (table.largest(work, place=place) for place in table.places for work in workloads)
    return tuple(
        FitOut(
            place=row.place,
            size=row.size,
            workload=row.workload,
            verdict=row.verdict,
            need_bytes=row.need_bytes,
            free_bytes=row.free_bytes,
            context=row.context,
            tokens_per_s_low=row.tokens_per_s[0] if row.tokens_per_s else None,
            tokens_per_s_high=row.tokens_per_s[1] if row.tokens_per_s else None,
        )
        for row in best
        if row is not None
    )


def _figures(
    devices: tuple[DeviceOut, ...], fits: tuple[FitOut, ...], ram: int | None
) -> tuple[FigureOut, ...]:
    figures = []
    for device in devices:
        for name in ("total_bytes", "free_bytes", "used_bytes", "free_for_a_process_bytes"):
            size = getattr(device, name)
            if size is not None:
                figures.append(FigureOut(name=f"device {device.index}: {name}", value=size,
                                         unit="B", sources=("probe:local",)))  # fmt: skip
    for row in fits:
        figures.append(FigureOut(name=f"{row.place}: {row.workload} {row.size}",
                                 value=row.need_bytes, unit="B", formula="estimate"))  # fmt: skip
        for bound in (row.tokens_per_s_low, row.tokens_per_s_high):
            if bound is not None:
                figures.append(FigureOut(name="speed on the CPU", value=bound, unit="token/s",
                                         formula="memory bandwidth / weights"))  # fmt: skip
    figures.append(
        FigureOut(name="devices", value=len(devices), unit="1", sources=("probe:local",))
    )
    if ram is not None:
        figures.append(FigureOut(name="ram", value=ram, unit="B", sources=("probe:local",)))
    return tuple(figures)
