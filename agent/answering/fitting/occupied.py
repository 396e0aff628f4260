"""A card of which part is in use: what is left against what another run needs."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agent.answer import Answer
from agent.answering.failures.symptoms import free_bytes, pasted
from agent.answering.fitting.changes import say_changes
from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.assumed import say_assumptions
from agent.answering.telling.draft import BODY, HEAD, Draft
from agent.answering.telling.found import Found, settled
from agent.answering.telling.numbers import gib
from agent.answering.telling.parts import say_parts, say_why
from agent.answering.telling.run_words import memory_arguments, memory_range, outcome, run_text
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.memory import MemoryReport
from tools.memory import likely
from tools.units import MIB

_INTENTS = ("fit_check", "probe_local", "serving_plan", "oom_diagnosis")
_NARROW = "awq"
"""The usual 4-bit format, told where 16 bit does not fit into what is left."""
_MOSTLY = 0.5
"""Share of a card in use from which it is told that another process holds it."""
Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], Answer]


def applies(request: Request, context: Context) -> bool:
    """True for another run on one card whose use is known, or was a turn ago."""
    slots = request.slots
    has_model = slots.has_model
    if not has_model or (slots.gpu_count or 1) > 1 or request.intent not in _INTENTS:
        return False
    is_known = slots.gpu_mem_used_mib is not None or "gpu_mem_used_mib" in request.changed
    return is_known and free_bytes(request) is not None and pasted(request, "cuda_oom") is None


def compose(request: Request, context: Context) -> Plan:
    """What is free now and on the empty card, and the ways that fit."""
    draft = Draft(request)
    return (yield from _occupied(draft))


def _occupied(draft: Draft) -> Steps:
    """A card of which part is already in use: what is left against what is needed."""
    slots = draft.request.slots
    state = free_bytes(draft.request)
    assert state is not None
    used, total, free = state
    method = (slots.method or "lora") if slots.task == "train" else None
    narrow: dict[str, Any] = {"quantization": _NARROW, "precision": None}
    results = yield (
        Call("estimate_memory", memory_arguments(slots, method=method, with_changes=True)),
        Call("estimate_memory", memory_arguments(slots, method=method, **narrow)),
    )
    report, other = results[0].report, results[1].report
    draft.use(results[0])
    if not isinstance(report, MemoryReport):
        draft.add(results[0].hint or "", importance=HEAD)
        return draft.finish("not_applicable")
    is_freed = "gpu_mem_used_mib" in draft.request.changed or used == 0
    for name, size in (("used", used), ("total", total), ("free", free)):
        draft.figure(f"card: {name}", size // MIB, "MiB", sources=("user:nvidia-smi",))
    verdict = likely(report.process_bytes, high_bytes=report.high_bytes, usable_bytes=free)
    if not is_freed:
        key = "symptoms.occupied" if verdict == "does_not_fit" else "symptoms.occupied_fits"
        draft.say(key, importance=HEAD, total=f"{total // MIB}", used=f"{used // MIB}",
                  free=f"{free // MIB}", free_gib=gib(free), what=run_text(draft, report),
                  need=gib(report.process_bytes))  # fmt: skip
        if verdict != "does_not_fit" and used >= _MOSTLY * total:
            draft.say("symptoms.occupied_not_idle", used=f"{used // MIB}")
    if report.verdict is not None and report.usable_bytes is not None:
        draft.figure("usable", report.usable_bytes, "B", sources=(f"data:gpus.csv#{report.gpu}",))
        draft.say(
            "symptoms.freed" if is_freed else "symptoms.empty_card",
            what=run_text(draft, report),
            need=gib(report.process_bytes),
            usable=gib(report.usable_bytes),
            outcome=outcome(draft, report),
            importance=HEAD if is_freed else BODY,
        )
    if is_freed and report.verdict is not None:
        verdict = report.verdict
    is_wide = slots.quantization is None and slots.task != "train"
    if is_wide and verdict == "does_not_fit" and not is_freed and isinstance(other, MemoryReport):
        draft.use(results[1])
        now = likely(other.process_bytes, high_bytes=other.high_bytes, usable_bytes=free)
        draft.say("symptoms.occupied_narrow", need=gib(other.process_bytes), free=gib(free),
                  outcome=draft.phrase(f"memory.outcome_{now}"))  # fmt: skip
    if report.verdict == "does_not_fit":
        say_changes(draft, report)
    say_why(draft, report)
    say_parts(draft, report)
    say_assumptions(draft, report)
    return draft.finish(verdict, memory=memory_range(report),
                        slots=settled(Found(verdict, None, report)))  # fmt: skip
