"""Several models on one card at the same time: the needs add up, each process with its own."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Literal

from agent.answer import Answer, MemoryRange, Verdict
from agent.answering.hosts.unified import board_bytes
from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.assumed import say_assumptions
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import gib, gib_range
from agent.answering.telling.run_words import is_language, memory_arguments, run_text, short_model
from agent.request import Request, Slots
from agent.toolbox import ToolResult
from agent.toolbox.memory import MemoryReport
from agent.toolbox.registries import GpuReport
from tools.models import try_find_model

_INTENTS = ("fit_check", "serving_plan", "multi_gpu_plan", "probe_local")
_MOST = 5
_IN_FOUR = ("int4", "awq", "gptq", "nf4", "fp4", "nvfp4", "mxfp4")
_PART = 0.95
"""Share of a card that engines side by side may take together."""
Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], Answer]


def applies(request: Request, context: Context) -> bool:
    """True where models are to be served side by side on a card that was named."""
    slots = request.slots
    models = slots.models or ()
    is_asked = request.intent in _INTENTS or _is_only_cheap(request)
    is_job = slots.task != "train" and is_asked and request.goal is None
    has_place = slots.has_card and (slots.gpu_count or 1) == 1 and slots.gpus is None
    if is_job and has_place and _copies(request) > 1 and slots.instance is None:
        return not request.says("fitting.either")
    if not (is_job and has_place and 2 <= len(models) <= _MOST):
        return False
    is_one = request.says("fitting.joined") and "gpu_count" not in request.inferred
    if request.says("fitting.either") or not (request.says("fitting.together") or is_one):
        return False
    return all(try_find_model(name) is not None for name in models)


def _copies(request: Request) -> int:
    """Copies of one model, or models of one size, that are to run side by side."""
    slots = request.slots
    is_one = slots.has_model and not slots.models
    return (slots.side_by_side or 1) if is_one else 1


def _is_only_cheap(request: Request) -> bool:
    """Whether a machine spoken of is one that the asker has in mind: its card is named."""
    return request.intent == "recommend_instance" and not request.says("renting.wanted")


def compose(request: Request, context: Context) -> Plan:
    """The need of each, their sum against the card, and what an engine with a pool must leave."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    slots = request.slots
    if _copies(request) > 1:
        return (yield from _alike(draft, _copies(request)))
    calls = [Call("estimate_memory", _arguments(slots, name)) for name in slots.models or ()]
    results = yield (*calls, Call("find_gpu", {"name": slots.gpu}))
    draft.use(*results)
    reports = [r.report for r in results if isinstance(r.report, MemoryReport)]
    card = results[-1].report
    if len(reports) < len(calls) or not isinstance(card, GpuReport):
        draft.add(next((r.hint for r in results if r.hint), ""), importance=HEAD)
        return draft.finish("not_applicable")
    usable = _usable(draft, reports, card, slots)
    verdict, memory = _say_sum(draft, reports, card, usable)
    _say_each(draft, reports)
    draft.say("together.grows")
    if card.is_unified:
        draft.say("together.unified", gpu=card.name, importance=HEAD)
    if any(is_language(report) for report in reports):
        draft.say("together.pool")
    return draft.finish(verdict, memory=memory, intent="fit_check")


def _say_sum(
    draft: Draft, reports: list[MemoryReport], card: GpuReport, usable: int | None
) -> tuple[Verdict, MemoryRange]:
    """All needs together against the card."""
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
    scope: Literal["unified", "per_gpu"] = "unified" if card.is_unified else "per_gpu"
    memory = MemoryRange(scope=scope, low_bytes=low, high_bytes=high, usable_bytes=usable)
    return verdict, memory


def _alike(draft: Draft, count: int) -> Steps:
    """Copies of one model, or models of one size: so many times the need of one."""
    slots = draft.request.slots
    is_narrow = slots.quantization in _IN_FOUR
    forms: list[dict[str, Any]] = [{}]
    if not is_narrow:
        forms.append({"quantization": "int4", "precision": None})
    calls = [Call("estimate_memory", memory_arguments(slots, task="infer", **form))
             for form in forms]  # fmt: skip
    results = yield (*calls, Call("find_gpu", {"name": slots.gpu, "memory_gb": slots.gpu_mem_gb}))
    draft.use(*results)
    reports = [r.report for r in results if isinstance(r.report, MemoryReport)]
    card = results[-1].report
    if not reports or not isinstance(card, GpuReport):
        draft.add(next((r.hint for r in results if r.hint), ""), importance=HEAD)
        return draft.finish("not_applicable")
    one = reports[0]
    usable = _usable(draft, reports, card, slots)
    verdict, memory = _say_sum(draft, [one] * count, card, usable)
    draft.figure("count", count, "1", sources=("user:side_by_side",))
    draft.say("together.alike", count=count, what=run_text(draft, one), each=gib(one.process_bytes),
              weights=gib(one.weights_bytes), cache=gib(one.kv_cache_bytes),
              importance=HEAD)  # fmt: skip
    if verdict == "does_not_fit" and usable is not None and len(reports) > 1:
        verdict = _in_four(draft, reports[1].process_bytes, count, usable)
    if usable is not None:
        held = max(0, usable // one.process_bytes)
        draft.figure("held", held, "1", formula="usable / need of one")
        draft.say("together.held", held=held, gpu=card.name)
    draft.say("together.shares", share=f"{_PART / count:.2f}", count=count)
    draft.figure("share_of_each", round(_PART / count, 2), "1", formula="0.95 / count")
    say_assumptions(draft, one)
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


def _in_four(draft: Draft, each: int, count: int, usable: int) -> Verdict:
    """What all take in 4-bit weights; open where those fit and no format was said."""
    fits = each * count <= usable
    draft.figure("in_four_together", each * count, "B", formula="need of one in 4 bit * count")
    word = draft.phrase(f"memory.outcome_{'fits' if fits else 'does_not_fit'}")
    draft.say("together.in_four", count=count, each=gib(each), need=gib(each * count),
              outcome=word, importance=HEAD)  # fmt: skip
    slots = draft.request.slots
    return "depends" if fits and not (slots.quantization or slots.precision) else "does_not_fit"
