"""Reads NVML in a process of its own and prints JSON; run as `python -m tools.probe.nvml_child`.

A driver in trouble can hang or crash inside NVML. Here that ends this process, not the caller,
which gives it two seconds.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any


def main() -> int:
    """Prints what NVML says; exit 3 when there is no NVML, 4 when it fails."""
    try:
        import pynvml
    except ImportError:
        print("nvidia-ml-py is not installed", file=sys.stderr)
        return 3
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError_LibraryNotFound:
        print("libnvidia-ml is not installed", file=sys.stderr)
        return 3
    except pynvml.NVMLError as error:
        print(f"NVML: {error}", file=sys.stderr)
        return 4
    print(json.dumps(_read(pynvml)))
    return 0


def _quiet(pynvml: Any, call: Callable[..., Any], *args: Any) -> Any:
    """A value, or None where this driver or card does not give it."""
    mismatch = getattr(pynvml, "NVMLLibraryMismatchError", pynvml.NVMLError)
    try:
        value = call(*args)
    except (pynvml.NVMLError, mismatch, AttributeError, UnicodeDecodeError, ValueError):
        return None
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else value


def _read(pynvml: Any) -> dict[str, Any]:
    def ask(name: str, *args: Any) -> Any:
        call = getattr(pynvml, name, None)
        return None if call is None else _quiet(pynvml, call, *args)

    count = ask("nvmlDeviceGetCount") or 0
    devices: list[dict[str, Any]] = []
    handles = []
    for index in range(count):
        handle = ask("nvmlDeviceGetHandleByIndex", index)
        if handle is None:
            continue
        handles.append((index, handle))
        devices.append(_device(ask, handle, index))
        devices.extend(_mig(ask, handle, index))
    return {
        "driver_version": ask("nvmlSystemGetDriverVersion"),
        "cuda_version": ask("nvmlSystemGetCudaDriverVersion_v2"),
        "devices": devices,
        "links": _links(ask, pynvml, handles),
    }


def _device(ask: Callable[..., Any], handle: Any, index: int) -> dict[str, Any]:
    memory = ask("nvmlDeviceGetMemoryInfo", handle)
    utilization = ask("nvmlDeviceGetUtilizationRates", handle)
    capability = ask("nvmlDeviceGetCudaComputeCapability", handle)
    mig = ask("nvmlDeviceGetMigMode", handle)
    ecc = ask("nvmlDeviceGetEccMode", handle)
    return {
        "index": index,
        "name": ask("nvmlDeviceGetName", handle),
        "uuid": ask("nvmlDeviceGetUUID", handle),
        "total_bytes": getattr(memory, "total", None),
        "free_bytes": getattr(memory, "free", None),
        "used_bytes": getattr(memory, "used", None),
        "compute_capability": float(f"{capability[0]}.{capability[1]}") if capability else None,
        "mig_enabled": bool(mig[0]) if mig else None,
        "ecc_enabled": bool(ecc[0]) if ecc else None,
        "utilization_pct": getattr(utilization, "gpu", None),
        "temperature_c": ask("nvmlDeviceGetTemperature", handle, 0),
        "power_limit_w": _watts(ask("nvmlDeviceGetEnforcedPowerLimit", handle)),
        "default_power_limit_w": _watts(ask("nvmlDeviceGetPowerManagementDefaultLimit", handle)),
        "power_draw_w": _watts(ask("nvmlDeviceGetPowerUsage", handle)),
        "persistence": _flag(ask("nvmlDeviceGetPersistenceMode", handle)),
        "display_active": _flag(ask("nvmlDeviceGetDisplayActive", handle)),
        "processes": _processes(ask, handle),
    }


def _watts(milliwatts: Any) -> float | None:
    return milliwatts / 1000 if isinstance(milliwatts, int) else None


def _flag(value: Any) -> bool | None:
    return None if value is None else bool(value)


def _processes(ask: Callable[..., Any], handle: Any) -> list[dict[str, Any]]:
    seen: dict[int, dict[str, Any]] = {}
    for name in ("nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses"):
        # drivers older than the bindings only know the second version of these calls
        for process in ask(name, handle) or ask(f"{name}_v2", handle) or ():
            used = process.usedGpuMemory
            seen[process.pid] = {"pid": process.pid, "used_bytes": used}
    return list(seen.values())


def _mig(ask: Callable[..., Any], handle: Any, index: int) -> list[dict[str, Any]]:
    mode = ask("nvmlDeviceGetMigMode", handle)
    if not mode or not mode[0]:
        return []
    instances = []
    for number in range(ask("nvmlDeviceGetMaxMigDeviceCount", handle) or 0):
        instance = ask("nvmlDeviceGetMigDeviceHandleByIndex", handle, number)
        if instance is None:
            continue
        record = _device(ask, instance, index)
        record["parent_index"] = index
        instances.append(record)
    return instances


def _links(
    ask: Callable[..., Any], pynvml: Any, handles: list[tuple[int, Any]]
) -> list[tuple[int, int, str]]:
    """NVLink pairs: P2P over NVLink works between them."""
    links = []
    kind = getattr(pynvml, "NVML_P2P_CAPS_INDEX_NVLINK", None)
    for position, (first, one) in enumerate(handles):
        for second, other in handles[position + 1 :]:
            status = None if kind is None else ask("nvmlDeviceGetP2PStatus", one, other, kind)
            if status is not None:
                links.append((first, second, "NVLINK" if status == 0 else "PCIe"))
    return links


if __name__ == "__main__":
    sys.exit(main())
