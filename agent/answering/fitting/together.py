"""Several models on one card at the same time: the needs add up, each process with its own."""

from __future__ import annotations

from typing import Any

from agent.answer import MemoryRange, Verdict
from agent.answering.hosts.unified import board_bytes
from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import gib, gib_range
from agent.answering.telling.run_words import is_language, memory_arguments, short_model
from agent.request import Request, Slots
from agent.toolbox.memory import MemoryReport
from agent.toolbox.registries import GpuReport
from tools.models import try_find_model

_INTENTS = ("fit_check", "serving_plan", "multi_gpu_plan")
_MOST = 5


def applies(request: Request, context: Context) -> bool:
    """True where models are to be served side by side on a card that was named."""
    slots = request.slots
    models = slots.models or ()
    is_job = slots.task != "train" and request.intent in _INTENTS and request.goal is None
    has_place = slots.has_card and (slots.gpu_count or 1) == 1 and slots.gpus is None
    if not (is_job and has_place and 2 <= len(models) <= _MOST):
        return False
    if not request.says("fitting.together") or request.says("fitting.either"):
        return False
    return all(try_find_model(name) is not None for name in models)


def compose(request: Request, context: Context) -> Plan:
    """The need of each, their sum against the card, and what an engine with a pool must leave."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    slots = request.slots
    calls = [Call("estimate_memory", _arguments(slots, name)) for name in slots.models or ()]
    results = yield (*calls, Call("find_gpu", {"name": slots.gpu}))
    draft.use(*results)
    reports = [r.report for r in results if isinstance(r.report, MemoryReport)]
    card = results[-1].report
    if len(reports) < len(calls) or not isinstance(card, GpuReport):
        draft.add(next((r.hint for r in results if r.hint), ""), importance=HEAD)
        return draft.finish("not_applicable")
    usable = _usable(draft, reports, card, slots)
    need, low, high = (
        sum(getattr(report, f"{name}_bytes") for report in reports)
        for name in ("process", "low", "high")
    )
    for name, size in (("need_together", need), ("low_together", low), ("high_together", high)):
        draft.figure(name, size, "B", formula="sum over the models, a process each")
    verdict: Verdict = "depends"
    if usable is not None:
        verdict = "does_not_fit" if need > usable else "tight" if high > usable else "fits"
        left = abs(usable - need)
        draft.figure("left_beside_them", left, "B", formula="usable - need_together")
        draft.say(f"together.{verdict}", gpu=card.name, need=gib(need), usable=gib(usable),
                  range=gib_range(low, high), left=gib(left), count=len(reports),
                  importance=HEAD)  # fmt: skip
    _say_each(draft, reports)
    draft.say("together.grows")
    if card.is_unified:
        draft.say("together.unified", gpu=card.name, importance=HEAD)
    if any(is_language(report) for report in reports):
        draft.say("together.pool")
    scope = "unified" if card.is_unified else "per_gpu"
    memory = MemoryRange(scope=scope, low_bytes=low, high_bytes=high, usable_bytes=usable)
    return draft.finish(verdict, memory=memory)


def _arguments(slots: Slots, name: str) -> dict[str, Any]:
    """What was said, for one model: a weight format of language models is no other's."""
    match = try_find_model(name)
    is_text = match is not None and match.spec.kind in ("decoder-lm", "moe-lm", "vlm")
    changes: dict[str, Any] = {"model": name, "params_b": None}
    if not is_text:
        changes |= {"quantization": None, "seq_len": None, "framework": None,
                    "precision": slots.precision or "fp16"}  # fmt: skip
    return memory_arguments(slots, task="infer", **changes)


def _usable(draft: Draft, reports: list[MemoryReport], card: GpuReport, slots: Slots) -> int | None:
    """What the card gives; of unified memory without a measured figure the system keeps a part."""
    known = next((r.usable_bytes for r in reports if r.usable_bytes is not None), None)
    return board_bytes(draft, card, slots) if known is None else known


def _say_each(draft: Draft, reports: list[MemoryReport]) -> None:
    rows = []
    for report in reports:
        name = short_model(report)
        draft.figure(f"need of {name}", report.process_bytes, "B", formula="process_bytes")
        rows.append((name, report.weight_format or "", gib(report.weights_bytes),
                     gib(report.process_bytes)))  # fmt: skip
    header = tuple(draft.phrase(f"together.head_{n}") for n in ("model", "format", "weights",
                                                               "need"))  # fmt: skip
    draft.table(header, rows, importance=HEAD)
