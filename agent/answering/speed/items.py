"""Time and rate of models that write no text: images, texts to encode, speech to transcribe."""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Any

from agent.answer import Answer, AssumptionOut, Verdict
from agent.answering.links import loading
from agent.answering.plan import Call, Context, Plan
from agent.answering.speed import item_work, times
from agent.answering.speed.decode import asks_speed
from agent.answering.speed.item_rates import item_arguments, say_rate
from agent.answering.speed.item_rates import told as rate_told
from agent.answering.speed.live_speech import compose_live, is_live
from agent.answering.telling.draft import BODY, DETAIL, HEAD, Draft
from agent.answering.telling.found import Found
from agent.answering.telling.numbers import count, duration, gib, whole
from agent.answering.telling.run_words import memory_arguments, memory_range, outcome
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.items import ItemReport, kind_of
from agent.toolbox.memory import MemoryReport
from agent.toolbox.ranges import Range
from agent.toolbox.timing import TimeReport
from tools.units import format_significant

_INTENTS = ("time_estimate", "serving_plan", "cost_estimate")
Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], Answer]


def applies(request: Request, context: Context) -> bool:
    """True for a model that is timed in items, on a card that was named."""
    is_set = item_work.is_time_of_set(request)
    request = item_work.completed(request)
    slots = request.slots
    if slots.model is None or not slots.has_card or slots.step_s is not None:
        return False
    if loading.feeds_told(request):
        return False
    is_rate = slots.request_rate_per_s is not None
    if slots.models is not None or slots.gpus is not None or (request.goal and not is_rate):
        return False
    if is_live(request) or item_work.is_daily_audio(request):
        return True
    is_asked = request.intent in _INTENTS or (is_set and request.intent == "fit_check")
    is_rate = is_rate or asks_speed(request)
    is_asked = is_asked or (is_rate and request.intent in ("multi_gpu_plan", "fit_check"))
    if not is_asked or (request.intent == "cost_estimate" and not _work(request)):
        return False
    kind = kind_of(slots.model)
    if kind == "text":
        return slots.task != "train" and (bool(_work(request)) or slots.concurrency is None)
    return kind is not None and (kind == "image" or slots.task != "train")


def _work(request: Request) -> float | None:
    """Items that were said; every card does a batch of its own in each step."""
    slots = request.slots
    amount = slots.samples or slots.rows
    if not amount and slots.task == "train" and slots.steps:
        amount = slots.steps * (slots.global_batch or (slots.batch or 1) * (slots.gpu_count or 1))
    return float(amount) if amount and amount > 1 else None


def compose(request: Request, context: Context) -> Plan:
    """The rate, then the time of the work, the cards for a rate, or the streams that keep up."""
    asked, request = request, item_work.completed(request)
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    _record_work(draft, asked)
    if is_live(request):
        return (yield from compose_live(draft))
    slots = request.slots
    results = yield (Call("item_speed", item_arguments(draft)), times.types_call(draft))
    draft.use(*results)
    report = results[0].report
    if not isinstance(report, ItemReport):
        return times.cannot(draft, results[0])
    say_rate(draft, report)
    hours = _say_hours(draft, report)
    need = item_work.load(request)
    if need is not None and slots.task != "train":
        _say_need(draft, report, need)
    held = Found("depends", None, None)
    if report.kind == "speech" and (yield from _say_speech(draft, report)):
        held = Found("fits", None, None)
    if slots.task != "train" and hours is None:
        held = yield from _say_memory(draft, report)
    if hours is not None:
        yield from times.say_cost(draft, _timed(draft, hours), results[1])
    if report.kind == "image":
        draft.say("items.fed", importance=DETAIL)
    elif report.kind == "text":
        draft.say("items.texts_mind", importance=DETAIL)
    draft.assume(report.assumptions)
    return draft.finish(held.verdict, memory=held.memory,
                        intent="time_estimate" if hours else None)  # fmt: skip


def _record_work(draft: Draft, asked: Request) -> None:
    """The images of a data set that was named, or what makes a load a rate of items."""
    known = item_work.data_set_of(asked)
    if known is not None:
        draft.figure("images_of_the_set", known.samples, "1", sources=(known.source,))
        why = "training images of the data set, by its publisher"
        draft.assume([AssumptionOut(name="samples", value=known.samples, unit="1", why=why)])
    elif asked.slots.task != "train":
        item_work.record_load(draft, asked)


def _say_memory(
    draft: Draft, report: ItemReport
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], Found]:
    """The memory of the run; it fits where the rate asked for is reached as well."""
    slots = draft.request.slots
    results = yield (
        Call("estimate_memory", memory_arguments(
            slots, task="infer", concurrency=None, **_same_clip(report))),
    )  # fmt: skip
    draft.use(*results)
    memory = results[0].report
    if not isinstance(memory, MemoryReport) or memory.verdict is None:
        return Found("depends", None, None)
    verdict: Verdict = memory.verdict
    if verdict == "does_not_fit" and report.fits_in_8_bit:
        verdict = "depends"
        draft.lead("items.in_8_bit", need=gib(memory.process_bytes),
                   usable=gib(memory.usable_bytes or 0))  # fmt: skip
    elif verdict == "does_not_fit":
        draft.lead("items.does_not_fit", need=gib(memory.process_bytes),
                   usable=gib(memory.usable_bytes or 0))  # fmt: skip
    draft.say("items.memory", need=gib(memory.process_bytes), usable=gib(memory.usable_bytes or 0),
              outcome=outcome(draft, memory), importance=HEAD)  # fmt: skip
    draft.figure("usable", memory.usable_bytes or 0, "B", sources=("data:gpus.csv",))
    need = item_work.load(draft.request)
    is_short = need is not None and need > report.per_s.low
    verdict = "depends" if is_short and verdict == "fits" else verdict
    return Found(verdict, memory_range(memory), memory)


def _same_clip(report: ItemReport) -> dict[str, Any]:
    """The pixels and frames that the time was told for: side of the square with as many pixels."""
    if report.size is None:
        return {}
    width, _, height = report.size.partition("x")
    return {"img_size": round((int(width) * int(height)) ** 0.5), "frames": report.frames}


_WINDOWS_AT_ONCE = 8
"""Windows of 30 s that programs with batched decoding commonly take together."""


def _say_speech(
    draft: Draft, report: ItemReport
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], bool]:
    """What a day's audio asks for, and the rate with several windows decoded at once.

    Returns:
        Whether a day's audio is surely done within the day.
    """
    slots, keeps_up = draft.request.slots, False
    if slots.hours is not None and item_work.is_daily_audio(draft.request):
        need = slots.hours / 24
        key = "in_a_day" if report.per_s.low >= need else "maybe_in_a_day"
        key = key if report.per_s.value >= need else "over_a_day"
        keeps_up = key == "in_a_day"
        draft.figure("times real time needed", need, "1", formula="hours of audio a day / 24")
        draft.say(f"items.{key}", audio=f"{slots.hours:g}", need=format_significant(need, 3),
                  rate=whole(report.per_s.value), importance=HEAD)  # fmt: skip
    if slots.batch is not None:
        return keeps_up
    results = yield (Call("item_speed", item_arguments(draft, batch=_WINDOWS_AT_ONCE)),)
    together = results[0].report
    if isinstance(together, ItemReport) and together.per_s.value > report.per_s.value:
        draft.use(*results)
        for name in ("value", "low", "high"):
            draft.figure(f"batched times real time {name}", getattr(together.per_s, name), "1",
                         formula="item_speed")  # fmt: skip
        draft.figure("windows_at_once", _WINDOWS_AT_ONCE, "1", formula="assumed")
        draft.say("items.speech_batched", importance=BODY, batch=_WINDOWS_AT_ONCE,
                  **rate_told(together.per_s))  # fmt: skip
    return keeps_up


def _say_hours(draft: Draft, report: ItemReport) -> Range | None:
    """Hours of the work that was said; of audio, the hours that were said."""
    slots = draft.request.slots
    amount, rate = _work(draft.request), report.per_s
    told = count(amount or 0, draft.language)
    if report.kind == "speech":
        if slots.hours is None:
            return None
        amount = slots.hours * 3600
        told = f"{slots.hours:,g} {'小时' if draft.language == 'zh' else 'hours'}"
    if amount is None:
        return None
    epochs = slots.epochs or 1 if slots.task == "train" else 1
    hours = Range(
        value=amount * epochs / rate.value / 3600, low=amount * epochs / rate.high / 3600,
        high=amount * epochs / rate.low / 3600,
    )  # fmt: skip
    draft.figure("items", amount, "1", sources=("user:samples",))
    for name in ("value", "low", "high"):
        draft.figure(f"hours {name}", getattr(hours, name), "h", formula="items * epochs / rate")
    key = "items.hours_epochs" if epochs > 1 else "items.hours"
    key = "items.hours_speech" if report.kind == "speech" else key
    steps = slots.steps if slots.task == "train" and not (slots.samples or slots.rows) else None
    if steps and report.kind != "speech":
        return _say_hours_of_steps(draft, hours, rate, steps)
    draft.say(key, hours=duration(hours.value, draft.language), epochs=f"{epochs:g}",
              low=duration(hours.low, draft.language), high=duration(hours.high, draft.language),
              amount=told, rate=whole(rate.value), importance=HEAD)  # fmt: skip
    return hours


def _say_hours_of_steps(draft: Draft, hours: Range, rate: Range, steps: int) -> Range:
    """Time of training steps of a batch each."""
    batch = draft.request.slots.batch or 1
    cards = draft.request.slots.gpu_count or 1
    each = batch * cards / rate.value
    draft.figure("steps", steps, "1", sources=("user:steps",))
    draft.figure("batch", batch, "1", sources=("user:batch",))
    draft.figure("seconds_a_step", each, "s", formula="batch / rate of a card")
    for name in ("value", "low", "high"):
        draft.figure(f"hours of steps {name}", getattr(hours, name), "h",
                     formula="steps * seconds_a_step / 3600")  # fmt: skip
    draft.say("items.hours_steps", hours=duration(hours.value, draft.language),
              low=duration(hours.low, draft.language), high=duration(hours.high, draft.language),
              steps=f"{steps:,}", batch=batch, each=format_significant(each, 2),
              importance=HEAD)  # fmt: skip
    return hours


def _timed(draft: Draft, hours: Range) -> TimeReport:
    """Hours in the form that their cost is reckoned from."""
    slots = draft.request.slots
    return TimeReport(
        gpu=slots.gpu, gpu_count=slots.gpu_count or 1, tokens_per_s_per_gpu=None,
        tokens_per_s=None, stream_tokens_per_s=None, ttft_s=None, mfu=None, hours=hours,
        steps=None, tokens=None, samples=None, cost=None, currency=None, assumptions=(), notes=(),
    )  # fmt: skip


def _say_need(draft: Draft, report: ItemReport, need: float) -> None:
    each = report.per_s.value / max(draft.request.slots.gpu_count or 1, 1)
    cards = math.ceil(need / each)
    draft.figure("rate_needed", need, "1/s", formula="requests a second * items of each")
    draft.figure("cards", cards, "1", formula="rate_needed / rate of a card, rounded up")
    draft.say("items.need", need=f"{need:g}", gpu=draft.request.slots.gpu, cards=cards,
              rate=whole(each), importance=HEAD)  # fmt: skip
