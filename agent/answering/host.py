"""Running on memory that is not a GPU's own: CPU servers and Macs."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any

from agent.answer import Answer, AssumptionOut, MemoryRange, Verdict
from agent.answering.assumed import say_assumptions
from agent.answering.draft import HEAD, Draft
from agent.answering.numbers import gib, gib_range
from agent.answering.parts import say_parts
from agent.answering.plan import Call
from agent.answering.run_words import memory_arguments, short_model
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.memory import MemoryReport
from agent.toolbox.registries import GpuReport
from tools.units import bytes_from_gb, format_significant, gb_from_bytes

_CPU_SHARE = 0.85
"""Share of host memory that a process can use; the rest is the system's."""
_MAC_SHARE = 0.72
"""Share of unified memory that macOS lets the GPU wire by default."""
_MAC_RAM_GB = 16.0
_MAC_MOST = 0.92
"""Share of unified memory that can be wired when the limit is raised and nothing else runs."""
_SYSTEM_MEMORY = re.compile(
    r"system memory|system ram|(?<![a-z])ram(?![a-z])|主机内存|系统内存|CPU ?内存", re.IGNORECASE
)
_ABOUT_MEMORY = ("fit_check", "probe_local")
_SERVER_BANDWIDTH_GBS = 100.0
"""Memory bandwidth assumed for a server socket, GB/s."""


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
    if is_bare and slots.host_ram_gb is not None and request.intent in _ABOUT_MEMORY:
        return True
    runs_on_cpu = slots.framework in ("ollama", "llama.cpp") or slots.host_ram_gb is not None
    return not gpu and runs_on_cpu and _SYSTEM_MEMORY.search(request.search_query) is not None


def compose_host(
    draft: Draft, *, example_b: float | None = None
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], Answer]:
    """Inference from host or unified memory; `example_b` stands in where no model was named."""
    slots = draft.request.slots
    is_mac = (slots.gpu or "").casefold().startswith("apple")
    form = slots.quantization or slots.precision or "q4_k_m"
    arguments = memory_arguments(
        slots, task="infer", quantization=form, precision=None, gpu=None, gpu_count=None,
        gpu_mem_gb=None, instance=None, framework=slots.framework or "llama.cpp",
        **({"params_b": example_b} if example_b else dict[str, Any]()),
    )  # fmt: skip
    calls = [Call("estimate_memory", arguments)]
    if is_mac:
        calls.append(Call("find_gpu", {"name": slots.gpu}))
    results = yield tuple(calls)
    draft.use(*results)
    report = results[0].report
    if not isinstance(report, MemoryReport):
        draft.add(results[0].hint or "", importance=HEAD)
        return draft.finish("not_applicable")
    if slots.quantization is None and slots.precision is None:
        why = "4-bit GGUF is what Ollama and llama.cpp users run"
        draft.assume([AssumptionOut(name="quantization", value=form, unit="1", why=why)])
    card = results[1].report if is_mac else None
    found = card if isinstance(card, GpuReport) else None
    return _tell(draft, report, found, form, is_mac=is_mac)


def _tell(
    draft: Draft, report: MemoryReport, card: GpuReport | None, form: str, *, is_mac: bool
) -> Answer:
    slots = draft.request.slots
    ram_gb = slots.host_ram_gb or slots.gpu_mem_gb or (card.memory_label_gb if card else None)
    if is_mac and ram_gb is None:
        ram_gb = _MAC_RAM_GB
        why = "no memory size was said; a common one"
        draft.assume([AssumptionOut(name="unified_memory", value=ram_gb, unit="GB", why=why)])
    share = _MAC_SHARE if is_mac else _CPU_SHARE
    usable = bytes_from_gb(ram_gb * share) if ram_gb is not None else None
    most = bytes_from_gb(ram_gb * _MAC_MOST) if ram_gb is not None and is_mac else None
    verdict = _verdict(report, usable, most)
    if ram_gb is not None:
        draft.figure("memory", ram_gb, "GB", sources=("user:host_ram_gb",))
    if usable is not None:
        draft.figure("usable_memory", usable, "B", formula=f"memory * {share}")
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
    if is_mac:
        draft.say("host.runners")
    else:
        _say_speed(draft, report)
        draft.say("host.better")
    say_parts(draft, report)
    say_assumptions(draft, report)
    memory = MemoryRange(
        scope="unified" if is_mac else "host_ram",
        low_bytes=report.low_bytes,
        high_bytes=report.high_bytes,
        usable_bytes=usable,
    )
    return draft.finish(verdict, memory=memory)


def _verdict(report: MemoryReport, usable: int | None, most: int | None) -> Verdict:
    if usable is None:
        return "depends"
    if report.high_bytes <= usable:
        return "fits"
    return "tight" if report.process_bytes <= (most or usable) else "does_not_fit"


def _say_speed(draft: Draft, report: MemoryReport) -> None:
    """One stream reads all active weights once a token, so bandwidth bounds the speed."""
    active = report.params_active or report.params
    read_gb = gb_from_bytes(report.weights_bytes * active / report.params)
    ceiling = _SERVER_BANDWIDTH_GBS / read_gb
    low, high = ceiling * 0.3, ceiling * 0.9
    for name, value in (("speed_low", low), ("speed_high", high)):
        draft.figure(
            name,
            float(format_significant(value, 2)),
            "token/s",
            formula="memory bandwidth / weights read",
        )
    why = "a current server socket; desktop machines have about half"
    draft.assume([AssumptionOut(name="memory_bandwidth", value=_SERVER_BANDWIDTH_GBS, unit="GB/s",
                                why=why)])  # fmt: skip
    draft.say("host.slow_measured", model=short_model(report),
              low=format_significant(low, 2), high=format_significant(high, 2),
              bandwidth=f"{_SERVER_BANDWIDTH_GBS:g}")  # fmt: skip
