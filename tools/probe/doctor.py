"""What is wrong with a machine, and the command that mends it.

Every finding is a rule over a report: nothing is run, and torch is asked only for its version,
from the metadata of its installation. The wording is data/findings.json, in both languages.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from tools.probe.report import Device, Finding, MachineReport
from tools.probe.sources import pci_display_devices
from tools.probe.surroundings import Surroundings
from tools.units import MIB, bytes_from_gib, format_bytes

_UNEXPLAINED_BYTES = bytes_from_gib(1)
_SMALL_SHM_BYTES = 256 * MIB
_NOTABLE_BYTES = bytes_from_gib(1)
_CAPPED_BELOW = 0.9
_SMALL_LIMIT = 0.5
_TURING, _BLACKWELL = 7.5, 10.0
_LOST = re.compile(
    r"lost|fallen off the bus|unknown error|unable to determine the device handle", re.I
)


class TorchBuild(NamedTuple):
    """The installed torch, by its metadata."""

    version: str
    cuda: str | None
    """CUDA it is built for; None for a CPU build or where it cannot be told."""
    is_cpu: bool


@cache
def _templates() -> dict[str, dict[str, Any]]:
    text = (resources.files("tools.probe") / "data/findings.json").read_text(encoding="utf-8")
    templates: dict[str, dict[str, Any]] = json.loads(text)
    return templates


@cache
def _builds() -> dict[str, Any]:
    text = (resources.files("tools.probe") / "data/torch_builds.json").read_text(encoding="utf-8")
    builds: dict[str, Any] = json.loads(text)
    return builds


def finding(code: str, **values: Any) -> Finding:
    """The finding of a code, its template filled in."""
    template = _templates()[code]
    command = template["command"]
    return Finding(
        code=code,
        severity=template["severity"],
        text_en=template["en"].format(**values),
        text_zh=template["zh"].format(**values),
        command=_fill(command, values) if command else None,
    )


def _fill(command: str, values: dict[str, Any]) -> str:
    return command.format(**values) if "{" in command and values else command


def findings_of(
    report: MachineReport, system: Surroundings, *, torch: TorchBuild | None = None
) -> tuple[Finding, ...]:
    """Everything worth saying about a report, problems first.

    Args:
        report: The machine.
        system: Where to look for what the report does not hold.
        torch: The installed torch; read from its metadata by default.
    """
    found = [*_driver(report, system), *_host(report)]
    for device in report.devices:
        found.extend(_device(device, in_container=report.host.is_container))
    found.extend(_together(report))
    if any(device.vendor == "NVIDIA" for device in report.devices):
        build = torch or installed_torch()
        if build is not None:
            found.extend(_torch(report, build))
    order = {"problem": 0, "warning": 1, "hint": 2}
    return tuple(sorted(found, key=lambda item: order[item.severity]))


def _driver(report: MachineReport, system: Surroundings) -> Iterator[Finding]:
    for attempt in report.attempts:
        if "gave no answer" in attempt.detail:
            yield finding("tool_hangs", source=attempt.source, detail=attempt.detail)
        if "library version mismatch" in attempt.detail.lower():
            yield finding("library_mismatch")
            return
        if attempt.outcome == "failed" and _LOST.search(attempt.detail):
            yield finding("gpu_lost", detail=attempt.detail[:120])
    if report.devices:
        return
    if report.host.is_wsl:
        if system.exists("/usr/lib/wsl/lib/libcuda.so.1") or system.exists("/dev/dxg"):
            yield finding("wsl_linux_driver")
        return
    on_pci = any(vendor == "0x10de" for vendor, _ in pci_display_devices(system))
    wanted = os.environ.get("NVIDIA_VISIBLE_DEVICES", "") not in ("", "void", "none")
    if report.host.is_container and (on_pci or wanted) and not system.exists("/dev/nvidia0"):
        yield finding("container_without_device")
    elif on_pci:
        nouveau = re.search(r"^nouveau ", system.read("/proc/modules"), re.M) is not None
        yield finding("no_driver", nouveau=" (nouveau)" if nouveau else "")


def _host(report: MachineReport) -> Iterator[Finding]:
    host = report.host
    if host.is_wsl and host.ram_total_bytes is not None:
        yield finding("wsl_memory", ram=format_bytes(host.ram_total_bytes))
    limit, total = host.ram_limit_bytes, host.ram_total_bytes
    if limit is not None and total is not None and limit < _SMALL_LIMIT * total:
        yield finding("low_container_ram", limit=format_bytes(limit), total=format_bytes(total))
    if host.is_container and report.devices and host.shm_bytes is not None:
        if host.shm_bytes < _SMALL_SHM_BYTES:
            yield finding("small_shm", shm=format_bytes(host.shm_bytes))


def _device(device: Device, *, in_container: bool) -> Iterator[Finding]:
    used, living = device.used_bytes, [p for p in device.processes if p.is_alive is not False]
    idle = (device.total_bytes or 0) - (device.usable_bytes or 0)
    if used is not None and used - idle > _UNEXPLAINED_BYTES and not device.is_unified:
        held = sum(process.used_bytes or 0 for process in living)
        unknown = any(process.used_bytes is None for process in living)
        if used - idle - held > _UNEXPLAINED_BYTES and not unknown and not in_container:
            yield finding("memory_of_dead_process", index=device.index, used=format_bytes(used))
        elif living:
            names = ", ".join(f"{p.name or 'process'} ({p.pid})" for p in living[:3])
            free = format_bytes(device.free_for_a_process_bytes or 0)
            yield finding(
                "memory_in_use",
                index=device.index,
                used=format_bytes(used),
                holders=names,
                free=free,
            )
    limit, default = device.power_limit_w, device.default_power_limit_w
    if limit is not None and default is not None and limit < _CAPPED_BELOW * default:
        yield finding("power_capped", index=device.index, limit=limit, default=default)
    if device.display_active:
        yield finding("display", index=device.index)


def _together(report: MachineReport) -> Iterator[Finding]:
    cards = [device for device in report.devices if device.parent_index is None]
    names = dict.fromkeys(device.spec.name if device.spec else device.name for device in cards)
    if len(names) > 1:
        yield finding("mixed_cards", names=", ".join(names))
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None or report.is_pasted or not cards:
        return
    chosen = [part for part in visible.split(",") if part.strip() not in ("", "-1", "NoDevFiles")]
    if len(chosen) < len(cards):
        yield finding("hidden_devices", value=visible, seen=len(chosen), all=len(cards))


def installed_torch() -> TorchBuild | None:
    """The installed torch by its metadata, without importing it; None without torch."""
    import importlib.metadata  # costs more than the rest of this module

    try:
        version = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return None
    local = version.partition("+")[2]
    if local.startswith("cpu"):
        return TorchBuild(version, None, True)
    named = re.fullmatch(r"cu(\d{2,3})(\d)", local)
    if named is not None:
        return TorchBuild(version, f"{named[1]}.{named[2]}", False)
    return TorchBuild(version, _cuda_of_release(version), False)


def _cuda_of_release(version: str) -> str | None:
    release = _numbers(version)
    for first, cuda in _builds()["default_cuda"]:
        if release[:2] >= _numbers(first):
            return str(cuda)
    return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("+")[0]))


def _by_cuda(table: dict[str, Any], cuda: str) -> Any:
    return table.get(cuda, table.get(cuda.partition(".")[0]))


def _torch(report: MachineReport, build: TorchBuild) -> Iterator[Finding]:
    cards = [device for device in report.devices if device.vendor == "NVIDIA"]
    if not cards:
        return
    wheel = _wheel(report.driver_version)
    first = cards[0].spec.name if cards[0].spec else cards[0].name
    if build.is_cpu:
        yield finding("cpu_build", torch=build.version, card=first, wheel=wheel)
        return
    if build.cuda is None:
        return
    needed = _by_cuda(_builds()["min_driver"], build.cuda)
    driver = report.driver_version
    if needed and driver and _numbers(driver) < _numbers(needed):
        yield finding(
            "driver_too_old", driver=driver, torch=build.version, cuda=build.cuda, needed=needed,
            wheel=wheel,
        )  # fmt: skip
    for device in cards:
        if _lacks_kernels(device.compute_capability, build):
            yield finding(
                "build_without_card", torch=build.version, cuda=build.cuda,
                card=device.spec.name if device.spec else device.name,
                capability=device.compute_capability,
                wheel=_wheel_for(device.compute_capability or 0, driver),
            )  # fmt: skip
            return


def _lacks_kernels(capability: float | None, build: TorchBuild) -> bool:
    low, high = _bound("capability_from", build), _bound("capability_to", build)
    if capability is None or low is None or high is None:
        return False
    return not low <= capability <= high


def _bound(table: str, build: TorchBuild) -> float | None:
    """A bound of the wheel's compute capabilities, by its CUDA and its release."""
    rows = _by_cuda(_builds()[table], build.cuda or "") or ()
    release = _numbers(build.version)
    return next((float(bound) for first, bound in rows if release >= _numbers(first)), None)


def _wheel_for(capability: float, driver: str | None) -> str:
    """The wheel index that has kernels for a card: old cards are only in CUDA 12.6 builds."""
    if capability < _TURING:
        return "cu126"
    return "cu128" if capability >= _BLACKWELL and _wheel(driver) != "cu130" else _wheel(driver)


def _wheel(driver: str | None) -> str:
    for least, wheel in _builds()["wheel_for_driver"]:
        if driver is not None and _numbers(driver) >= _numbers(least):
            return str(wheel)
    return "cu126"
