"""A machine without a GPU, and no model named: sizes that its memory holds, and their speed."""

from __future__ import annotations

from typing import Any

from agent.answer import AssumptionOut, MemoryRange
from agent.answering.hosts import shares
from agent.answering.hosts.host import in_one_memory
from agent.answering.hosts.processors import cores_of, memory_bandwidth
from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import DETAIL, HEAD, Draft
from agent.answering.telling.numbers import gib, whole
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.memory import MemoryReport
from agent.toolbox.ranges import Range
from agent.toolbox.timing import TimeReport
from tools.units import bytes_from_gb, format_significant

_SIZES: dict[str, dict[str, Any]] = {
    f"{size:g}B": {"params_b": size} for size in (1.5, 3.0, 7.0, 14.0, 32.0, 70.0)
}
"""Dense sizes that open models come in."""
_MIXTURES: dict[str, dict[str, Any]] = {
    "235B-A22B": {"model": "Qwen/Qwen3-235B-A22B"},
    "671B-A37B": {"model": "deepseek-ai/DeepSeek-V3"},
}
"""Above them open models are mixtures: all experts in memory, few read for a token."""
_LARGE_GB = 96.0
"""Memory from which a mixture comes into question, GB: 235B take about 130 in 4 bit."""
_FORMAT = "q4_k_m"
_RAM_GB = 16.0
"""Memory of a common laptop, where none was said, GB."""
_CONTEXT = 4096
_READS_ALONG = 5.0
"""Tokens a second from which a reader hardly waits."""


def applies(request: Request, context: Context) -> bool:
    """True where language models are to run without a GPU and none is named."""
    slots = request.slots
    if slots.has_model or slots.task == "train":
        return False
    is_bare = slots.gpu == "none" and slots.instance is None and slots.gpu_mem_gb is None
    return is_bare and request.says("hosts.language_models")


def compose(request: Request, context: Context) -> Plan:
    """The largest size that fits, then a table of sizes with need and speed."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    slots = request.slots
    said_gb = slots.host_ram_gb
    ram_gb = said_gb or _RAM_GB
    sizes = _SIZES | (_MIXTURES if ram_gb >= _LARGE_GB else {})
    if said_gb is None:
        why = "no memory size was said; a common laptop"
        draft.assume([AssumptionOut(name="host_ram", value=ram_gb, unit="GB", why=why)])
    bandwidth = memory_bandwidth(request)
    usual: dict[str, Any] = {"task": "infer", "quantization": _FORMAT, "framework": "llama.cpp"}
    place = f"CPU {cores_of(request)} cores {bandwidth.value:.0f} GB/s"
    needs = yield tuple(
        Call("estimate_memory", {**usual, **of, "seq_len": _CONTEXT, "with_changes": False})
        for of in sizes.values()
    )  # fmt: skip
    speeds = yield tuple(
        Call("estimate_time_and_cost", {**usual, **of, "gpu": place}) for of in sizes.values()
    )
    draft.use(*needs, *speeds)
    usable = bytes_from_gb(ram_gb * shares.BESIDE_A_BROWSER)
    draft.figure("memory", ram_gb, "GB", sources=("user:host_ram_gb",))
    draft.figure("usable_memory", usable, "B", formula=f"memory * {shares.BESIDE_A_BROWSER}")
    draft.figure("host_bandwidth", round(bandwidth.value), "GB/s", formula=bandwidth.why)
    draft.figure("context", _CONTEXT, "token", formula="assumed")
    best = _say_sizes(draft, tuple(zip(sizes, needs, speeds, strict=True)), usable, ram_gb)
    draft.say("llm_on_cpu.why", bandwidth=whole(bandwidth.value), importance=HEAD)
    draft.say("llm_on_cpu.how", importance=DETAIL)
    if best is None:
        return draft.finish("does_not_fit")
    memory = MemoryRange(scope="host_ram", low_bytes=best.low_bytes, high_bytes=best.high_bytes,
                         usable_bytes=usable)  # fmt: skip
    return draft.finish("depends", memory=memory)


def _say_sizes(
    draft: Draft,
    found: tuple[tuple[str, ToolResult, ToolResult], ...],
    usable: int,
    ram_gb: float,
) -> MemoryReport | None:
    """The table of sizes, with the largest that fits in front; gives its estimate."""
    rows, best, quick = [], None, None
    for name, need, speed in found:
        memory, time = need.report, speed.report
        if not isinstance(memory, MemoryReport) or not isinstance(time, TimeReport):
            continue
        rate = time.stream_tokens_per_s
        memory = in_one_memory(memory)
        total = memory.process_bytes
        holds = total <= usable
        draft.figure(f"{name}: host need", total, "B", formula="weights + cache + buffers")
        told = _told(draft, name, rate)
        outcome = draft.phrase("llm_on_cpu.holds" if holds else "llm_on_cpu.short")
        rows.append((name, gib(total), outcome, told))
        if holds:
            best = (name, total, memory, told)
            quick = best if rate is not None and rate.value >= _READS_ALONG else quick
    if best is None:
        draft.say("llm_on_cpu.none", ram=f"{ram_gb:g}", importance=HEAD)
    else:
        fast = quick[0] if quick is not None else next(iter(_SIZES))
        draft.say("llm_on_cpu.head", ram=f"{ram_gb:g}", best=best[0], need=gib(best[1]),
                  usable=gib(usable), speed=best[3], fast=fast, importance=HEAD)  # fmt: skip
    header = tuple(draft.phrase(f"llm_on_cpu.head_{n}") for n in ("size", "need", "fit", "speed"))
    draft.table(header, rows, importance=HEAD)
    return best[2] if best is not None else None


def _told(draft: Draft, name: str, rate: Range | None) -> str:
    """Tokens a second with their interval."""
    if rate is None:
        return "?"
    told = {}
    for key in ("value", "low", "high"):
        told[key] = format_significant(getattr(rate, key), 2)
        draft.figure(f"{name}: speed {key}", float(told[key]), "token/s",
                     formula="memory bandwidth * share reached / weights")  # fmt: skip
    return f"{told['value']} token/s ({told['low']}–{told['high']})"
