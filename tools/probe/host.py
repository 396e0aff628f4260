"""The machine around the devices: cores, instruction sets, RAM, container limits, disk, WSL."""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path

from tools.probe.report import Host
from tools.probe.surroundings import Surroundings
from tools.units import KIB, MIB

_KNOWN_SETS = (
    "sse4_2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512_vnni", "avx512_bf16", "avx_vnni",
    "amx_tile", "amx_bf16", "amx_int8", "asimd", "asimddp", "bf16", "i8mm", "sve", "sve2",
)  # fmt: skip
_UNLIMITED = 2**60
"""Cgroup version 1 writes a number near 2**63 for "no limit"."""
_READ_S = 0.03
_READ_CHUNK = 4 * MIB
_LEAST_READ = 8 * MIB
_COPY_BYTES = 8 * MIB
_COPIES = 3


def read_host(surroundings: Surroundings, *, measure: bool = True) -> Host:
    """What this process may use of the machine.

    Args:
        surroundings: Where to look.
        measure: Whether to read the disk and copy memory for a moment (under 0.1 s together).
    """
    system = surroundings
    meminfo = _meminfo(system.read("/proc/meminfo"))
    cpuinfo = system.read("/proc/cpuinfo", limit=1_000_000)
    limit, limit_free = _memory_limit(system)
    if not meminfo:
        meminfo = _psutil_memory()
    available = meminfo.get("MemAvailable")
    if limit_free is not None and available is not None:
        available = min(available, limit_free)
    path = os.getcwd()
    return Host(
        system=_system(system),
        cpu_name=_cpu_name(cpuinfo),
        physical_cores=_physical_cores(cpuinfo),
        logical_cores=cpuinfo.count("processor\t:") or os.cpu_count(),
        usable_cores=_usable_cores(system),
        instruction_sets=_instruction_sets(cpuinfo),
        ram_total_bytes=meminfo.get("MemTotal"),
        ram_available_bytes=available,
        ram_limit_bytes=limit,
        swap_total_bytes=meminfo.get("SwapTotal"),
        disk_path=path,
        disk_free_bytes=_disk_free(path),
        disk_read_bytes_per_s=_read_speed() if measure else None,
        memory_copy_bytes_per_s=_copy_speed() if measure else None,
        shm_bytes=_disk_total(str(system.root / "dev/shm")),
        is_wsl=is_wsl(system),
        is_container=is_container(system),
    )


def is_wsl(surroundings: Surroundings) -> bool:
    """Whether this is Linux under Windows."""
    return "microsoft" in surroundings.read("/proc/version").lower()


def is_container(surroundings: Surroundings) -> bool:
    """Whether this process runs in a container."""
    if surroundings.exists("/.dockerenv") or surroundings.exists("/run/.containerenv"):
        return True
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return True
    names = ("docker", "kubepods", "containerd", "libpod", "lxc")
    groups = surroundings.read("/proc/1/cgroup") + surroundings.read("/proc/self/cgroup")
    return any(name in groups for name in names)


def _meminfo(text: str) -> dict[str, int]:
    rows = re.findall(r"^(\w+):\s+(\d+) kB", text, re.M)
    return {key: int(value) * KIB for key, value in rows}


def _psutil_memory() -> dict[str, int]:
    """The same where there is no /proc (macOS, Windows)."""
    try:
        import psutil

        memory, swap = psutil.virtual_memory(), psutil.swap_memory()
    except (ImportError, OSError, RuntimeError):
        return {}
    return {
        "MemTotal": int(memory.total),
        "MemAvailable": int(memory.available),
        "SwapTotal": int(swap.total),
    }


def _memory_limit(system: Surroundings) -> tuple[int | None, int | None]:
    """Limit of the container and what is left of it, in bytes; None without a limit."""
    folders = ["/sys/fs/cgroup", *_own_cgroups(system)]
    best: tuple[int, int] | None = None
    for folder in folders:
        for limit_name, used_name in (
            ("memory.max", "memory.current"),
            ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        ):
            limit = system.read(f"{folder}/{limit_name}").strip()
            if not limit.isdigit() or int(limit) >= _UNLIMITED:
                continue
            used = system.read(f"{folder}/{used_name}").strip()
            free = max(int(limit) - _working_set(system, folder, used), 0)
            if best is None or int(limit) < best[0]:
                best = int(limit), free
    return best if best is not None else (None, None)


def _working_set(system: Surroundings, folder: str, used: str) -> int:
    """Used memory less the page cache that can be dropped."""
    if not used.isdigit():
        return 0
    stat = system.read(f"{folder}/memory.stat") or system.read(f"{folder}/memory/memory.stat")
    inactive = re.search(r"^(?:total_)?inactive_file (\d+)", stat, re.M)
    return max(int(used) - (int(inactive[1]) if inactive else 0), 0)


def _own_cgroups(system: Surroundings) -> list[str]:
    """Folders of this process's cgroup and its parents, below the mount."""
    found = re.search(r"^0::(/\S+)", system.read("/proc/self/cgroup"), re.M)
    if found is None:
        return []
    parts = Path(found[1]).parts[1:]
    return ["/sys/fs/cgroup/" + "/".join(parts[:count]) for count in range(1, len(parts) + 1)]


def _usable_cores(system: Surroundings) -> float | None:
    cores: float | None = None
    try:
        cores = float(len(os.sched_getaffinity(0)))
    except (AttributeError, OSError):
        cores = float(os.cpu_count() or 0) or None
    for folder in ["/sys/fs/cgroup", *_own_cgroups(system)]:
        quota = system.read(f"{folder}/cpu.max").split()
        if not quota:
            period = system.read(f"{folder}/cpu/cpu.cfs_period_us").strip()
            quota = [system.read(f"{folder}/cpu/cpu.cfs_quota_us").strip(), period]
        if len(quota) == 2 and quota[0].isdigit() and quota[1].isdigit() and int(quota[1]) > 0:
            share = int(quota[0]) / int(quota[1])
            cores = share if cores is None else min(cores, share)
    return cores


def _cpu_name(cpuinfo: str) -> str | None:
    found = re.search(r"^(?:model name|Model|cpu model|Hardware)\s*:\s*(.+)$", cpuinfo, re.M)
    return found[1].strip() if found else None


def _physical_cores(cpuinfo: str) -> int | None:
    pairs = set()
    package = "0"
    for key, value in re.findall(r"^(physical id|core id)\s*:\s*(\d+)", cpuinfo, re.M):
        if key == "physical id":
            package = value
        else:
            pairs.add((package, value))
    return len(pairs) or None


def _instruction_sets(cpuinfo: str) -> tuple[str, ...]:
    found = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", cpuinfo, re.M)
    flags = set(found[1].split()) if found else set()
    return tuple(name for name in _KNOWN_SETS if name in flags)


def _system(surroundings: Surroundings) -> str:
    release = surroundings.read("/etc/os-release")
    found = re.search(r'^PRETTY_NAME="?([^"\n]+)', release, re.M)
    return found[1] if found else surroundings.platform


def _disk_free(path: str) -> int | None:
    try:
        return shutil.disk_usage(path).free
    except OSError:
        return None


def _disk_total(path: str) -> int | None:
    try:
        return shutil.disk_usage(path).total
    except OSError:
        return None


def _read_speed() -> float | None:
    """Bytes per second of a short sequential read of a large file of this installation.

    Cached pages of the file are dropped first where the system allows it.
    """
    path = _large_file()
    if path is None:
        return None
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        start = time.perf_counter()
        total = 0
        while time.perf_counter() - start < _READ_S:
            data = os.read(handle, _READ_CHUNK)
            total += len(data)
            if not data:
                break
        elapsed = time.perf_counter() - start
    except OSError:
        return None
    finally:
        os.close(handle)
    return total / elapsed if total >= MIB and elapsed > 0 else None


def _large_file() -> str | None:
    """The interpreter's library or another file of some size that is mapped into this process."""
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
        names = {line.split(maxsplit=5)[5] for line in maps.splitlines() if line.count("/") > 1}
        sizes = {name: os.stat(name).st_size for name in names if os.path.isfile(name)}
    except (OSError, IndexError):
        return None
    name = max(sizes, key=lambda key: sizes[key], default=None)
    return name if name is not None and sizes[name] >= _LEAST_READ // 4 else None


def _copy_speed() -> float | None:
    """Bytes per second read and written by one thread copying memory."""
    try:
        source, target = bytearray(_COPY_BYTES), bytearray(_COPY_BYTES)
    except MemoryError:
        return None
    view = memoryview(target)
    view[:] = source
    best = float("inf")
    for _ in range(_COPIES):
        start = time.perf_counter()
        view[:] = source
        best = min(best, time.perf_counter() - start)
    return 2 * _COPY_BYTES / best if best > 0 else None
