"""A report and its table as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from tools.probe.fits import FitRow, FitTable
from tools.probe.report import Device, Host, MachineReport
from tools.units import GB, format_bytes, format_gib, format_significant

_COLUMNS = {
    "chat_4bit": "chat 4-bit 4k",
    "chat_4bit_32k": "4-bit 32k",
    "chat_16bit": "chat 16-bit 4k",
    "chat_16bit_32k": "16-bit 32k",
    "qlora": "QLoRA",
    "lora": "LoRA",
    "full": "full",
}
_MARKS = {"fits": "yes", "tight": "tight", "does_not_fit": "no"}
_WORDS = {True: "yes", False: "no", None: "?"}


def report_lines(report: MachineReport) -> Iterator[str]:
    """Devices, host and findings, a line each."""
    if report.driver_version or report.cuda_version:
        cuda = f", runs CUDA up to {report.cuda_version}" if report.cuda_version else ""
        yield f"driver {report.driver_version or '?'}{cuda} (read by {report.source})"
    if not report.devices:
        yield "no GPU or NPU found"
    for device in report.devices:
        yield from _device_lines(device)
    for first, second, link in report.links:
        yield f"link {first}-{second}: {link}"
    if not report.is_pasted:
        yield from _host_lines(report.host)
    for finding in report.findings:
        yield f"[{finding.severity}] {finding.text_en}"
        if finding.command:
            yield f"    mend: {finding.command}"


def _device_lines(device: Device) -> Iterator[str]:
    known = device.spec.name if device.spec else "not in the table"
    cut = "" if device.parent_index is None else f" on device {device.parent_index}"
    yield f"device {device.index}{cut}: {device.name} ({device.slice_name or known})"
    total, used = _size(device.total_bytes), _size(device.used_bytes)
    free = _size(device.free_for_a_process_bytes)
    yield f"    memory {total}, used {used}, free for a process {free}"
    for process in device.processes:
        state = " (dead)" if process.is_alive is False else ""
        held = _size(process.used_bytes)
        yield f"    held by {process.name or 'process'} {process.pid}{state}: {held}"
    support = (
        f"bf16 {_WORDS[device.bf16_supported]}, FP8 {_WORDS[device.fp8_supported]}, "
        f"FlashAttention-2 {_WORDS[device.flash_attention2_supported]}"
    )
    capability = device.compute_capability
    yield f"    compute capability {capability}: {support}" if capability else f"    {support}"
    facts = [
        f"ECC {'on' if device.ecc_enabled else 'off'}" if device.ecc_enabled is not None else "",
        f"power cap {device.power_limit_w:g} W" if device.power_limit_w else "",
        "drives a display" if device.display_active else "",
        "cut into MIG instances" if device.mig_enabled else "",
    ]
    if any(facts):
        yield "    " + ", ".join(fact for fact in facts if fact)


def _size(size_bytes: int | None) -> str:
    return "?" if size_bytes is None else format_bytes(size_bytes)


def _host_lines(host: Host) -> Iterator[str]:
    where = " in a container" if host.is_container else ""
    where += " under WSL" if host.is_wsl else ""
    yield f"system {host.system}{where}"
    cores = "?" if host.usable_cores is None else f"{host.usable_cores:g}"
    sets = f" ({', '.join(host.instruction_sets)})" if host.instruction_sets else ""
    yield f"CPU {host.cpu_name or '?'}: {cores} usable of {host.logical_cores} threads{sets}"
    limit = f", container limit {_size(host.ram_limit_bytes)}" if host.ram_limit_bytes else ""
    yield (
        f"RAM {_size(host.ram_total_bytes)}, free {_size(host.usable_ram_bytes)}{limit}, swap "
        f"{_size(host.swap_total_bytes)}"
    )
    speed = host.disk_read_bytes_per_s
    read = f", reads about {format_significant(speed / GB, 2)} GB/s" if speed else ""
    yield f"disk {_size(host.disk_free_bytes)} free at {host.disk_path}{read}"


def fit_lines(table: FitTable) -> Iterator[str]:
    """One small table a place: sizes down, workloads across, need per card in each cell."""
    for place in table.places:
        rows = [row for row in table.rows if row.place == place]
        yield ""
        yield f"{place}, {format_gib(rows[0].free_bytes)} free" + (
            " on the smallest" if rows[0].cards > 1 else ""
        )
        yield from _grid(rows)
    for row in table.nearest:
        yield (
            f"nothing fits on {row.place}; nearest: {row.size} {_COLUMNS[row.workload]} needs "
            f"{format_gib(row.need_bytes)}, {format_gib(row.free_bytes)} free"
        )
    for note in table.notes:
        yield f"note: {note}"


def _grid(rows: list[FitRow]) -> Iterator[str]:
    columns = [name for name in _COLUMNS if any(row.workload == name for row in rows)]
    has_speed = any(row.tokens_per_s for row in rows)
    heads = [_COLUMNS[name] for name in columns] + (["tokens/s"] if has_speed else [])
    yield f"  {'model':<10}" + "".join(f"{head:>19}" for head in heads)
    for size in dict.fromkeys(row.size for row in rows):
        here = {row.workload: row for row in rows if row.size == size}
        cells = [_cell(here.get(name)) for name in columns]
        speed = next((row.tokens_per_s for row in here.values() if row.tokens_per_s), None)
        if has_speed:
            cells.append(
                f"{format_significant(speed[0], 2)} to {format_significant(speed[1], 2)}"
                if speed
                else ""
            )
        if any(cell and not cell.startswith("no") for cell in cells[: len(columns)]):
            yield f"  {size:<10}" + "".join(f"{cell:>19}" for cell in cells)


def _cell(row: FitRow | None) -> str:
    return "" if row is None else f"{_MARKS[row.verdict]} {format_gib(row.need_bytes)}"
