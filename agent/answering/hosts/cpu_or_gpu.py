"""ecs_vs_gpu: a GPU, or a CPU server, decided by computing."""

from __future__ import annotations

import re
from typing import Any

from agent.answer import Verdict
from agent.answering.hosts.table_ram import TableFit, table_fit
from agent.answering.hosts.tables import is_for_host
from agent.answering.plan import Call, Context, Plan
from agent.answering.renting.catalog import entry_types
from agent.answering.renting.renting import default_provider
from agent.answering.speed import item_work
from agent.answering.telling.draft import BODY, DETAIL, HEAD, Draft
from agent.answering.telling.machines import instance_line, short_line
from agent.answering.telling.numbers import count, duration, gib, hourly, quoted
from agent.answering.telling.run_words import joined
from agent.answering.telling.sources import guidance_call, passages_in, say_cited
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.offers import InstanceOut
from agent.toolbox.placement import OptionOut, PlacementReport, ReasonOut
from tools.units import bytes_from_gb, format_significant

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(t|g|m)b?", re.IGNORECASE)
_IN_GB = {"t": 1000.0, "g": 1.0, "m": 0.001}
_MUCH_RAM_GB = 4.0
"""Host memory from which a need is worth telling, GB."""
_A_DAY_H = 24.0
"""A job that takes longer than this on a CPU needs a GPU, whatever else it could do."""
_SHORTEST_S = 60.0
"""Reading and turning the data into numbers takes about so long, however short the training."""
_GPU_MEMORY_GB = 80.0
"""Memory of the largest common card, GB."""
_COMPARED_IN = "CNY"
"""Currency in which placement weighs prices."""


def applies(request: Request, context: Context) -> bool:
    """True for a run that is one of a CPU server, whatever was asked about it."""
    return is_for_host(request)


def compose(request: Request, context: Context) -> Plan:
    """The place, the reasons with their figures, a machine of either kind."""
    asked, request = request, item_work.completed(request)
    draft = Draft(request)
    slots = request.slots
    first = [guidance_call(request, k=2, topic="cpu_or_gpu")]
    arguments = _arguments(request)
    if arguments is not None:
        first.append(Call("placement", arguments))
    if slots.instance:
        first.append(Call("find_instances", {"name": slots.instance, "provider": request.cloud}))
    results = yield tuple(first)
    draft.use(*results)
    report = next((r.report for r in results if isinstance(r.report, PlacementReport)), None)
    verdict: Verdict = "depends"
    is_enough = report is not None and report.kind == "cpu"
    for result in results:
        if isinstance(result.report, InstancesReport):
            _say_instance(draft, result.report, is_enough=is_enough)
    table = None
    if report is not None:
        table = yield from table_fit(draft, _machine_named(results))
        verdict = _tell(draft, report, asked, table)
    else:
        draft.say("placement.general", importance=HEAD)
        yield from entry_types(draft, default_provider(draft))
    say_cited(draft, passages_in(results)[:2])
    memory = table.memory if table is not None else None
    is_of_table = table is not None and request.intent == "io_bottleneck"
    return draft.finish(verdict, memory=memory, intent="ecs_vs_gpu" if is_of_table else None)


def _machine_named(results: tuple[ToolResult, ...]) -> InstanceOut | None:
    """The one type that was looked up."""
    reports = (r.report for r in results if isinstance(r.report, InstancesReport))
    return next((r.instances[0] for r in reports if r.kind == "type" and r.instances), None)


def _arguments(request: Request) -> dict[str, Any] | None:
    """Arguments of placement for what was said; None when nothing says what is run."""
    slots = request.slots
    said: dict[str, Any] = {
        "action": "train" if slots.task == "train" else "infer",
        "model": slots.model,
        "params_b": slots.params_b,
        "model_mb": slots.model_size_mb,
        "rows": slots.rows,
        "columns": slots.columns,
        "rounds": slots.steps,
        "data_gb": data_gb(slots.dataset),
        "samples": slots.samples,
        "epochs": slots.epochs,
        "requests_per_s": item_work.load(request),
        "concurrency": slots.concurrency,
        "latency_s": slots.latency_s,
        "vcpu": slots.vcpu,
        "host_ram_gb": slots.host_ram_gb,
        "provider": slots.provider or (None if slots.providers else "alibaba"),
    }
    if not slots.has_model and slots.model_size_mb is None:
        return None
    return {name: value for name, value in said.items() if value is not None}


def data_gb(written: str | None) -> float | None:
    """Size of a data set written with its unit, GB.

    >>> data_gb("50GB csv"), data_gb("MNIST")
    (50.0, None)
    """
    found = _SIZE.search(written or "")
    return float(found[1]) * _IN_GB[found[2].lower()] if found else None


def _work(draft: Draft) -> str:
    slots = draft.request.slots
    if slots.model is not None:
        return quoted(slots.model)
    if slots.model_size_mb is not None:
        draft.figure("model_file", slots.model_size_mb, "MB", sources=("user:model_size_mb",))
        return draft.phrase("placement.model_file", mb=f"{slots.model_size_mb:g}")
    return draft.phrase("placement.this_work")


def _tell(draft: Draft, report: PlacementReport, asked: Request, table: TableFit | None) -> Verdict:
    is_optional = report.reason("faster_on_gpu") is not None and _cpu_hours(report) <= _A_DAY_H
    rate = item_work.record_load(draft, asked)
    copes = is_optional and rate is None and _has_machine(draft.request)
    key = {"cpu": "cpu", "managed": "managed"}.get(report.kind, "gpu")
    if key == "gpu" and is_optional:
        key = "cpu_copes" if copes and table is None else "gpu_optional"
    is_saved = report.reason("faster_on_gpu") is not None and report.reason("cheaper_on_gpu")
    if key == "cpu" and is_saved:
        key = "cpu_dearer"
    if not (report.needs_gpu and rate is not None and _say_load(draft, report, rate)):
        draft.say(f"placement.{key}", work=_work(draft), importance=HEAD)
    for reason in report.reasons if table is None else _without_memory(report):
        _reason(draft, report, reason.code, reason.values, reason.detail)
    size_gb = data_gb(draft.request.slots.dataset)
    if size_gb is not None:
        draft.figure("data", size_gb, "GB", sources=("user:dataset",))
        if bytes_from_gb(size_gb) > bytes_from_gb(_GPU_MEMORY_GB) / 2:
            draft.say("placement.data_over_gpu")
    if report.kind == "cpu" and draft.request.slots.task != "train":
        draft.say("placement.latency")
    _machine(draft, "placement.cpu_machine", report.cpu, importance=BODY)
    if report.kind != "cpu" or key == "cpu_dearer":
        _machine(draft, "placement.gpu_machine", report.gpu, importance=BODY)
    items = [
        f"{m.name}（{m.what_zh}）" if draft.language == "zh" else f"{m.name} ({m.what_en})"
        for m in report.managed[:2]
    ]
    if items:
        draft.say("placement.managed_too", items=joined(draft, items), importance=DETAIL)
    draft.assume(report.assumptions)
    if table is not None and table.verdict != "fits":
        return table.verdict
    return _verdict(draft, report, copes=copes)


def _without_memory(report: PlacementReport) -> list[ReasonOut]:
    """The reasons beside the memory, which was told."""
    return [reason for reason in report.reasons if reason.code != "host_memory"]


def _verdict(draft: Draft, report: PlacementReport, *, copes: bool) -> Verdict:
    """What the place says of the job: done there, open, or nothing to judge."""
    if report.kind != "cpu":
        return "fits" if copes else "depends"
    if report.reason("library_without_gpu_code") and draft.request.says("hosts.faster"):
        return "not_applicable"  # asked is whether a GPU helps, and it does not
    if draft.corrections:
        return "not_applicable"  # what was taken for granted is put right; nothing is judged
    return "fits" if _has_machine(draft.request) else "not_applicable"


def _has_machine(request: Request) -> bool:
    """Whether a machine was named by its type, its cores or its memory."""
    slots = request.slots
    return any(x is not None for x in (slots.instance, slots.vcpu, slots.host_ram_gb))


def _cpu_hours(report: PlacementReport) -> float:
    """Hours of the job on a CPU; 0 where none are given."""
    values = next((r.values for r in report.reasons if r.code.endswith("_on_cpu")), {})
    return float(values.get("cpu_hours") or values.get("cpu_seconds", 0) / 3600)


def _say_load(draft: Draft, report: PlacementReport, told_rate: str) -> bool:
    """A load that decides for a GPU: what it would take of a CPU, and what the GPU carries."""
    rate = item_work.load(draft.request)
    vcpu = next(
        (r.values["vcpu_needed"] for r in report.reasons if "vcpu_needed" in r.values), None
    )
    if rate is None or vcpu is None:
        return False
    draft.figure("vcpu_needed", round(vcpu), "vCPU", formula="rate * FLOP / FLOP/s per vCPU")
    draft.say("placement.gpu_load", work=_work(draft), rate=told_rate, vcpu=f"{vcpu:,.0f}",
              importance=HEAD)  # fmt: skip
    prices = next((r.values for r in report.reasons if "gpu_price" in r.values), None)
    if prices is not None:
        draft.say("placement.gpu_cheaper_load", **_hourly(draft, report, prices))
    if report.gpu is not None and report.gpu.rate is not None:
        machines = -(-rate // report.gpu.rate)
        draft.figure("gpu_requests_per_s", report.gpu.rate, "1/s", formula="FLOP/s / FLOP")
        draft.figure("machines", machines, "1", formula="rate / gpu_requests_per_s, rounded up")
        draft.say("placement.gpu_rate", carries=format_significant(report.gpu.rate, 2),
                  machines=f"{machines:g}", rate=told_rate)  # fmt: skip
    return True


def _hourly(draft: Draft, report: PlacementReport, values: dict[str, float]) -> dict[str, Any]:
    """Prices of the two machines as they are listed; converted ones where one lists none."""
    options = {"cpu": report.cpu, "gpu": report.gpu}
    listed = {
        name: option.instance.price
        for name, option in options.items()
        if option is not None and option.instance is not None
    }
    told = {}
    for name in options:
        price = listed.get(name)
        amount, currency = values[f"{name}_price"], _COMPARED_IN
        if price is not None and price.per == "hour":
            amount, currency = float(price.amount), price.currency
        draft.figure(f"{name}_price", amount, f"{currency}/h", formula="list price")
        told[name] = hourly(amount, currency, draft.language)
    return told


def _reason(
    draft: Draft, report: PlacementReport, code: str, values: dict[str, float], detail: str | None
) -> None:
    """One reason, worded with its figures."""
    if code in ("short_on_cpu", "long_on_cpu"):
        hours = values.get("cpu_hours") or values.get("cpu_seconds", 0) / 3600
        draft.say(f"placement.{code}", time=duration(hours, draft.language))
    elif code == "faster_on_gpu":
        time = duration(values["gpu_seconds"] / 3600, draft.language)
        times = format_significant(values["speed_up"], 2)
        draft.say("placement.faster_on_gpu", time=time, times=times)
    elif code == "cheaper_on_cpu" and "gpu_price" in values:
        draft.say("placement.cheaper_on_cpu", **_hourly(draft, report, values))
    elif code == "cheaper_on_gpu" and "gpu_job_cost" in values:
        draft.say("placement.cheaper_on_gpu", cpu=f"{values['cpu_job_cost']:.2f}",
                  gpu=f"{values['gpu_job_cost']:.2f}")  # fmt: skip
    elif code == "cpu_carries_the_load" and "cpu_requests_per_s" in values:
        seconds = values.get("cpu_request_seconds", 0)
        latency = (
            f"{seconds * 1000:.0f} ms" if draft.language == "en" else f"{seconds * 1000:.0f} 毫秒"
        )
        has_rate = draft.request.slots.request_rate_per_s is not None
        key = "cpu_carries_a_rate" if has_rate else "cpu_carries_the_load"
        vcpu = round(values.get("vcpu_needed", 1))
        draft.figure("vcpu_needed", vcpu, "vCPU", formula="rate * FLOP / FLOP/s per vCPU")
        draft.say(f"placement.{key}", latency=latency, vcpu=vcpu,
                  rate=format_significant(values["cpu_requests_per_s"], 2))  # fmt: skip
    elif code == "host_memory" and values.get("host_memory", 0) >= bytes_from_gb(_MUCH_RAM_GB):
        _say_matrix(draft, values)
        draft.say("placement.host_memory", ram=gb_text(values["host_memory"]))
    elif code == "library_without_gpu_code":
        _say_classic(draft, values)
        draft.say("placement.library_without_gpu_code", detail=quoted(detail or ""))
    elif code == "gpu_memory" and "process" in values:
        draft.say("placement.gpu_memory", need=gib(values["process"]))
    elif code == "several_for_memory":
        draft.say("placement.several")


def _say_matrix(draft: Draft, values: dict[str, float]) -> None:
    """What a table takes by itself, where both its sides were said."""
    slots, size = draft.request.slots, values.get("matrix")
    if size is None or slots.rows is None or slots.columns is None:
        return
    draft.figure("rows", slots.rows, "1", sources=("user:rows",))
    draft.figure("columns", slots.columns, "1", sources=("user:columns",))
    draft.figure("matrix_float64", 2 * size, "B", formula="matrix * 2")
    draft.say("placement.matrix", rows=count(slots.rows, draft.language), columns=slots.columns,
              single=gb_text(size), double=gb_text(2 * size))  # fmt: skip


def _say_classic(draft: Draft, values: dict[str, float]) -> None:
    """How long a library without GPU code takes, and why texts as counts of words are light."""
    slots, seconds = draft.request.slots, values.get("cpu_seconds")
    if seconds is not None and (slots.rows or slots.samples):
        told = max(seconds, _SHORTEST_S)
        draft.figure("cpu_seconds_told", told, "s", formula="max(cpu_seconds, one minute to read)")
        draft.say("placement.short_on_cpu", time=duration(told / 3600, draft.language))
    if draft.request.says("sizing.of_texts"):
        draft.say("placement.sparse")


def gb_text(size_bytes: float) -> str:
    """Host memory as it is sold, in GB."""
    return f"{size_bytes / 1e9:,.0f} GB"


def _machine(draft: Draft, key: str, option: OptionOut | None, *, importance: int) -> None:
    if option is None or option.instance is None:
        return
    line = (
        instance_line(draft, option.instance, with_provider=True)
        if option.instance.category == "cpu"
        else short_line(draft, option.instance)
    )
    draft.say(key, line=line, importance=importance)
    draft.offer([option.instance.as_offer()])


def _say_instance(draft: Draft, report: InstancesReport, *, is_enough: bool) -> None:
    """A CPU type that was named for a job."""
    from agent.answering.telling.machines import family_line

    if report.instances and report.instances[0].category == "cpu":
        line = instance_line(draft, report.instances[0], with_provider=True)
    elif report.families and not report.families[0].has_gpu:
        line = family_line(draft, report.families[0])
    else:
        return
    is_corrected = any(report.given and report.given in c.fact for c in draft.corrections)
    if is_corrected or is_enough:
        draft.add(line + draft.phrase("concept.stop"), importance=DETAIL)
    else:
        draft.say("placement.no_gpu_type", line=line, importance=HEAD)
