"""One instance over all cards against several copies of it: what each holds, and how fast it is."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

from agent.answer import Verdict
from agent.answering.plan import Call, Context, Plan
from agent.answering.speed.plans import settled_as, valid_sizes
from agent.answering.speed.times import time_arguments
from agent.answering.telling.assumed import say_assumptions
from agent.answering.telling.draft import BODY, HEAD, Draft
from agent.answering.telling.numbers import gib
from agent.answering.telling.parts import say_parts
from agent.answering.telling.run_words import memory_arguments, memory_range, short_model
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.limits import LimitReport
from agent.toolbox.memory import MemoryReport
from agent.toolbox.registries import GpuReport, ModelReport
from agent.toolbox.timing import TimeReport
from tools.units import format_significant

_AT_ONCE = 32
"""Requests at once by which layouts are compared where none were said."""
_NODE = 8
"""GPUs of a full machine: TP across machines is another question."""
_EVEN = 1.15
"""Times by which two speeds may differ and an estimate cannot tell which is faster."""
_INTENTS = ("multi_gpu_plan", "serving_plan", "fit_check", "gpu_compare", "concept")


class _Layout(NamedTuple):
    """So many copies, each over so many cards."""

    copies: int
    tp: int
    limit: LimitReport
    speed: TimeReport | None

    @property
    def held(self) -> int:
        """Requests that one copy holds at once; 0 where it does not fit."""
        return self.limit.value or 0

    @property
    def rate(self) -> float:
        """Tokens per second of all copies together."""
        speed = self.speed.tokens_per_s if self.speed is not None else None
        return speed.value * self.copies if speed is not None and self.held else 0.0


def applies(request: Request, context: Context) -> bool:
    """True where one service over the cards is set against several copies of it."""
    slots = request.slots
    if slots.task == "train" or not (slots.has_model and slots.has_card):
        return False
    if request.intent not in _INTENTS or not 1 < _cards(request) <= _NODE:
        return False
    is_split = slots.tp is not None or request.says("sizing.one_over_all")
    return is_split and request.says("sizing.several_copies") and not request.corrections


def _cards(request: Request) -> int:
    return request.slots.gpu_count or 1


def compose(request: Request, context: Context) -> Plan:
    """The choice by what they hold and how fast they are, then each layout."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    slots, cards = request.slots, _cards(request)
    results = yield (
        Call("find_model", {"name": slots.model, "params_b": slots.params_b}),
        Call("find_gpu", {"name": slots.gpu, "memory_gb": slots.gpu_mem_gb}),
    )
    draft.use(*results)
    layouts = yield from _layouts(draft, _sizes(results[0].report, cards), cards)
    whole = next((layout for layout in layouts if layout.copies == 1), None)
    if whole is None:
        draft.add(results[0].hint or "", importance=HEAD)
        return draft.finish("not_applicable")
    best = _told_choice(draft, layouts, whole)
    draft.bullets([_line(draft, layout) for layout in layouts], importance=HEAD,
                  title=draft.phrase("service_copies.title", cards=cards,
                                     gpu=whole.limit.memory.gpu or slots.gpu))  # fmt: skip
    draft.say("service_copies.why", importance=BODY)
    card = results[1].report
    if isinstance(card, GpuReport) and not card.nvlink:
        draft.say("service_copies.pcie", gpu=card.name, importance=BODY)
    report = best.limit.memory
    say_parts(draft, report)
    say_assumptions(draft, report)
    verdict: Verdict = "depends" if best.held else "does_not_fit"
    return draft.finish(verdict, memory=memory_range(report), slots=settled_as(draft, report))


def _sizes(model: object, cards: int) -> list[int]:
    """Cards of a copy that share the heads evenly and leave no card over, the most first."""
    sizes = range(1, cards + 1)
    if isinstance(model, ModelReport) and model.attention_heads:
        heads = model.attention_heads
        sizes = valid_sizes(heads, model.kv_heads or heads, most=cards)  # type: ignore[assignment]
    return sorted((size for size in {*sizes, cards} if cards % size == 0), reverse=True)


def _layouts(
    draft: Draft, sizes: list[int], cards: int
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], list[_Layout]]:
    """What every layout holds, and its speed under the same load in all."""
    slots = draft.request.slots
    arguments = memory_arguments(slots, task="infer", concurrency=None, batch=None)
    arguments.pop("with_changes", None)
    at_once = slots.concurrency or _AT_ONCE
    limits = yield tuple(
        Call("find_limit", {**arguments, "gpu_count": size, "tp": size, "goal": "most_concurrent"})
        for size in sizes
    )
    speeds = yield tuple(
        Call("estimate_time_and_cost", time_arguments(
            draft, task="infer", gpu_count=size, batch=None,
            concurrency=max(1, round(at_once * size / cards))))
        for size in sizes
    )  # fmt: skip
    draft.use(*limits, *speeds)
    return [
        _Layout(cards // size, size, limit.report,
                speed.report if isinstance(speed.report, TimeReport) else None)
        for size, limit, speed in zip(sizes, limits, speeds, strict=True)
        if isinstance(limit.report, LimitReport)
    ]  # fmt: skip


def _told_choice(draft: Draft, layouts: list[_Layout], whole: _Layout) -> _Layout:
    """The layout to take, with the reason in front."""
    at_once = draft.request.slots.concurrency or _AT_ONCE
    several = [layout for layout in layouts if layout.held and layout is not whole]
    best = max(several, key=lambda layout: layout.rate, default=whole)
    values = {
        "copies": best.copies, "tp": best.tp, "cards": whole.tp, "total": at_once,
        "best": _rate(best.rate), "one": _rate(whole.rate), "model": short_model(_report(whole)),
    }  # fmt: skip
    if not several:
        name = "only" if whole.held else "none"
    elif best.rate > _EVEN * whole.rate:
        name = "copies_alone" if best.tp == 1 else "copies"
    else:
        name = "even" if _EVEN * best.rate >= whole.rate else "one"
    draft.figure("requests_at_once", at_once, "1", formula="of all copies together")
    draft.say(f"service_copies.{name}", importance=HEAD, **values)
    return best if name.startswith("copies") else whole


def _report(layout: _Layout) -> MemoryReport:
    return layout.limit.memory


def _rate(value: float) -> str:
    return f"{float(format_significant(value, 2)):,.0f}"


def _line(draft: Draft, layout: _Layout) -> str:
    report = _report(layout)
    name = f"{layout.copies} x TP={layout.tp}"
    told = {"copies": layout.copies, "tp": layout.tp}
    if not layout.held:
        return draft.phrase("service_copies.line_none", need=gib(report.process_bytes), **told)
    held = {a.name: a.value for a in report.assumptions}
    for key, value in (("copies", layout.copies), ("requests of a copy", layout.held),
                       ("requests in all", layout.held * layout.copies)):  # fmt: skip
        draft.figure(f"{name}: {key}", value, "1", formula="most that fit, times copies")
    speed = ""
    if layout.speed is not None and layout.speed.stream_tokens_per_s is not None:
        stream = layout.speed.stream_tokens_per_s.value
        for key, rate in (("stream", stream), ("all", layout.rate)):
            draft.figure(f"{name}: {key}, as told", float(format_significant(rate, 2)), "token/s",
                         formula="tokens per s; two digits")  # fmt: skip
        speed = draft.phrase("service_copies.speed", stream=_rate(stream), rate=_rate(layout.rate))
    return draft.phrase(
        "service_copies.line", weights=gib(report.weights_bytes), held=layout.held,
        all=layout.held * layout.copies, speed=speed,
        context=draft.request.slots.seq_len or held.get("context_len") or "", **told,
    )  # fmt: skip
