"""Different cards in one machine or cluster: what sets the pace, and whose memory counts."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

from agent.answer import Answer, MemoryRange, Verdict
from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import BODY, DETAIL, HEAD, Draft
from agent.answering.telling.numbers import gib
from agent.answering.telling.run_words import (
    joined,
    memory_arguments,
    memory_range,
    method_name,
    outcome,
    short_model,
)
from agent.request import Request, Slots
from agent.toolbox import ToolResult
from agent.toolbox.memory import MemoryReport
from agent.toolbox.registries import GpuReport
from tools.memory import GGUF_ENGINES
from tools.units import format_significant

_INTENTS = ("fit_check", "multi_gpu_plan", "serving_plan", "concept", "network_distributed")
_GGUF = ("q2", "q3", "q4", "q5", "q6", "q8", "iq", "gguf")
_BF16_FROM = 8.0
"""Compute capability from which a card computes in bf16."""
_HOLDS = ("fits", "tight")
Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], Answer]


class _Kind(NamedTuple):
    """Cards of one kind among the others."""

    number: int
    card: GpuReport

    @property
    def usable(self) -> int:
        return self.card.usable_bytes or 0

    @property
    def label(self) -> float:
        return self.card.memory_label_gb or 0.0


def applies(request: Request, context: Context) -> bool:
    """True for two or more different cards that are to work on one job."""
    slots = request.slots
    if slots.gpus is None or len(slots.gpus) < 2 or slots.instances is not None:
        return False
    if request.says("links.mixed", "links.mixed_sum"):
        return request.intent in (*_INTENTS, "gpu_compare") and not request.says("links.instead")
    return request.says("links.mixed_plus") and request.intent in _INTENTS


def counted(named: str) -> tuple[int, str]:
    """Count and name of a card as `Slots.gpus` writes them.

    >>> counted("2xGeForce RTX 3090"), counted("Tesla T4")
    ((2, 'GeForce RTX 3090'), (1, 'Tesla T4'))
    """
    count, _, name = named.partition("x")
    return (int(count), name) if count.isdigit() else (1, named)


def compose(request: Request, context: Context) -> Plan:
    """Training waits for the slower card; served layers are dealt out by memory."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    named = [counted(gpu) for gpu in request.slots.gpus or ()]
    results = yield tuple(Call("find_gpu", {"name": name}) for _, name in named)
    draft.use(*results)
    kinds = [
        _Kind(count, result.report)
        for (count, _), result in zip(named, results, strict=True)
        if isinstance(result.report, GpuReport) and result.report.usable_bytes
    ]
    if len(kinds) < 2:
        draft.add(next((r.hint for r in results if r.hint), ""), importance=HEAD)
        return draft.finish("depends", intent="multi_gpu_plan")
    for kind in kinds:
        draft.figure(f"{kind.card.name}: memory", kind.label, "GB", sources=(kind.card.source,))
    is_trained = request.slots.task is None and request.says("links.data_parallel")
    if request.slots.task == "train" or is_trained:
        return (yield from _training(draft, kinds))
    return (yield from _serving(draft, kinds))


def _settings(slots: Slots, kind: _Kind, *, count: int, stage: int | None) -> dict[str, object]:
    return memory_arguments(slots, gpu=kind.card.name, gpu_count=count, zero_stage=stage,
                            strategy=None, gpu_mem_gb=None, instance=None)  # fmt: skip


def _smallest(kinds: list[_Kind]) -> _Kind:
    """The card with the least memory; of equals the slower."""
    return min(kinds, key=lambda kind: (kind.label, kind.card.bf16_tflops or 0.0))


# ---- training


def _training(draft: Draft, kinds: list[_Kind]) -> Steps:
    slots = draft.request.slots
    total = sum(kind.number for kind in kinds)
    smallest = _smallest(kinds)
    verdict: Verdict = "depends"
    memory: MemoryRange | None = None
    if slots.has_model:
        results = yield (
            Call("estimate_memory", _settings(slots, smallest, count=1, stage=None)),
            Call("estimate_memory", _settings(slots, smallest, count=total, stage=3)),
        )
        draft.use(*results)
        copy, shard = results[0].report, results[1].report
        if isinstance(copy, MemoryReport) and isinstance(shard, MemoryReport):
            is_sharded = slots.zero_stage == 3 or slots.strategy == "fsdp"
            taken = shard if is_sharded or copy.verdict not in _HOLDS else copy
            verdict = taken.verdict or "depends"
            memory = memory_range(taken)
            _say_copies(draft, copy, shard, smallest, total, is_sharded=is_sharded)
        else:
            draft.add(results[0].hint or "", importance=HEAD)
    else:
        draft.say("mixed_cards.train", importance=HEAD)
    _say_pace(draft, kinds, total)
    _say_precision(draft, kinds)
    draft.say("mixed_cards.link", importance=DETAIL)
    return draft.finish(verdict, memory=memory, intent="multi_gpu_plan")


def _say_copies(
    draft: Draft,
    copy: MemoryReport,
    shard: MemoryReport,
    smallest: _Kind,
    total: int,
    *,
    is_sharded: bool,
) -> None:
    """Whether the smallest card holds a copy, or its share of one."""
    holds, shares = copy.verdict in _HOLDS, shard.verdict in _HOLDS
    key = "sharded" if is_sharded else "ddp" if holds else "ddp_short"
    if not shares and not (holds and not is_sharded):
        key = "none"
    draft.figure("cards", total, "1", sources=("user:gpus",))
    draft.say(
        f"mixed_cards.{key}", method=method_name(draft, copy.method or "full"),
        model=short_model(copy), need=gib(copy.process_bytes),
        card=smallest.card.name, usable=gib(smallest.usable), share=gib(shard.process_bytes),
        outcome=outcome(draft, copy if key == "ddp" else shard), total=total, importance=HEAD,
    )  # fmt: skip
    draft.assume((copy if key == "ddp" else shard).assumptions)


def _tflops(kind: _Kind, *, is_half: bool) -> float | None:
    return kind.card.fp16_tflops if is_half else kind.card.bf16_tflops


def _say_pace(draft: Draft, kinds: list[_Kind], total: int) -> None:
    """A step lasts as long as on the slowest card: what that leaves of the fastest."""
    is_half = any((kind.card.compute_capability or 0) < _BF16_FROM for kind in kinds)
    rated = [(rate, kind) for kind in kinds if (rate := _tflops(kind, is_half=is_half))]
    if len(rated) < len(kinds):
        draft.say("mixed_cards.pace_open", importance=HEAD)
        return
    slow, slowest = min(rated, key=lambda pair: pair[0])
    fast, fastest = max(rated, key=lambda pair: pair[0])
    even, whole = slow * total, sum(rate * kind.number for rate, kind in rated)
    alone = fast * fastest.number
    for name, value in ((slowest.card.name, slow), (fastest.card.name, fast)):
        draft.figure(f"{name}: peak", value, "TFLOPS", sources=(fastest.card.source,))
    draft.figure("cards of the job", total, "1", sources=("user:gpus",))
    draft.figure("even shares", round(even, 1), "TFLOPS", formula="cards * slowest peak")
    draft.figure("shares by speed", round(whole, 1), "TFLOPS", formula="sum of peaks")
    draft.figure("fastest alone", round(alone, 1), "TFLOPS", formula="its cards * its peak")
    times = even / alone
    draft.figure("even against alone", round(times, 2), "1", formula="even shares / fastest alone")
    key = "pace_same" if slow == fast else "pace_pays" if times > 1 else "pace_loses"
    draft.say(f"mixed_cards.{key}", slow=slowest.card.name, fast=fastest.card.name,
              slow_rate=_told(slow), fast_rate=_told(fast), even=_told(even), alone=_told(alone),
              whole=_told(whole), times=f"{times:.2f}", total=total, count=fastest.number,
              importance=HEAD)  # fmt: skip


def _told(value: float) -> str:
    return format_significant(value, 3)


def _say_precision(draft: Draft, kinds: list[_Kind]) -> None:
    """All compute in one precision: bf16 only where every card has it."""
    old = [k.card.name for k in kinds if (k.card.compute_capability or 0) < _BF16_FROM]
    if old and len(old) < len(kinds):
        draft.say("mixed_cards.old", cards=joined(draft, old), importance=BODY)


# ---- serving


def _serving(draft: Draft, kinds: list[_Kind]) -> Steps:
    slots = draft.request.slots
    total = sum(kind.number for kind in kinds)
    smallest = _smallest(kinds)
    together = sum(kind.usable * kind.number for kind in kinds)
    even = smallest.usable * total
    draft.figure("cards", total, "1", sources=("user:gpus",))
    draft.figure("usable together", together, "B", formula="sum of usable memory")
    draft.figure("usable in even shares", even, "B", formula="cards * smallest usable")
    values = {"together": gib(together), "even": gib(even), "total": total,
              "card": smallest.card.name}  # fmt: skip
    verdict: Verdict = "depends"
    memory: MemoryRange | None = None
    if slots.has_model:
        bare = memory_arguments(slots, gpu_count=1, gpu=None, gpu_mem_gb=None, instance=None,
                                tp=None, pp=None)  # fmt: skip
        results = yield (Call("estimate_memory", bare),)
        draft.use(*results)
        report = results[0].report
        if isinstance(report, MemoryReport):
            is_even = _is_even(draft, report)
            verdict = _verdict(report, even if is_even else together)
            memory = MemoryRange(scope="total", low_bytes=report.low_bytes,
                                 high_bytes=report.high_bytes,
                                 usable_bytes=together)  # fmt: skip
            draft.assume(report.assumptions)
            key = "even" if is_even and verdict == "does_not_fit" else verdict
            draft.say(f"mixed_cards.serve_{key}", model=short_model(report),
                      need=gib(report.process_bytes), **values, importance=HEAD)  # fmt: skip
        else:
            draft.add(results[0].hint or "", importance=HEAD)
    else:
        draft.say("mixed_cards.serve", **values, importance=HEAD)
    _say_layers(draft, kinds)
    draft.say("mixed_cards.tensor", **values, importance=HEAD)
    _say_precision(draft, kinds)
    return draft.finish(verdict, memory=memory, intent="multi_gpu_plan")


def _is_even(draft: Draft, report: MemoryReport) -> bool:
    """Whether every card is to get the same share: tensor parallelism, and no dealing of layers."""
    is_dealt = (report.weight_format or "").startswith(_GGUF)
    is_dealt = is_dealt or draft.request.slots.framework in GGUF_ENGINES
    is_said = (draft.request.slots.tp or 1) > 1 or draft.request.says("links.tensor_parallel")
    return is_said and not is_dealt


def _verdict(report: MemoryReport, room: int) -> Verdict:
    if report.process_bytes > room:
        return "does_not_fit"
    return "fits" if report.high_bytes <= room else "tight"


def _say_layers(draft: Draft, kinds: list[_Kind]) -> None:
    """Shares by memory, and the bandwidth that a token meets on its way through the cards."""
    labels = [kind.label for kind in kinds for _ in range(kind.number)]
    split = ",".join(f"{label:g}" for label in labels)
    rates = [kind.card.mem_bandwidth_gbs for kind in kinds]
    draft.say("mixed_cards.layers", split=split, importance=HEAD)
    known = [rate for rate in rates if rate]
    if len(known) < len(kinds):
        return
    whole = sum(kind.label * kind.number for kind in kinds)
    mean = whole / sum(k.label * k.number / (k.card.mem_bandwidth_gbs or 1.0) for k in kinds)
    for kind, rate in zip(kinds, known, strict=True):
        draft.figure(f"{kind.card.name}: bandwidth", rate, "GB/s", sources=(kind.card.source,))
    draft.figure("bandwidth on the way", round(mean, 1), "GB/s",
                 formula="memory / sum of memory over bandwidth")  # fmt: skip
    draft.say("mixed_cards.layers_speed", mean=_told(mean), low=_told(min(known)),
              high=_told(max(known)))  # fmt: skip
