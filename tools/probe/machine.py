"""`probe()`: this machine, as one report; it never raises."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable

from tools.probe.doctor import findings_of
from tools.probe.host import read_host
from tools.probe.report import Device, Host, MachineReport, SourceAttempt
from tools.probe.sources import SOURCES, Found, has_memory, nvidia_links
from tools.probe.surroundings import Surroundings


def probe(*, measure: bool = True, surroundings: Surroundings | None = None) -> MachineReport:
    """What this machine has, now.

    Never raises: a source that is absent, fails, hangs (2 s) or crashes is noted and the next
    one is asked. torch is not imported.

    Args:
        measure: Whether to read the disk and copy memory for a moment.
        surroundings: Where to look; the real system by default.
    """
    start = time.perf_counter()
    system = surroundings or Surroundings()
    attempts: list[SourceAttempt] = []
    best = Found()
    for source in SOURCES:
        found = _ask(source, system)
        attempts.append(found.attempt)
        if found.devices and (not best.devices or has_memory(found)):
            best = found
        if has_memory(best):
            break
    host = _host(system, measure=measure, attempts=attempts)
    devices = [_with_owners(device, host) for device in best.devices]
    links = best.links
    if len(devices) > 1 and best.attempt.source in ("nvml", "nvidia-smi"):
        links = nvidia_links(system) or links
    report = MachineReport(
        devices=tuple(devices),
        host=host,
        driver_version=best.driver_version,
        cuda_version=best.cuda_version,
        links=tuple(links),
        attempts=tuple(attempts),
    )
    findings = findings_of(report, system)
    elapsed = 1000 * (time.perf_counter() - start)
    return dataclasses.replace(report, findings=findings, elapsed_ms=elapsed)


def _ask(source: Callable[[Surroundings], Found], system: Surroundings) -> Found:
    """One source, whatever it does: a parser that stumbles is that source's failure."""
    name = getattr(source, "__name__", "source").removeprefix("from_")
    try:
        return source(system)
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        OSError,
        TypeError,
        ValueError,
        RuntimeError,
    ) as error:
        detail = f"{type(error).__name__}: {error}"
        return Found(attempt=SourceAttempt(source=name, outcome="failed", detail=detail))


def _host(system: Surroundings, *, measure: bool, attempts: list[SourceAttempt]) -> Host:
    try:
        return read_host(system, measure=measure)
    except (LookupError, OSError, ValueError, RuntimeError) as error:
        attempts.append(SourceAttempt(source="host", outcome="failed", detail=str(error)))
        return Host()


def _with_owners(device: Device, host: Host) -> Device:
    """Names of the processes that hold memory, and whether they still live."""
    owners = []
    for process in device.processes:
        alive = None if host.is_container else _is_alive(process.pid)
        name = process.name or _process_name(process.pid)
        owners.append(dataclasses.replace(process, name=name, is_alive=alive))
    return dataclasses.replace(device, processes=tuple(owners))


def _is_alive(pid: int) -> bool | None:
    if os.name != "posix":
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError, OSError):
        return True
    return True


def _process_name(pid: int) -> str | None:
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as stream:
            return stream.read().strip() or None
    except OSError:
        return None
