"""How many cards carry so many requests a second, by the size of a replica."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple

from agent.answer import Answer, AssumptionOut
from agent.answering.plan import Call, Context, Plan
from agent.answering.renting.renting import cards_to_rent
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import duration
from agent.answering.telling.run_words import memory_arguments
from agent.request import Request, Slots
from agent.toolbox import ToolResult
from agent.toolbox.fleet import FleetReport
from agent.toolbox.limits import LimitReport
from tools.speed.capacity import MOST_AT_ONCE
from tools.units import format_significant

_SIZES = (1, 2, 4, 8)
"""Cards of a replica, up to a full machine."""
_SHORT = 4
"""Characters of a rate that is told as it is."""
_PROMPT, _OUTPUT = 512, 256
"""Tokens of a short chat turn, where none were said: as speed is reckoned."""
Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], Answer]


class _Fleet(NamedTuple):
    report: FleetReport
    held: int


def applies(request: Request, context: Context) -> bool:
    """True for a language model served at a rate of requests on a card, their number sought."""
    slots = request.slots
    if slots.request_rate_per_s is None or not slots.has_card or not slots.has_model:
        return False
    is_served = slots.task != "train" and slots.items_per_request is None
    is_open = slots.tp is None and (request.goal == "fewest_cards" or slots.gpu_count in (None, 1))
    return is_served and is_open and request.intent in ("serving_plan", "multi_gpu_plan")


def compose(request: Request, context: Context) -> Plan:
    """The fewest cards in all first, then every size of a replica, and what they cost."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    slots = request.slots
    fleets = yield from _fleets(draft)
    if not fleets:
        draft.say("fleet.none", gpu=slots.gpu or "", importance=HEAD)
        return draft.finish("does_not_fit", intent="serving_plan")
    best = min(fleets, key=lambda fleet: (fleet.report.gpus, fleet.report.gpus_per_replica))
    _say_best(draft, best)
    _say_peak(draft)
    _say_table(draft, fleets)
    report = best.report
    draft.say("request_rate.wait", ttft=duration(report.ttft_s.value / 3600, draft.language),
              stream=format_significant(report.stream_tokens_per_s.value, 2))  # fmt: skip
    for name, value in (("input", report.input_len), ("output", report.output_len)):
        draft.figure(name, value, "token", sources=(f"user:{name}_len",))
    _assume_lengths(draft)
    draft.figure("ttft told", report.ttft_s.value, "s", formula="prompt / prefill rate")
    draft.figure("stream", report.stream_tokens_per_s.value, "token/s", formula="decode rate")
    draft.assume(report.assumptions)
    draft.say("request_rate.lengths", input=report.input_len, output=report.output_len)
    yield from cards_to_rent(draft, slots.gpu or "", count=report.gpus_per_replica)
    return draft.finish("not_applicable", intent="serving_plan")


def _fleets(
    draft: Draft,
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], list[_Fleet]]:
    """Each size of a replica that holds the model, with the cards that carry the rate."""
    slots = draft.request.slots
    prompt, output = slots.input_len or _PROMPT, slots.output_len or _OUTPUT
    lengths = {"seq_len": slots.seq_len or prompt + output, "output_len": output}
    arguments = memory_arguments(slots, task="infer", concurrency=None, batch=None) | lengths
    arguments.pop("with_changes")
    limits = yield tuple(
        Call("find_limit", {**arguments, "gpu_count": size, "tp": size, "goal": "most_concurrent"})
        for size in _SIZES
    )
    held = {
        size: report.value
        for size, result in zip(_SIZES, limits, strict=True)
        if isinstance(report := result.report, LimitReport) and report.value
    }
    wanted: dict[str, Any] = {
        "model": slots.model, "params_b": slots.params_b, "quantization": slots.quantization,
        "framework": slots.framework, "gpu": slots.gpu, "input_len": prompt,
        "output_len": output, "requests_per_s": _rate(slots),
        "max_ttft_s": slots.latency_s,
    }  # fmt: skip
    results = yield tuple(
        Call(
            "cards_for_rate", wanted | {"gpus_per_replica": size, "held": min(count, MOST_AT_ONCE)}
        )
        for size, count in held.items()
    )
    draft.use(*results)
    return [
        _Fleet(result.report, count)
        for result, count in zip(results, held.values(), strict=True)
        if isinstance(result.report, FleetReport)
    ]


def _assume_lengths(draft: Draft) -> None:
    slots = draft.request.slots
    said = (("input_len", slots.input_len, _PROMPT), ("output_len", slots.output_len, _OUTPUT))
    draft.assume(
        AssumptionOut(name=name, value=usual, unit="token", why="a short chat turn")
        for name, value, usual in said
        if value is None
    )


def _say_best(draft: Draft, best: _Fleet) -> None:
    report, rate = best.report, _rate(draft.request.slots)
    draft.figure("requests_per_s", rate, "1/s", sources=("user:request_rate",))
    draft.figure("replicas", report.replicas, "1", formula="cards / cards of a replica")
    draft.figure(
        "in flight",
        round(report.in_flight),
        "1",
        formula="requests at which the replicas carry the rate",
    )
    draft.say(
        "request_rate.best", rate=_told(rate), total=report.gpus, low=report.gpus_low,
        high=report.gpus_high, gpu=draft.request.slots.gpu or "", cards=report.gpus_per_replica,
        replicas=report.replicas, flight=f"{report.in_flight:,.0f}", importance=HEAD,
    )  # fmt: skip
    draft.figure("share_low", 30, "%", sources=("data:speed/published user rates",))
    draft.figure("share_high", 60, "%", sources=("data:speed/published user rates",))
    draft.say("request_rate.share", importance=HEAD)


def _rate(slots: Slots) -> float:
    """Requests a second at the busiest time, as far as it was said."""
    return (slots.request_rate_per_s or 0.0) * (slots.peak_factor or 1.0)


def _told(rate: float) -> str:
    """A rate as it was said where it is short, else in three digits."""
    return f"{rate:g}" if len(f"{rate:g}") <= _SHORT else format_significant(rate, 3)


def _say_peak(draft: Draft) -> None:
    """What a count of a day or an hour comes to a second, and how its peak was counted."""
    slots = draft.request.slots
    mean, factor = slots.request_rate_per_s or 0.0, slots.peak_factor
    draft.figure("mean_rate", mean, "1/s", formula="requests / seconds of the time they are of")
    if factor is not None:
        draft.figure("peak_factor", factor, "1", sources=("user:peak_factor",))
        draft.say("request_rate.peak", mean=_told(mean), factor=f"{factor:g}",
                  peak=_told(_rate(slots)), importance=HEAD)  # fmt: skip
    elif slots.rate_is_mean:
        draft.say("request_rate.mean", mean=_told(mean), importance=HEAD)


def _say_table(draft: Draft, fleets: list[_Fleet]) -> None:
    """Every size of a replica that holds the model."""
    rows = []
    for fleet in fleets:
        report = fleet.report
        each = report.requests_per_s_per_replica.value
        rows.append((
            f"{report.gpus_per_replica}", f"{min(fleet.held, MOST_AT_ONCE)}",
            format_significant(each, 2), f"{report.replicas}",
            f"{report.gpus} ({report.gpus_low}–{report.gpus_high})",
        ))  # fmt: skip
        for name, value in (("held", min(fleet.held, MOST_AT_ONCE)), ("cards", report.gpus),
                            ("low", report.gpus_low), ("high", report.gpus_high),
                            ("replicas", report.replicas),
                            ("cards of a replica", report.gpus_per_replica)):  # fmt: skip
            draft.figure(f"{name}, replicas of {report.gpus_per_replica}", value, "1",
                         formula="rate / rate of a replica * share")  # fmt: skip
    names = ("cards", "held", "each", "replicas", "total")
    draft.table([draft.phrase(f"request_rate.head_{name}") for name in names], rows)
