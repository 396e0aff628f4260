"""What a probe gives: devices, the host, findings, and which sources were tried."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from tools.units import bytes_from_mib

if TYPE_CHECKING:
    from tools.gpus import GpuSpec

Severity = Literal["problem", "warning", "hint"]
_DRIVER_RESERVE_MIB = 512
"""What a driver keeps of a card that is in no table (the table's rule up to 48 GB)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuProcess:
    """One process that holds memory of a device."""

    pid: int
    name: str | None = None
    used_bytes: int | None = None
    is_alive: bool | None = None
    """None where processes of another namespace cannot be seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One device that memory can be asked of: a card, a MIG instance, a vGPU, an NPU chip."""

    index: int
    name: str
    """As the driver calls it."""
    vendor: str | None = None
    spec: GpuSpec | None = None
    """Row of the GPU table; None for a card that is not in it."""
    uuid: str | None = None
    total_bytes: int | None = None
    free_bytes: int | None = None
    used_bytes: int | None = None
    processes: tuple[GpuProcess, ...] = ()
    compute_capability: float | None = None
    bf16_supported: bool | None = None
    fp8_supported: bool | None = None
    flash_attention2_supported: bool | None = None
    mig_enabled: bool | None = None
    parent_index: int | None = None
    """Index of the card that this MIG instance is cut from."""
    slice_name: str | None = None
    """MIG or vGPU profile."""
    ecc_enabled: bool | None = None
    power_limit_w: float | None = None
    default_power_limit_w: float | None = None
    power_draw_w: float | None = None
    utilization_pct: int | None = None
    temperature_c: int | None = None
    persistence: bool | None = None
    display_active: bool | None = None
    is_unified: bool = False
    """Memory shared with the CPU."""
    notes: tuple[str, ...] = ()

    @property
    def usable_bytes(self) -> int | None:
        """Most that a process could get of the empty device, in bytes."""
        if self.slice_name is None and self.spec is not None and self.spec.usable_bytes is not None:
            usable = self.spec.usable_bytes
            return usable if self.total_bytes is None else min(usable, self.total_bytes)
        if self.total_bytes is None:
            return None
        if self.is_unified:
            return self.total_bytes
        return max(self.total_bytes - bytes_from_mib(_DRIVER_RESERVE_MIB), 0)

    @property
    def free_for_a_process_bytes(self) -> int | None:
        """Most that a new process can get now, in bytes: what is free, below what is usable."""
        usable = self.usable_bytes
        if usable is not None and self.used_bytes is not None:
            idle = self._idle_bytes()
            usable = max(usable - max(self.used_bytes - idle, 0), 0)
        if self.free_bytes is None:
            return usable
        return self.free_bytes if usable is None else min(self.free_bytes, usable)

    def _idle_bytes(self) -> int:
        """Share of the used memory that the driver shows on an idle card as well."""
        if self.total_bytes is None or self.usable_bytes is None:
            return 0
        return self.total_bytes - self.usable_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The machine around the devices, as much of it as this process may use."""

    system: str | None = None
    cpu_name: str | None = None
    physical_cores: int | None = None
    logical_cores: int | None = None
    usable_cores: float | None = None
    """Cores by affinity and container quota."""
    instruction_sets: tuple[str, ...] = ()
    ram_total_bytes: int | None = None
    ram_available_bytes: int | None = None
    ram_limit_bytes: int | None = None
    """Limit of the container; None without one."""
    swap_total_bytes: int | None = None
    disk_path: str | None = None
    disk_free_bytes: int | None = None
    disk_read_bytes_per_s: float | None = None
    """A short sequential read; an upper bound where the file was cached."""
    memory_copy_bytes_per_s: float | None = None
    """Read and write traffic of a one-thread copy."""
    shm_bytes: int | None = None
    is_wsl: bool = False
    is_container: bool = False

    @property
    def usable_ram_bytes(self) -> int | None:
        """RAM that a new process can take, in bytes: available, within the container's limit."""
        known = [
            size for size in (self.ram_available_bytes, self.ram_limit_bytes) if size is not None
        ]
        return min(known, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceAttempt:
    """One source that was asked, and what came of it."""

    source: str
    """nvml, nvidia-smi, torch, amd-smi, rocm-smi, npu-smi, apple, xpu-smi, hl-smi, jetson."""
    outcome: Literal["found", "none", "absent", "failed"]
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that is wrong or worth knowing, and the command that mends it."""

    code: str
    severity: Severity
    text_en: str
    text_zh: str
    command: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineReport:
    """One machine. `probe()` never raises; what failed stands in `attempts` and `findings`."""

    devices: tuple[Device, ...] = ()
    host: Host = Host()
    driver_version: str | None = None
    cuda_version: str | None = None
    """Newest CUDA that the driver runs."""
    links: tuple[tuple[int, int, str], ...] = ()
    """Pairs of devices and the link between them as the driver names it (NV12, PIX, SYS, ...)."""
    attempts: tuple[SourceAttempt, ...] = ()
    findings: tuple[Finding, ...] = ()
    is_pasted: bool = False
    """Read from text that somebody pasted, not from this machine."""
    elapsed_ms: float | None = None

    @property
    def source(self) -> str | None:
        """The source that found the devices."""
        found = [attempt.source for attempt in self.attempts if attempt.outcome == "found"]
        return found[0] if found else None

    @property
    def cards(self) -> tuple[Device, ...]:
        """Devices that work can be put on: a card cut into MIG instances is not one itself."""
        cut = {device.parent_index for device in self.devices if device.parent_index is not None}
        return tuple(
            device
            for device in self.devices
            if device.parent_index is not None or device.index not in cut
        )

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values, for JSON."""
        devices = []
        for device in self.devices:
            record = {
                item.name: getattr(device, item.name)
                for item in dataclasses.fields(device)
                if item.name not in ("spec", "processes")
            }
            record["gpu"] = device.spec.name if device.spec else None
            record["usable_bytes"] = device.usable_bytes
            record["free_for_a_process_bytes"] = device.free_for_a_process_bytes
            record["processes"] = [dataclasses.asdict(process) for process in device.processes]
            devices.append(record)
        return {
            "source": self.source,
            "is_pasted": self.is_pasted,
            "driver_version": self.driver_version,
            "cuda_version": self.cuda_version,
            "devices": devices,
            "host": {
                **dataclasses.asdict(self.host),
                "usable_ram_bytes": self.host.usable_ram_bytes,
            },
            "links": [list(link) for link in self.links],
            "attempts": [dataclasses.asdict(attempt) for attempt in self.attempts],
            "findings": [dataclasses.asdict(finding) for finding in self.findings],
            "elapsed_ms": self.elapsed_ms,
        }
