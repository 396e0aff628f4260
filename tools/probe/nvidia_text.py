"""What nvidia-smi prints, read into devices: CSV queries, the table, `-q`, `-L` and `topo -m`.

Fields that a driver cannot give read `[N/A]`, `[Not Supported]`, `N/A` or `ERR!`: not known.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tools.probe.recognize import described
from tools.probe.report import Device, GpuProcess
from tools.units import bytes_from_gib, bytes_from_mib

QUERY_FIELDS = (
    "index", "name", "uuid", "memory.total", "memory.free", "memory.used", "driver_version",
    "compute_cap", "mig.mode.current", "utilization.gpu", "ecc.mode.current", "power.limit",
    "power.default_limit", "power.draw", "persistence_mode", "display_active", "temperature.gpu",
)  # fmt: skip
BASIC_FIELDS = (
    "index", "name", "uuid", "memory.total", "memory.free", "memory.used", "driver_version",
)  # fmt: skip
"""For drivers that refuse newer fields."""
_UNKNOWN = re.compile(
    r"\[?(?:n/a|not supported|unknown error|insufficient permissions|err!?)\]?", re.I
)
_ON = {"enabled": True, "on": True, "yes": True, "disabled": False, "off": False, "no": False}


@dataclass(slots=True)
class NvidiaText:
    """What one output says."""

    devices: list[Device] = field(default_factory=list)
    driver_version: str | None = None
    cuda_version: str | None = None
    links: list[tuple[int, int, str]] = field(default_factory=list)


def _number(cell: str | None) -> float | None:
    if cell is None or _UNKNOWN.fullmatch(cell.strip()):
        return None
    found = re.search(r"-?\d+(?:\.\d+)?", cell)
    return float(found[0]) if found else None


def _mib(cell: str | None) -> int | None:
    value = _number(cell)
    if value is None or cell is None or value < 0:
        return None
    return bytes_from_gib(value) if "gib" in cell.lower() else bytes_from_mib(value)


def _whole(cell: str | None) -> int | None:
    value = _number(cell)
    return None if value is None else int(value)


def _switch(cell: str | None) -> bool | None:
    return None if cell is None else _ON.get(cell.strip().lower())


def parse_csv(text: str, *, fields: tuple[str, ...] | None = None) -> NvidiaText:
    """Devices of `nvidia-smi --query-gpu=... --format=csv`.

    Args:
        text: The output.
        fields: The fields asked for, where the output has no header line.
    """
    found = NvidiaText()
    rows = [row for row in csv.reader(io.StringIO(text), skipinitialspace=True) if row]
    if fields is None:
        if not rows:
            return found
        fields = tuple(re.sub(r"\s*\[.*\]$", "", cell.strip()).lower() for cell in rows[0])
        rows = rows[1:]
        if "memory.total" not in fields and "name" not in fields:
            return found
    for number, row in enumerate(rows):
        if len(row) != len(fields):
            continue
        cells = {key: cell.strip() for key, cell in zip(fields, row, strict=True)}
        device = _from_cells(cells, number)
        if device is not None:
            found.devices.append(device)
            found.driver_version = cells.get("driver_version") or found.driver_version
    return found


def _from_cells(cells: Mapping[str, str], number: int) -> Device | None:
    name = cells.get("name") or cells.get("gpu_name")
    if not name or _UNKNOWN.fullmatch(name):
        return None
    index = _whole(cells.get("index"))
    device = Device(
        index=number if index is None else index,
        name=name,
        vendor="NVIDIA",
        uuid=cells.get("uuid") or cells.get("gpu_uuid") or None,
        total_bytes=_mib(cells.get("memory.total")),
        free_bytes=_mib(cells.get("memory.free")),
        used_bytes=_mib(cells.get("memory.used")),
        compute_capability=_number(cells.get("compute_cap")),
        mig_enabled=_switch(cells.get("mig.mode.current")),
        utilization_pct=_whole(cells.get("utilization.gpu")),
        ecc_enabled=_switch(cells.get("ecc.mode.current")),
        power_limit_w=_number(cells.get("power.limit")),
        default_power_limit_w=_number(cells.get("power.default_limit")),
        power_draw_w=_number(cells.get("power.draw")),
        persistence=_switch(cells.get("persistence_mode")),
        display_active=_switch(cells.get("display_active")),
        temperature_c=_whole(cells.get("temperature.gpu")),
    )
    return described(device)


_CARD = re.compile(
    r"^\|\s*(?P<index>\d+)\s+(?P<name>[A-Za-z].*?)\s+(?P<persistence>On|Off|N/A|WDDM|TCC|MCDM)\s*\|"
    r"\s*[0-9A-Fa-f]+:[0-9A-Fa-f]+:[0-9A-Fa-f]+\.[0-9A-Fa-f]\s+(?P<display>On|Off|N/A)?(?P<rest>.*)",
    re.M,
)
_USAGE = re.compile(r"(\d+)\s*MiB\s*/\s*(\d+)\s*MiB")
_POWER = re.compile(r"(\d+)W\s*/\s*(\d+)W")
_UTIL = re.compile(r"MiB\s*\|\s*(\d+)%")
_TEMPERATURE = re.compile(r"\s(\d+)C\s")
_DRIVER = re.compile(r"Driver Version\s*:\s*([\d.]+)")
_CUDA = re.compile(r"CUDA Version\s*:\s*([\d.]+)")
_MIG_ROW = re.compile(
    r"^\|\s*(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s*\|\s*(\d+)\s*MiB\s*/\s*(\d+)\s*MiB", re.M
)
_PROCESS = re.compile(
    r"^\|\s*(?P<gpu>\d+)\s+(?:(?:N/A|\d+)\s+(?:N/A|\d+)\s+)?(?P<pid>\d+)\s+(?:C\+G|C|G|M\+C)\s+"
    r"(?P<name>.+?)\s+(?P<mib>\d+)\s*MiB\s*\|",
    re.M,
)


def parse_table(text: str) -> NvidiaText:
    """Devices of the table that plain `nvidia-smi` prints, whole or a few lines of it."""
    driver, cuda = _DRIVER.search(text), _CUDA.search(text)
    found = NvidiaText(
        driver_version=driver[1] if driver else None, cuda_version=cuda[1] if cuda else None
    )
    cards = list(_CARD.finditer(text))
    for number, card in enumerate(cards):
        end = cards[number + 1].start() if number + 1 < len(cards) else len(text)
        body = text[card.start() : end]
        mig_at = body.find("MIG devices")
        found.devices.append(_from_table(card, body[:mig_at] if mig_at > 0 else body))
    _add_processes(found, text)
    _add_mig_rows(found, text)
    return found


def _from_table(card: re.Match[str], body: str) -> Device:
    usage, power = _USAGE.search(body), _POWER.search(body)
    utilization, temperature = _UTIL.search(body), _TEMPERATURE.search(body)
    lines = body.splitlines()
    ecc = card["rest"].strip(" |").split("|")[-1].strip()
    used = bytes_from_mib(int(usage[1])) if usage else None
    total = bytes_from_mib(int(usage[2])) if usage else None
    device = Device(
        index=int(card["index"]),
        name=card["name"].strip(),
        vendor="NVIDIA",
        total_bytes=total,
        used_bytes=used,
        free_bytes=total - used if total is not None and used is not None else None,
        persistence=_switch(card["persistence"]),
        display_active=_switch(card["display"]),
        power_draw_w=float(power[1]) if power else None,
        power_limit_w=float(power[2]) if power else None,
        utilization_pct=int(utilization[1]) if utilization else None,
        temperature_c=int(temperature[1]) if temperature else None,
        ecc_enabled=True if ecc.isdigit() else False if ecc == "Off" else None,
        mig_enabled=_mig_cell(lines[2] if len(lines) > 2 else ""),
    )
    return described(device)


def _mig_cell(line: str) -> bool | None:
    return _switch(line.rstrip(" |").split("|")[-1]) if line.startswith("|") else None


def _add_processes(found: NvidiaText, text: str) -> None:
    at = text.find("Processes")
    holders: dict[int, list[GpuProcess]] = {}
    for row in _PROCESS.finditer(text, at) if at >= 0 else ():
        used = bytes_from_mib(int(row["mib"]))
        process = GpuProcess(pid=int(row["pid"]), name=row["name"].strip(), used_bytes=used)
        holders.setdefault(int(row["gpu"]), []).append(process)
    found.devices = [
        replace(device, processes=tuple(holders.get(device.index, ()))) for device in found.devices
    ]


def _add_mig_rows(found: NvidiaText, text: str) -> None:
    at = text.find("MIG devices")
    if at < 0:
        return
    parents = {device.index: device for device in found.devices}
    for row in _MIG_ROW.finditer(text, at):
        parent = parents.get(int(row[1]))
        total = bytes_from_mib(int(row[6]))
        used = bytes_from_mib(int(row[5]))
        found.devices.append(_mig_device(parent, index=int(row[1]), used=used, total=total))


def _mig_device(
    parent: Device | None, *, index: int, used: int | None, total: int | None, name: str = ""
) -> Device:
    profile = re.search(r"\d+g\.\d+gb", name)
    base = parent.name if parent is not None else "MIG instance"
    free = total - used if total is not None and used is not None else None
    device = Device(
        index=index,
        name=f"{base} {name}".strip(),
        vendor="NVIDIA",
        spec=parent.spec if parent is not None else None,
        total_bytes=total,
        used_bytes=used,
        free_bytes=free,
        parent_index=index,
        slice_name=profile[0] if profile else "MIG",
        compute_capability=parent.compute_capability if parent is not None else None,
    )
    return described(device)


_LISTED = re.compile(r"^GPU (\d+): (.+?) \(UUID: (\S+?)\)", re.M)
_LISTED_MIG = re.compile(r"^\s+MIG (\S+)\s+Device\s+(\d+): \(UUID: (\S+?)\)", re.M)


def parse_list(text: str) -> NvidiaText:
    """Devices and MIG instances of `nvidia-smi -L`; their memory stands in their names."""
    found = NvidiaText()
    cards = list(_LISTED.finditer(text))
    for number, card in enumerate(cards):
        end = cards[number + 1].start() if number + 1 < len(cards) else len(text)
        parent = described(Device(index=int(card[1]), name=card[2], vendor="NVIDIA", uuid=card[3]))
        found.devices.append(parent)
        for row in _LISTED_MIG.finditer(text, card.end(), end):
            size = re.search(r"\.(\d+)gb", row[1])
            total = bytes_from_gib(int(size[1])) if size else None
            device = _mig_device(parent, index=parent.index, used=None, total=total, name=row[1])
            found.devices.append(replace(device, uuid=row[3]))
    return found


def parse_query(text: str) -> NvidiaText:
    """Devices of `nvidia-smi -q`."""
    driver, cuda = _DRIVER.search(text), _CUDA.search(text)
    found = NvidiaText(
        driver_version=driver[1] if driver else None, cuda_version=cuda[1] if cuda else None
    )
    blocks = re.split(r"^GPU [0-9A-Fa-f:.]+\s*$", text, flags=re.M)[1:]
    for number, block in enumerate(blocks):
        device = _from_block(_sections(block), number)
        if device is not None:
            found.devices.append(device)
    return found


def _sections(block: str) -> dict[str, str]:
    """`Section/Field` to value; a line without a colon opens the section of deeper lines."""
    values: dict[str, str] = {}
    path: list[tuple[int, str]] = []
    for line in block.splitlines():
        if not line.strip():
            continue
        depth = len(line) - len(line.lstrip())
        while path and path[-1][0] >= depth:
            path.pop()
        key, colon, value = line.strip().partition(" : ")
        if not colon:
            path.append((depth, line.strip().rstrip(":").strip()))
            continue
        section = "/".join(name for _, name in path)
        values.setdefault(f"{section}/{key.strip()}".lstrip("/"), value.strip())
        values.setdefault(key.strip(), value.strip())
    return values


def _from_block(values: Mapping[str, str], number: int) -> Device | None:
    name = values.get("Product Name")
    if not name:
        return None
    limit = values.get("GPU Power Readings/Current Power Limit") or values.get(
        "Power Readings/Power Limit"
    )
    device = Device(
        index=number,
        name=name,
        vendor="NVIDIA",
        uuid=values.get("GPU UUID"),
        total_bytes=_mib(values.get("FB Memory Usage/Total")),
        used_bytes=_mib(values.get("FB Memory Usage/Used")),
        free_bytes=_mib(values.get("FB Memory Usage/Free")),
        mig_enabled=_switch(values.get("MIG Mode/Current")),
        ecc_enabled=_switch(values.get("ECC Mode/Current") or values.get("Ecc Mode/Current")),
        persistence=_switch(values.get("Persistence Mode")),
        display_active=_switch(values.get("Display Active")),
        utilization_pct=_whole(values.get("Utilization/Gpu") or values.get("Utilization/GPU")),
        temperature_c=_whole(values.get("Temperature/GPU Current Temp")),
        power_limit_w=_number(limit),
        power_draw_w=_number(values.get("Power Readings/Power Draw")),
    )
    return described(device)


def parse_topology(text: str) -> list[tuple[int, int, str]]:
    """Pairs of cards and the link between them, from `nvidia-smi topo -m`."""
    plain = re.sub(r"\x1b?\[[0-9;]*m", "", text)
    rows = [line.split() for line in plain.splitlines()]
    cards = [row for row in rows if row and row[0].startswith("GPU") and "X" in row[1:]]
    count = len(cards)
    links: list[tuple[int, int, str]] = []
    for row in cards:
        name = re.fullmatch(r"GPU(\d+)", row[0])
        if name is None or len(row) <= count:
            continue
        first = int(name[1])
        for second, link in enumerate(row[1 : count + 1]):
            if second > first and link != "X":
                links.append((first, second, link))
    return links


def parse_any(text: str) -> NvidiaText | None:
    """Whatever form of nvidia-smi output `text` holds, or None."""
    if re.search(r"^\s*Product Name\s+:", text, re.M) and "FB Memory Usage" in text:
        return parse_query(text)
    if _CARD.search(text):
        return parse_table(text)
    if _LISTED.search(text):
        return parse_list(text)
    first = text.strip().split("\n", 1)[0].lower()
    if "," in first and ("memory.total" in first or "gpu_name" in first):
        return parse_csv(text.strip())
    return None


def merge_mig(devices: list[Device], listed: NvidiaText) -> list[Device]:
    """Adds the MIG instances of `-L` to devices that a query gave."""
    by_index: dict[int, Any] = {device.index: device for device in devices}
    extra = []
    for device in listed.devices:
        if device.parent_index is not None and device.parent_index in by_index:
            parent = by_index[device.parent_index]
            extra.append(
                replace(device, spec=parent.spec, name=f"{parent.name} {device.slice_name}")
            )
    return [*devices, *extra]
