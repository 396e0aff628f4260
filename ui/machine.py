"""The tab about the machine that the service runs on: what the probe finds, what fits now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.units import format_gib, format_significant
from ui.charts import table
from ui.markup import tag, text
from ui.render import sortable_table
from ui.wording import Language, say, say_or

if TYPE_CHECKING:
    from tools.probe import Device, FitRow, MachineReport


def machine_html(language: Language, *, is_allowed: bool) -> str:
    """Findings of the probe as tables; refused unless the machine is the asker's own."""
    if not is_allowed:
        return tag("p", text(say("machine_refused", language)), class_="xk-dim", lang=language)
    from tools.probe import fits_here, probe

    report = probe()
    fits = fits_here(report)
    again = tag("button", text(say("machine_refresh", language)), type="button", data_do="probe")
    return tag(
        "section",
        tag("h2", text(say("tab_machine", language))),
        tag("p", text(say("machine_note", language)), class_="xk-dim"),
        _devices(report, language),
        _host(report, language),
        _findings(report, language),
        _fits(fits.rows, language),
        "".join(tag("p", text(note), class_="xk-dim") for note in fits.notes),
        tag("div", again, class_="xk-take"),
        class_="xk-answer",
        lang=language,
    )


def _size(size_bytes: float | None, language: Language) -> str:
    return say("unknown", language) if size_bytes is None else format_gib(size_bytes)


def _known(value: object, language: Language) -> str:
    if value is None or value == "":
        return say("unknown", language)
    if isinstance(value, bool):
        return say("yes" if value else "no", language)
    return str(value)


def _devices(report: MachineReport, language: Language) -> str:
    if not report.devices:
        return tag("p", text(say("machine_none", language)), class_="xk-clarify")
    keys = ("col_gpu", "machine_total", "machine_usable", "machine_free", "machine_bf16",
            "machine_use")  # fmt: skip
    rows = [_device(device, language) for device in report.devices]
    caption = say("machine_devices", language)
    grid = table([say(k, language) for k in keys], rows, caption=caption, numeric=(1, 2, 3, 5))
    return tag("h3", text(caption)) + grid


def _device(device: Device, language: Language) -> tuple[str, ...]:
    use = say("unknown", language)
    if device.utilization_pct is not None:
        use = f"{device.utilization_pct} %"
    return (
        f"{device.index}: {device.name}",
        _size(device.total_bytes, language),
        _size(device.usable_bytes, language),
        _size(device.free_for_a_process_bytes, language),
        _known(device.bf16_supported, language),
        use,
    )


def _host(report: MachineReport, language: Language) -> str:
    host = report.host
    cores = None if host.usable_cores is None else format_significant(host.usable_cores)
    driver = report.driver_version if report.devices else None
    rows = [
        ("machine_cpu", _known(host.cpu_name, language)),
        ("machine_cores", _known(cores, language)),
        ("machine_ram", _size(host.usable_ram_bytes, language)),
        ("machine_disk", _size(host.disk_free_bytes, language)),
        ("machine_system", _known(host.system, language)),
    ]
    if driver:
        rows.append(("machine_driver", f"{driver} · CUDA {_known(report.cuda_version, language)}"))
    caption = say("machine_host", language)
    heads = [say("machine_what", language), say("figure_value", language)]
    shown = [(say(key, language), value) for key, value in rows]
    return tag("h3", text(caption)) + table(heads, shown, caption=caption, numeric=())


def _findings(report: MachineReport, language: Language) -> str:
    items = "".join(
        tag(
            "li",
            text(finding.text_zh if language == "zh" else finding.text_en),
            tag("pre", tag("code", text(finding.command))) if finding.command else "",
            class_=f"xk-{finding.severity}",
        )
        for finding in report.findings
    )
    title = tag("h3", text(say("machine_findings", language)))
    return tag("section", title, tag("ul", items)) if items else ""


def _fits(rows: tuple[FitRow, ...], language: Language) -> str:
    if not rows:
        return ""
    keys = ("machine_place", "machine_size", "machine_workload", "machine_context",
            "machine_verdict", "machine_need", "machine_free")  # fmt: skip
    order = {"fits": "0", "tight": "1", "does_not_fit": "2"}
    cells = []
    for row in rows:
        workload = say_or(f"workload_{row.workload}", language, row.workload.replace("_", " "))
        word = say(f"verdict_{row.verdict}", language)
        cells.append([
            (row.place, row.place), (row.size, row.size), (workload, workload),
            (str(row.context), str(row.context)), (word, order[row.verdict]),
            (format_gib(row.need_bytes), str(row.need_bytes)),
            (format_gib(row.free_bytes), str(row.free_bytes)),
        ])  # fmt: skip
    caption = say("machine_fits", language)
    grid = sortable_table([say(k, language) for k in keys], cells, caption=caption,
                          numeric=(3, 5, 6))  # fmt: skip
    return tag("h3", text(caption)) + grid
