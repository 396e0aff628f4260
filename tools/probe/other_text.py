"""What other tools print: npu-smi, rocm-smi, amd-smi, hl-smi, xpu-smi, Apple's, torch."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tools.probe.recognize import described
from tools.probe.report import Device, GpuProcess
from tools.units import bytes_from_gb, bytes_from_gib, bytes_from_mib

_NPU_CARD = re.compile(r"^\|\s*(\d+)\s+(\S*\d\S*)\s*\|\s*(\w+)\s*\|\s*([\d.]+|NA|-)", re.M)
_NPU_MEMORY = re.compile(r"(\d+)\s*/\s*(\d+)")
_NPU_CHIP = re.compile(r"^\|\s*(\d+)\s*(\d+)?\s*\|\s*[0-9A-Fa-f:.]+\s*\|(.*)\|\s*$", re.M)
_NPU_PROCESS = re.compile(r"^\|\s*(\d+)\s+(\d+)\s*\|\s*(\d+)\s*\|\s*(.*?)\s*\|\s*(\d+)\s*\|", re.M)


def parse_npu_smi(text: str) -> list[Device]:
    """NPU chips of `npu-smi info`: memory is the HBM column, or the only one there is."""
    if "npu-smi" not in text:
        return []
    split = text.find("Process id")
    table, processes = (text[:split], text[split:]) if split >= 0 else (text, "")
    holders: dict[int, list[GpuProcess]] = {}
    for row in _NPU_PROCESS.finditer(processes):
        used = bytes_from_mib(int(row[5]))
        process = GpuProcess(pid=int(row[3]), name=row[4] or None, used_bytes=used)
        holders.setdefault(int(row[1]), []).append(process)
    devices: list[Device] = []
    name, number = "", 0
    for line in table.splitlines():
        card = _NPU_CARD.match(line)
        if card is not None and ":" not in line.split("|")[2]:
            number, name = int(card[1]), card[2]
            continue
        chip = _NPU_CHIP.match(line)
        if chip is None or not name:
            continue
        pairs = [(int(a), int(b)) for a, b in _NPU_MEMORY.findall(chip[3])]
        memory = next((pair for pair in reversed(pairs) if pair[1] > 0), None)
        devices.append(_npu(name, len(devices), memory, tuple(holders.get(number, ()))))
    return devices


def _npu(
    name: str, index: int, memory: tuple[int, int] | None, processes: tuple[GpuProcess, ...]
) -> Device:
    used_bytes = None if memory is None else bytes_from_mib(memory[0])
    total_bytes = None if memory is None else bytes_from_mib(memory[1])
    free = None if used_bytes is None or total_bytes is None else max(total_bytes - used_bytes, 0)
    full = name if name.lower().startswith("ascend") else f"Ascend {name}"
    return described(
        Device(
            index=index, name=full, vendor="Huawei", total_bytes=total_bytes, used_bytes=used_bytes,
            free_bytes=free, processes=processes,
        )
    )  # fmt: skip


_ROCM_LINE = re.compile(r"^GPU\[(\d+)\]\s*:\s*(.+?)\s*:\s*(.+?)\s*$", re.M)
_ROCM_NAMES = ("card series", "device name", "card model", "card sku")


def parse_rocm_smi(text: str) -> list[Device]:
    """Cards of `rocm-smi --showproductname --showmeminfo vram`, as JSON or as text."""
    cards: dict[str, dict[str, str]] = {}
    data = _json(text)
    if isinstance(data, dict):
        for key, values in data.items():
            if key.startswith("card") and isinstance(values, dict):
                cards[key.removeprefix("card")] = {
                    str(field).lower(): str(value) for field, value in values.items()
                }
    else:
        for number, field, value in _ROCM_LINE.findall(text):
            cards.setdefault(number, {})[field.lower()] = value
    devices = [_rocm(number, values) for number, values in sorted(cards.items(), key=_by_number)]
    return [device for device in devices if device is not None]


def _by_number(item: tuple[str, Any]) -> int:
    return int(item[0]) if item[0].isdigit() else 0


def _rocm(number: str, values: Mapping[str, str]) -> Device | None:
    total, used = values.get("vram total memory (b)"), values.get("vram total used memory (b)")
    if not total or not total.isdigit():
        return None
    name = next((values[key] for key in _ROCM_NAMES if _is_name(values.get(key))), "AMD GPU")
    used_bytes = int(used) if used and used.isdigit() else None
    return _amd(int(number) if number.isdigit() else 0, name, int(total), used_bytes)


def _is_name(value: str | None) -> bool:
    return bool(value) and value is not None and not value.startswith("0x") and value != "N/A"


def _amd(index: int, name: str, total: int | None, used: int | None) -> Device:
    free = None if total is None or used is None else max(total - used, 0)
    return described(
        Device(
            index=index, name=name, vendor="AMD", total_bytes=total, used_bytes=used,
            free_bytes=free,
        )
    )  # fmt: skip


def parse_amd_smi(text: str, *, static: str = "") -> list[Device]:
    """Cards of `amd-smi metric --mem-usage --json`, named by `amd-smi static --asic --json`."""
    names = {
        _gpu_number(entry): str(
            _dig(entry, "asic", "market_name") or _dig(entry, "board", "product_name")
        )
        for entry in _entries(_json(static))
    }
    devices = []
    for entry in _entries(_json(text)):
        number = _gpu_number(entry)
        total = _amount(_dig(entry, "mem_usage", "total_vram") or _dig(entry, "vram", "size"))
        used = _amount(_dig(entry, "mem_usage", "used_vram"))
        name = names.get(number) or str(_dig(entry, "asic", "market_name") or "AMD GPU")
        if total is not None:
            devices.append(_amd(number, name, total, used))
    return devices


def _entries(data: Any) -> list[dict[str, Any]]:
    if isinstance(data, dict):
        data = data.get("gpu_data", [data])
    return [entry for entry in data if isinstance(entry, dict)] if isinstance(data, list) else []


def _gpu_number(entry: Mapping[str, Any]) -> int:
    number = entry.get("gpu", 0)
    return int(number) if str(number).isdigit() else 0


def _dig(entry: Mapping[str, Any], *keys: str) -> Any:
    value: Any = entry
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _amount(value: Any) -> int | None:
    """Bytes of `{"value": 196592, "unit": "MB"}`; amd-smi's MB are powers of 1024."""
    number = value.get("value") if isinstance(value, dict) else value
    if isinstance(number, str) and number.isdigit():
        number = int(number)
    if not isinstance(number, (int, float)) or isinstance(number, bool):
        return None
    unit = str(value.get("unit", "MB")).upper() if isinstance(value, dict) else "MB"
    return bytes_from_gib(number) if unit.startswith("G") else bytes_from_mib(number)


def _json(text: str) -> Any:
    """The first JSON value in a text that may begin with warnings, or None."""
    for start in sorted(at for at in (text.find("{"), text.find("[{")) if at >= 0):
        try:
            return json.JSONDecoder().raw_decode(text, start)[0]
        except (ValueError, RecursionError):
            continue
    return None


def parse_hl_smi(text: str) -> list[Device]:
    """Gaudi cards of `hl-smi -Q index,name,memory.total,memory.used -f csv`."""
    devices = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        numbers = [re.match(r"(\d+)\s*MiB", cell) for cell in cells[2:4]]
        if len(cells) < 4 or not cells[0].isdigit() or not all(numbers):
            continue
        total, used = (bytes_from_mib(int(found[1])) for found in numbers if found)
        name = {"HL-225": "Gaudi2", "HL-205": "Gaudi", "HL-325": "Gaudi3"}.get(
            cells[1][:6], cells[1]
        )
        devices.append(
            described(
                Device(
                    index=int(cells[0]), name=name, vendor="Intel", total_bytes=total,
                    used_bytes=used, free_bytes=total - used,
                )
            )
        )  # fmt: skip
    return devices


def parse_xpu_smi(text: str) -> list[Device]:
    """Intel cards of `xpu-smi discovery -j` (and of its device pages)."""
    data = _json(text)
    entries = data.get("device_list", [data]) if isinstance(data, dict) else []
    devices = []
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict) or not entry.get("device_name"):
            continue
        size = str(entry.get("memory_physical_size_byte") or "")
        total = int(size) if size.isdigit() else None
        devices.append(
            described(
                Device(
                    index=number, name=str(entry["device_name"]), vendor="Intel", total_bytes=total
                )
            )
        )  # fmt: skip
    return devices


_APPLE_CHIP = re.compile(
    r"(?:Chip(?:set Model)?|brand_string)\s*:\s*(Apple M\d+(?: (?:Pro|Max|Ultra))?)"
)
_APPLE_MEMORY = re.compile(r"(?:^|\n)\s*(?:Memory|hw\.memsize)\s*:\s*(\d+)\s*(GB|TB)?")


def parse_apple(text: str) -> list[Device]:
    """The Mac of `system_profiler SPHardwareDataType` or of sysctl lines."""
    chip = _APPLE_CHIP.search(text)
    if chip is None:
        return []
    memory = _APPLE_MEMORY.search(text)
    size: int | None = None
    if memory is not None:
        size = int(memory[1]) if memory[2] is None else bytes_from_gib(int(memory[1]))
    return [apple_device(chip[1], size)]


def apple_device(chip: str, ram_bytes: int | None) -> Device:
    """A Mac's GPU: the share of unified memory that macOS gives it by default.

    Two thirds below 64 GB and three quarters from there on (Metal's recommended working set).
    """
    total: int | None = None
    if ram_bytes is not None:
        total = int(ram_bytes * (0.75 if ram_bytes >= bytes_from_gib(64) else 2 / 3))
    device = Device(
        index=0,
        name=chip,
        vendor="Apple",
        total_bytes=total,
        is_unified=True,
        notes=(
            "unified memory; the share of the GPU can be raised with sysctl iogpu.wired_limit_mb",
        ),
    )
    return described(device)


_TORCH_PROPERTIES = re.compile(
    r"_CudaDeviceProperties\(name='(?P<name>[^']{1,100})', major=(?P<major>\d+), "
    r"minor=(?P<minor>\d+), total_memory=(?P<mb>\d+)MB"
)
_TORCH_SUMMARY = re.compile(r"PyTorch CUDA memory summary, device ID (\d+)")
_TORCH_RESERVED = re.compile(r"\|\s*GPU reserved memory\s*\|\s*([\d.]+) ([KMG]i?B)")
_MEM_GET_INFO = re.compile(r"mem_get_info[^(]*\([^)]*\)\s*(?:->|=|:)?\s*\((\d{6,}),\s*(\d{6,})\)")


def parse_torch(text: str) -> list[Device]:
    """Cards of `torch.cuda.get_device_properties`, with what a memory summary says is held."""
    devices = list(_torch_devices(text))
    info = _MEM_GET_INFO.search(text)
    if info is not None and len(devices) <= 1:
        free, total = int(info[1]), int(info[2])
        base = devices[0] if devices else Device(index=0, name="CUDA device", vendor="NVIDIA")
        devices = [_with(base, total_bytes=total, free_bytes=free, used_bytes=total - free)]
    held = _TORCH_RESERVED.search(text)
    if held is not None and _TORCH_SUMMARY.search(text) and len(devices) <= 1:
        scale = {"K": 1 / 1024, "M": 1, "G": 1024}[held[2][0]]
        used = bytes_from_mib(float(held[1]) * scale)
        base = devices[0] if devices else Device(index=0, name="CUDA device", vendor="NVIDIA")
        devices = [_with(base, used_bytes=max(used, base.used_bytes or 0))]
    return devices


def _torch_devices(text: str) -> Iterator[Device]:
    for number, found in enumerate(_TORCH_PROPERTIES.finditer(text)):
        total = bytes_from_mib(int(found["mb"]))
        capability = float(f"{found['major']}.{found['minor']}")
        yield described(
            Device(
                index=number, name=found["name"], vendor="NVIDIA", total_bytes=total,
                compute_capability=capability,
            )
        )  # fmt: skip


def _with(device: Device, **changes: int) -> Device:
    return dataclasses.replace(device, **changes)  # type: ignore[arg-type]  # sizes only


_TEGRA = re.compile(r"RAM (\d+)/(\d+)MB")


def parse_tegrastats(text: str, *, model: str) -> list[Device]:
    """A Jetson: its memory is the RAM that the CPU uses too."""
    found = _TEGRA.search(text)
    total = bytes_from_mib(int(found[2])) if found else None
    used = bytes_from_mib(int(found[1])) if found else None
    return [jetson_device(model, total, used)]


def jetson_device(model: str, total_bytes: int | None, used_bytes: int | None) -> Device:
    """A Jetson board as one device with unified memory."""
    name = re.sub(r"^NVIDIA |\s*Developer Kit.*|\s*Engineering.*", "", model).strip("\0 ")
    size = None if total_bytes is None else _box_size_gb(total_bytes)
    free = None if total_bytes is None or used_bytes is None else max(total_bytes - used_bytes, 0)
    labelled = name if size is None else f"{name} {size}GB"
    return described(
        Device(
            index=0, name=labelled, vendor="NVIDIA", total_bytes=total_bytes, used_bytes=used_bytes,
            free_bytes=free, is_unified=True, notes=("memory is shared with the CPU",),
        )
    )  # fmt: skip


def _box_size_gb(total_bytes: int) -> int:
    """The size on the box of a board that shows somewhat less."""
    return next(
        (size for size in (4, 8, 16, 32, 64, 128) if bytes_from_gb(size) * 1.08 >= total_bytes), 128
    )
