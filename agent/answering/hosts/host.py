"""Running on memory that is not a GPU's own: CPU servers and Macs."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agent.answer import Answer, AssumptionOut, MemoryRange, Verdict
from agent.answering.hosts import shares
from agent.answering.hosts.processors import (
    memory_bandwidth,
    names_processor,
    say_host_speed,
    speed_calls,
)
from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.assumed import say_assumptions
from agent.answering.telling.draft import DETAIL, HEAD, Draft
from agent.answering.telling.numbers import gib, gib_range
from agent.answering.telling.parts import PARTS
from agent.answering.telling.run_words import memory_arguments, short_model
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.memory import MemoryReport
from agent.toolbox.registries import GpuReport
from agent.toolbox.timing import TimeReport
from tools.gpus import unified_share
from tools.memory import GGUF_ENGINES
from tools.units import GIB, bytes_from_gb

_MAC_RAM_GB = 16.0
_ABOUT_MEMORY = ("fit_check", "probe_local")
_SPEAKS_OF_IT = ("serving_plan", "time_estimate")


def applies(request: Request, context: Context) -> bool:
    """True where the speed of a model on a processor is asked for."""
    has_model = request.slots.has_model
    return has_model and request.intent == "time_estimate" and is_host_question(request)


def compose(request: Request, context: Context) -> Plan:
    """Need of host memory, and the speed that its bandwidth allows."""
    return (yield from compose_host(Draft(request)))


def is_host_question(request: Request) -> bool:
    """True when what is asked about has no memory of its own on a card."""
    slots = request.slots
    if slots.task == "train":
        return False
    gpu = (slots.gpu or "").casefold()
    if gpu == "none" or gpu.startswith("apple"):
        return True
    if slots.gpu_mem_gb is not None and slots.host_ram_gb is not None:
        return False
    is_bare = not gpu and slots.gpu_mem_gb is None and slots.instance is None
    if is_bare and slots.host_ram_gb is not None:
        is_host = slots.vcpu is not None or names_processor(request)
        if request.intent in _ABOUT_MEMORY or (is_host and request.intent in _SPEAKS_OF_IT):
            return True
    runs_on_cpu = slots.framework in GGUF_ENGINES or slots.host_ram_gb is not None
    return not gpu and runs_on_cpu and request.says("hosts.system_memory")


def compose_host(
    draft: Draft, *, example_b: float | None = None
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], Answer]:
    """Inference from host or unified memory; `example_b` stands in where no model was named."""
    slots = draft.request.slots
    is_mac = (slots.gpu or "").casefold().startswith("apple")
    said = slots.quantization or slots.precision or "q4_k_m"
    form = _GGUF.get(said, said)
    arguments = memory_arguments(
        slots, task="infer", quantization=form, precision=None, gpu=None, gpu_count=None,
        gpu_mem_gb=None, instance=None, framework=slots.framework or "llama.cpp",
        **({"params_b": example_b} if example_b else dict[str, Any]()),
    )  # fmt: skip
    calls = [Call("estimate_memory", arguments)]
    bandwidth = None if is_mac else memory_bandwidth(draft.request)
    if is_mac:
        calls.append(Call("find_gpu", {"name": slots.gpu}))
    speed = speed_calls(draft, form, bandwidth, example_b=example_b)
    results = yield (*calls, *speed)
    draft.use(*results)
    report = results[0].report
    if not isinstance(report, MemoryReport):
        draft.add(results[0].hint or "", importance=HEAD)
        return draft.finish("not_applicable")
    report = in_one_memory(report)
    if slots.quantization is None and slots.precision is None:
        why = "4-bit GGUF is what Ollama and llama.cpp users run"
        draft.assume([AssumptionOut(name="quantization", value=form, unit="1", why=why)])
    card = results[1].report if is_mac else None
    found = card if isinstance(card, GpuReport) else None
    verdict, memory = _tell(draft, report, found, form, is_mac=is_mac)
    reports = [r.report for r in results if isinstance(r.report, TimeReport)]
    if verdict != "does_not_fit" and len(reports) == len(speed):
        say_host_speed(draft, report, bandwidth, reports)
    draft.say("host.runners" if is_mac else _better(report))
    _say_parts(draft, report)
    say_assumptions(draft, report)
    if verdict in ("fits", "tight") and (slots.concurrency or 1) > 1 and not is_mac:
        verdict = "depends"  # the memory holds it; whether that serves several is the speed's
    return draft.finish(verdict, memory=memory)


_GGUF = {"q4": "q4_k_m", "int4": "q4_k_m", "4bit": "q4_k_m", "q5": "q5_k_m", "q6": "q6_k",
         "q8": "q8_0", "int8": "q8_0", "8bit": "q8_0"}  # fmt: skip
"""The file that is meant where a width is said and llama.cpp runs it."""
_OF_A_CARD = ("cuda_context", "cublas_workspace")
_LARGE, _MIDDLE = 40e9, 9e9
"""Parameters that are read for a token above which smaller models of three sizes are left."""


def in_one_memory(report: MemoryReport) -> MemoryReport:
    """The need where card and host are one memory: with the tables, without a CUDA context."""
    moved = report.host_ram_bytes - report.part(*_OF_A_CARD)
    need = report.process_bytes + moved
    parts = tuple(
        part.model_copy(update={"bytes": report.weights_bytes}) if part.name == "weights" else part
        for part in report.parts
        if part.name not in _OF_A_CARD
    )
    share = need / report.process_bytes
    return report.model_copy(update={
        "process_bytes": need, "parts": parts, "low_bytes": int(report.low_bytes * share),
        "high_bytes": int(report.high_bytes * share),
    })  # fmt: skip


def _better(report: MemoryReport) -> str:
    """The advice that a size leaves open."""
    read = report.params_active or report.params
    if read > _MIDDLE:
        return "host.better" if read > _LARGE else "host.better_middle"
    return "host.better_small"


def _say_parts(draft: Draft, report: MemoryReport) -> None:
    """Weights, cache and buffers in host memory, as a small table."""
    rows = []
    for label, names in (("weights", PARTS["weights"]), ("kv", PARTS["kv"])):
        size = report.part(*names)
        draft.figure(f"part: {label}", size, "B", formula=" + ".join(names))
        rows.append((draft.phrase(f"memory.part_{label}"), gib(size)))
    rest = report.process_bytes - report.part(*PARTS["weights"], *PARTS["kv"])
    draft.figure("part: buffers", rest, "B", formula="total - weights - cache")
    rows.append((draft.phrase("host.part_buffers"), gib(rest)))
    header = (draft.phrase("memory.head_part"), draft.phrase("host.head_size"))
    draft.table(header, rows, importance=DETAIL)


def _tell(
    draft: Draft, report: MemoryReport, card: GpuReport | None, form: str, *, is_mac: bool
) -> tuple[Verdict, MemoryRange]:
    """The verdict, in words and as it is."""
    slots = draft.request.slots
    ram_gb = slots.host_ram_gb or slots.gpu_mem_gb or (card.memory_label_gb if card else None)
    if is_mac and ram_gb is None:
        ram_gb = _MAC_RAM_GB
        why = "no memory size was said; a common one"
        draft.assume([AssumptionOut(name="unified_memory", value=ram_gb, unit="GB", why=why)])
    usable, most, formula = _usable(ram_gb, is_mac=is_mac)
    verdict = _verdict(report, usable, most)
    if ram_gb is not None:
        draft.figure("memory", ram_gb, "GB", sources=("user:host_ram_gb",))
    if usable is not None:
        draft.figure("usable_memory", usable, "B", formula=formula)
    for name in ("process_bytes", "low_bytes", "high_bytes"):
        draft.figure(f"host_need {name}", getattr(report, name), "B",
                     formula="process + tables in host memory - CUDA context")  # fmt: skip
    values: dict[str, Any] = {
        "model": short_model(report),
        "format": form,
        "need": gib(report.process_bytes),
        "range": gib_range(report.low_bytes, report.high_bytes),
    }
    if usable is None or ram_gb is None:
        draft.say("host.need_only", importance=HEAD, **values)
    elif is_mac:
        name = card.name if card is not None else "Mac"
        draft.say(f"host.unified_{verdict}", importance=HEAD, card=name, ram=f"{ram_gb:g}",
                  usable=gib(usable), **values)  # fmt: skip
    else:
        draft.say(f"host.verdict_{verdict}", importance=HEAD, ram=f"{ram_gb:g}", **values)
    memory = MemoryRange(
        scope="unified" if is_mac else "host_ram",
        low_bytes=report.low_bytes,
        high_bytes=report.high_bytes,
        usable_bytes=usable,
    )
    return verdict, memory


def _usable(ram_gb: float | None, *, is_mac: bool) -> tuple[int | None, int | None, str]:
    """Bytes that a run can have, the most when a Mac's limit is raised, and how they come."""
    if ram_gb is None:
        return None, None, ""
    if not is_mac:
        return bytes_from_gb(ram_gb * shares.PROCESS), None, f"memory * {shares.PROCESS}"
    share, held = unified_share(ram_gb), ram_gb * GIB
    most = round(held * shares.UNIFIED_MOST)
    return round(held * share), most, f"memory in GiB * {share:.3g}"


def _verdict(report: MemoryReport, usable: int | None, most: int | None) -> Verdict:
    if usable is None:
        return "depends"
    if report.high_bytes <= usable:
        return "fits"
    return "tight" if report.process_bytes <= (most or usable) else "does_not_fit"
