"""The sources of devices, in the order they are asked; each gives devices or says why not.

NVML, nvidia-smi, Jetson, torch (where it is installed and a driver is seen), AMD, Ascend, Gaudi,
Intel, Apple. A source that hangs or crashes costs at most two seconds and never the caller.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.probe.report import Device, GpuProcess, SourceAttempt
from tools.probe.surroundings import Output, Surroundings, run_limited
from tools.units import KIB

_TORCH_LIMIT_S = 20.0
_LIBRARY = "libnvidia-ml.so.1"
_LIBRARY_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib",
    "/usr/lib/wsl/lib", "/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/lib/x86_64-linux-gnu",
    "/run/opengl-driver/lib",
)  # fmt: skip


@dataclass(slots=True)
class Found:
    """What a source found."""

    devices: list[Device] = field(default_factory=list)
    driver_version: str | None = None
    cuda_version: str | None = None
    links: list[tuple[int, int, str]] = field(default_factory=list)
    attempt: SourceAttempt = SourceAttempt(source="none", outcome="none")


def _gave(source: str, output: Output) -> SourceAttempt:
    """The attempt of a program that gave no devices."""
    if output.error == "not installed":
        return SourceAttempt(source=source, outcome="absent")
    if output.error:
        return SourceAttempt(source=source, outcome="failed", detail=output.error)
    return SourceAttempt(source=source, outcome="none", detail="no device listed")


def _result(source: str, devices: list[Device], output: Output) -> Found:
    if devices:
        return Found(devices, attempt=SourceAttempt(source=source, outcome="found"))
    return Found(attempt=_gave(source, output))


def from_nvml(system: Surroundings) -> Found:
    """NVIDIA's library, in a process of its own."""
    if not _has_nvml(system):
        return Found(attempt=SourceAttempt(source="nvml", outcome="absent"))
    home = str(Path(__file__).resolve().parents[2])
    paths = [home, *filter(None, [os.environ.get("PYTHONPATH")])]
    command = [
        sys.executable,
        "-c",
        f"import sys; sys.path[:0] = {paths!r}; "
        "from tools.probe.nvml_child import main; sys.exit(main())",
    ]
    output = run_limited(command, limit_s=2.0)
    if output.error:
        outcome = "absent" if output.error.startswith("exit 3") else "failed"
        detail = output.error.partition(": ")[2] or output.error
        return Found(attempt=SourceAttempt(source="nvml", outcome=outcome, detail=detail))  # type: ignore[arg-type]  # one of two literals
    try:
        data = json.loads(output.text)
        devices = [_from_record(record) for record in data["devices"]]
    except (ValueError, KeyError, TypeError) as error:
        detail = f"unreadable answer: {error}"
        return Found(attempt=SourceAttempt(source="nvml", outcome="failed", detail=detail))
    found = _result("nvml", devices, Output("", ""))
    found.driver_version = data.get("driver_version")
    found.cuda_version = _cuda_version(data.get("cuda_version"))
    found.links = [(int(a), int(b), str(link)) for a, b, link in data.get("links", ())]
    return found


def _has_nvml(system: Surroundings) -> bool:
    """Whether the library can be found, without loading it into this process."""
    if system.platform == "win32":
        return True
    if system.platform == "darwin":
        return False
    for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":"):
        if folder and Path(folder, _LIBRARY).exists():
            return True
    if any(system.exists(f"{folder}/{_LIBRARY}") for folder in _LIBRARY_FOLDERS):
        return True
    return _LIBRARY in system.read("/etc/ld.so.cache", limit=4_000_000)


def _cuda_version(number: Any) -> str | None:
    if not isinstance(number, int) or number <= 0:
        return None
    return f"{number // 1000}.{number % 1000 // 10}"


def _from_record(record: dict[str, Any]) -> Device:
    from tools.probe.recognize import described

    known = {item.name for item in dataclasses.fields(Device)}
    values = {key: value for key, value in record.items() if key in known}
    values["processes"] = tuple(_process(item) for item in record.get("processes") or ())
    name = str(record.get("name") or "NVIDIA device")
    profile = re.search(r"MIG (\S+)$", name)
    if record.get("parent_index") is not None:
        values["slice_name"] = profile[1] if profile else "MIG"
    return described(Device(**{**values, "name": name, "vendor": "NVIDIA"}))


def _process(item: dict[str, Any]) -> GpuProcess:
    used = item.get("used_bytes")
    return GpuProcess(pid=int(item["pid"]), used_bytes=used if isinstance(used, int) else None)


def from_nvidia_smi(system: Surroundings) -> Found:
    """The program, by CSV query; older drivers by fewer fields, then by its table."""
    if not system.has_program("nvidia-smi"):
        return Found(attempt=SourceAttempt(source="nvidia-smi", outcome="absent"))
    from tools.probe.nvidia_text import (
        BASIC_FIELDS,
        QUERY_FIELDS,
        merge_mig,
        parse_csv,
        parse_list,
        parse_table,
    )

    output = system.run("nvidia-smi", *_query(QUERY_FIELDS))
    found = parse_csv(output.text, fields=QUERY_FIELDS)
    if not found.devices and output.error and "not a valid field" in output.error:
        output = system.run("nvidia-smi", *_query(BASIC_FIELDS))
        found = parse_csv(output.text, fields=BASIC_FIELDS)
    if not found.devices:
        if output.error == "not installed" or "gave no answer" in output.error:
            return Found(attempt=_gave("nvidia-smi", output))
        table = system.run("nvidia-smi")
        found = parse_table(table.text)
        output = table if table.error or found.devices else output
    result = _result("nvidia-smi", found.devices, output)
    result.driver_version = found.driver_version
    result.cuda_version = found.cuda_version
    if not found.devices:
        return result
    if any(device.mig_enabled for device in found.devices):
        listed = parse_list(system.run("nvidia-smi", "-L").text)
        result.devices = merge_mig(found.devices, listed)
    return result


def _query(fields: Iterable[str]) -> tuple[str, str]:
    return f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"


def nvidia_links(system: Surroundings) -> list[tuple[int, int, str]]:
    """Links between cards from `nvidia-smi topo -m`; empty where it cannot say."""
    from tools.probe.nvidia_text import parse_topology

    return parse_topology(system.run("nvidia-smi", "topo", "-m").text)


def from_jetson(system: Surroundings) -> Found:
    """A Jetson board: its GPU shares the RAM, and most of its tools print no memory."""
    model = system.read("/proc/device-tree/model").strip("\0\n ")
    if "Jetson" not in model and "Orin" not in model:
        return Found(attempt=SourceAttempt(source="jetson", outcome="absent"))
    from tools.probe.other_text import jetson_device

    memory = dict(re.findall(r"^(\w+):\s+(\d+) kB", system.read("/proc/meminfo"), re.M))
    total = int(memory.get("MemTotal", 0)) * KIB or None
    available = int(memory.get("MemAvailable", 0)) * KIB
    used = total - available if total is not None else None
    return _result("jetson", [jetson_device(model, total, used)], Output("", ""))


_TORCH_PROGRAM = """
import json, torch
found = []
for index in range(torch.cuda.device_count()):
    p = torch.cuda.get_device_properties(index)
    free, total = torch.cuda.mem_get_info(index)
    found.append({"index": index, "name": p.name, "total_bytes": total, "free_bytes": free,
                  "used_bytes": total - free,
                  "compute_capability": float(f"{p.major}.{p.minor}")})
print(json.dumps({"devices": found, "cuda": torch.version.cuda}))
"""


def from_torch(system: Surroundings) -> Found:
    """torch, where it is installed and something says that there is a card."""
    if importlib.util.find_spec("torch") is None or not sees_nvidia(system):
        return Found(attempt=SourceAttempt(source="torch", outcome="absent"))
    output = run_limited([sys.executable, "-c", _TORCH_PROGRAM], limit_s=_TORCH_LIMIT_S)
    try:
        records = json.loads(output.text)["devices"] if not output.error else []
    except (ValueError, KeyError):
        records = []
    return _result("torch", [_from_record(record) for record in records], output)


def sees_nvidia(system: Surroundings) -> bool:
    """Whether the kernel shows an NVIDIA device (driver files or a card on PCI)."""
    if system.exists("/proc/driver/nvidia/version") or system.exists("/dev/nvidia0"):
        return True
    return any(vendor == "0x10de" for vendor, _ in pci_display_devices(system))


def pci_display_devices(system: Surroundings) -> list[tuple[str, str]]:
    """Vendor and class of the display and accelerator devices on PCI."""
    folder = "/sys/bus/pci/devices"
    found = []
    for name in system.names(folder):
        kind = system.read(f"{folder}/{name}/class").strip()
        if kind.startswith(("0x03", "0x12")):
            found.append((system.read(f"{folder}/{name}/vendor").strip(), kind))
    return found


def from_amd(system: Surroundings) -> Found:
    """amd-smi, else rocm-smi."""
    if not (system.has_program("amd-smi") or system.has_program("rocm-smi")):
        return Found(attempt=SourceAttempt(source="rocm-smi", outcome="absent"))
    from tools.probe.other_text import parse_amd_smi, parse_rocm_smi

    output = system.run("amd-smi", "metric", "--mem-usage", "--json")
    devices: list[Device] = []
    if output.error != "not installed":
        static = system.run("amd-smi", "static", "--asic", "--json")
        devices = parse_amd_smi(output.text, static=static.text)
        if devices:
            return _result("amd-smi", devices, output)
    rocm = system.run("rocm-smi", "--showproductname", "--showmeminfo", "vram", "--json")
    found = _result("rocm-smi", parse_rocm_smi(rocm.text), rocm)
    if found.attempt.outcome == "absent" and output.error != "not installed":
        found.attempt = _gave("amd-smi", output)
    return found


def from_ascend(system: Surroundings) -> Found:
    """The NPUs of npu-smi."""
    if not system.has_program("npu-smi"):
        return Found(attempt=SourceAttempt(source="npu-smi", outcome="absent"))
    from tools.probe.other_text import parse_npu_smi

    output = system.run("npu-smi", "info")
    return _result("npu-smi", parse_npu_smi(output.text), output)


def from_gaudi(system: Surroundings) -> Found:
    """The accelerators of hl-smi."""
    if not system.has_program("hl-smi"):
        return Found(attempt=SourceAttempt(source="hl-smi", outcome="absent"))
    from tools.probe.other_text import parse_hl_smi

    output = system.run("hl-smi", "-Q", "index,name,memory.total,memory.used", "-f", "csv")
    return _result("hl-smi", parse_hl_smi(output.text), output)


def from_intel(system: Surroundings) -> Found:
    """The cards of xpu-smi: the list, then the page of each for its memory."""
    if not system.has_program("xpu-smi"):
        return Found(attempt=SourceAttempt(source="xpu-smi", outcome="absent"))
    from tools.probe.other_text import parse_xpu_smi
    from tools.probe.recognize import described

    output = system.run("xpu-smi", "discovery", "-j")
    devices = parse_xpu_smi(output.text)
    filled = []
    for device in devices:
        page = system.run("xpu-smi", "discovery", "-d", str(device.index), "-j")
        read = parse_xpu_smi(page.text)
        total = read[0].total_bytes if read else None
        filled.append(
            described(dataclasses.replace(device, total_bytes=total)) if total else device
        )
    return _result("xpu-smi", filled, output)


def from_apple(system: Surroundings) -> Found:
    """Sysctl on macOS: chip and memory; the GPU gets a share of it."""
    if system.platform != "darwin":
        return Found(attempt=SourceAttempt(source="apple", outcome="absent"))
    chip = system.run("sysctl", "-n", "machdep.cpu.brand_string")
    memory = system.run("sysctl", "-n", "hw.memsize").text.strip()
    name = chip.text.strip()
    if not name.startswith("Apple"):
        return Found(attempt=_gave("apple", chip))
    from tools.probe.other_text import apple_device

    size = int(memory) if memory.isdigit() else None
    return _result("apple", [apple_device(name, size)], chip)


SOURCES: tuple[Callable[[Surroundings], Found], ...] = (
    from_nvml,
    from_nvidia_smi,
    from_jetson,
    from_torch,
    from_amd,
    from_ascend,
    from_gaudi,
    from_intel,
    from_apple,
)
"""In the order they are asked; the first that finds devices with memory ends the search.
A reader of outputs is imported only where its tool is installed: most machines have none."""


def has_memory(found: Found) -> bool:
    """Whether a source said how much memory its devices have."""
    return any(device.total_bytes is not None for device in found.devices)
