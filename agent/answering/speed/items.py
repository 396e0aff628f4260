"""Time and rate of models that write no text: images, texts to encode, speech to transcribe."""

from __future__ import annotations

import math
import re
from collections.abc import Generator
from typing import Any

from agent.answer import Answer, AssumptionOut, Verdict
from agent.answering.plan import Call, Context, Plan
from agent.answering.speed import item_work, times
from agent.answering.speed.decode import asks_speed
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

_LIVE = re.compile(
    r"real[- ]?time|live|streaming|streams?(?![a-z])|实时|流式|直播|边说边|字幕|同传"
    r"|路(?:语音|音频|通话|电话)|路.{0,6}(?:识别|转写)"
    r"|(?:calls|callers) (?:at once|at a time|concurrently)",
    re.IGNORECASE,
)
_CHUNK_S = 5.0
"""Seconds of audio after which a stream is transcribed again, where none were said."""
_WINDOW_S = 30.0
"""Audio that a pass of Whisper always computes, padded where there is less."""
_MOST_BATCH = 16
_INTENTS = ("time_estimate", "serving_plan", "cost_estimate")
Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], Answer]


def applies(request: Request, context: Context) -> bool:
    """True for a model that is timed in items, on a card that was named."""
    is_set = item_work.is_time_of_set(request)
    request = item_work.completed(request)
    slots = request.slots
    if slots.model is None or not slots.has_card or slots.step_s is not None:
        return False
    is_rate = slots.request_rate_per_s is not None
    if slots.models is not None or slots.gpus is not None or (request.goal and not is_rate):
        return False
    if is_live(request):
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


def is_live(request: Request) -> bool:
    """Whether several streams of speech are to be followed as they are spoken."""
    slots = request.slots
    is_many = (slots.concurrency or 0) > 1 and slots.task != "train"
    is_speech = is_many and slots.model is not None and kind_of(slots.model) == "speech"
    return is_speech and _LIVE.search(request.search_query) is not None


def _work(request: Request) -> float | None:
    """Items that were said."""
    slots = request.slots
    amount = slots.samples or slots.rows
    if not amount and slots.task == "train" and slots.steps:
        amount = slots.steps * (slots.batch or 1)
    return float(amount) if amount and amount > 1 else None


def compose(request: Request, context: Context) -> Plan:
    """The rate, then the time of the work, the cards for a rate, or the streams that keep up."""
    asked, request = request, item_work.completed(request)
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    _record_work(draft, asked)
    if is_live(request):
        return (yield from _live(draft))
    slots = request.slots
    results = yield (Call("item_speed", _arguments(draft)), times.types_call(draft))
    draft.use(*results)
    report = results[0].report
    if not isinstance(report, ItemReport):
        return times.cannot(draft, results[0])
    _say_rate(draft, report)
    hours = _say_hours(draft, report)
    if slots.request_rate_per_s is not None and slots.task != "train":
        _say_need(draft, report, slots.request_rate_per_s)
    held = Found("depends", None, None)
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
    """The images of a data set that was named, or what makes a daily count a rate."""
    known = item_work.data_set_of(asked)
    if known is not None:
        draft.figure("images_of_the_set", known.samples, "1", sources=(known.source,))
        why = "training images of the data set, by its publisher"
        draft.assume([AssumptionOut(name="samples", value=known.samples, unit="1", why=why)])
    elif item_work.is_daily(asked):
        amount = asked.slots.samples or asked.slots.rows or 0
        draft.figure("requests_a_day", amount, "1", sources=("user:samples",))
        draft.figure("seconds_of_a_day", 86_400, "s", formula="24 * 3600")
        rate = draft.request.slots.request_rate_per_s or 0
        draft.figure("mean_rate", rate, "1/s", formula="requests_a_day / seconds_of_a_day")
        draft.say("items.daily", amount=count(amount, draft.language),
                  rate=format_significant(rate, 3), importance=HEAD)  # fmt: skip


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
    need = slots.request_rate_per_s
    is_short = need is not None and need > report.per_s.low
    verdict = "depends" if is_short and verdict == "fits" else verdict
    return Found(verdict, memory_range(memory), memory)


def _same_clip(report: ItemReport) -> dict[str, Any]:
    """The pixels and frames that the time was told for: side of the square with as many pixels."""
    if report.size is None:
        return {}
    width, _, height = report.size.partition("x")
    return {"img_size": round((int(width) * int(height)) ** 0.5), "frames": report.frames}


def _arguments(draft: Draft, **changes: Any) -> dict[str, Any]:
    slots = draft.request.slots
    said: dict[str, Any] = {
        "model": slots.model, "params_b": slots.params_b, "gpu": slots.gpu,
        "task": "train" if slots.task == "train" else "infer", "gpu_count": slots.gpu_count or 1,
        "precision": slots.precision, "quantization": slots.quantization,
        "framework": slots.framework or slots.library, "batch": slots.batch,
        "image_px": slots.img_size, "tokens": slots.tokens_per_sample or slots.seq_len,
        "frames": slots.frames, "denoising_steps": None if slots.task == "train" else slots.steps,
        **changes,
    }  # fmt: skip
    return {name: value for name, value in said.items() if value is not None}


def _cards(draft: Draft) -> str:
    slots = draft.request.slots
    return f"{slots.gpu_count}×{slots.gpu}" if (slots.gpu_count or 1) > 1 else str(slots.gpu)


def _told(rate: Range) -> dict[str, str]:
    return {
        "rate": whole(rate.value), "low": whole(rate.low), "high": whole(rate.high),
    }  # fmt: skip


def _say_rate(draft: Draft, report: ItemReport) -> None:
    rate, gpu = report.per_s, _cards(draft)
    for name in ("value", "low", "high"):
        draft.figure(f"{report.kind} per s {name}", getattr(rate, name), "1/s",
                     formula="item_speed")  # fmt: skip
        told = float(whole(getattr(rate, name)))
        draft.figure(
            f"{report.kind} per s {name}, as told", told, "image/s", formula="whole numbers"
        )
    for name, value in (("each", 1 / rate.value), ("slow", 1 / rate.low), ("fast", 1 / rate.high)):
        draft.figure(f"seconds {name}", value, "s", formula="1 / rate")
    if report.kind == "image" and draft.request.slots.task == "train":
        draft.say("items.trained", gpu=gpu, **_told(rate), importance=HEAD)
    elif report.kind == "image":
        _say_images(draft, report, gpu)
    elif report.kind == "video":
        _say_videos(draft, report, gpu)
    elif report.kind == "text":
        tokens = next((a.value for a in report.assumptions if a.name == "tokens"), None)
        slots = draft.request.slots
        tokens = tokens or slots.tokens_per_sample or slots.seq_len
        draft.figure("tokens_of_a_text", int(tokens or 0), "token", formula="given or assumed")
        draft.say("items.texts", gpu=gpu, tokens=tokens, **_told(rate), importance=HEAD)
    else:
        minutes = 60 / rate.value
        draft.figure("minutes_for_an_hour", minutes, "min", formula="60 / rate")
        draft.say("items.speech", gpu=gpu, minutes=format_significant(minutes, 2),
                  rtf=format_significant(1 / rate.value, 2), importance=HEAD, **_told(rate)
                  )  # fmt: skip


def _say_images(draft: Draft, report: ItemReport, gpu: str) -> None:
    rate = report.per_s
    steps = ""
    if report.denoising_steps is not None:
        draft.figure("denoising_steps", report.denoising_steps, "1", formula="given or assumed")
        steps = draft.phrase("items.steps", value=report.denoising_steps)
    each = format_significant(1 / rate.value, 2)
    if rate.value >= 1:
        draft.say("items.images", gpu=gpu, each=each, steps=steps, **_told(rate), importance=HEAD)
        return
    draft.figure("images_a_minute", rate.value * 60, "1", formula="rate * 60")
    pace = ""
    if report.denoising_steps:
        value = report.denoising_steps * rate.value
        draft.figure("steps_per_s", value, "1/s", formula="denoising steps * rate")
        pace = draft.phrase("items.pace", value=format_significant(value, 2))
    draft.say("items.images_slow", gpu=gpu, each=each, pace=pace,
              fast=format_significant(1 / rate.high, 2),
              slow=format_significant(1 / rate.low, 2), steps=steps,
              minute=format_significant(rate.value * 60, 2), importance=HEAD)  # fmt: skip


def _rate_of_one(report: ItemReport, cards: int) -> float:
    """Videos per second of one card."""
    return report.per_s.value / cards


def _say_videos(draft: Draft, report: ItemReport, gpu: str) -> None:
    """Minutes of one video on one card."""
    cards = draft.request.slots.gpu_count or 1
    told = {}
    for name, rate in (("each", report.per_s.value), ("fast", report.per_s.high),
                       ("slow", report.per_s.low)):  # fmt: skip
        draft.figure(f"minutes {name}", cards / rate / 60, "min", formula="cards / rate / 60")
        told[name] = duration(cards / rate / 3600, draft.language)
    draft.figure("denoising_steps", report.denoising_steps or 0, "1", formula="given or assumed")
    draft.figure("frames", report.frames or 0, "1", formula="given or assumed")
    draft.say("items.videos", gpu=draft.request.slots.gpu, steps=report.denoising_steps,
              size=report.size, frames=report.frames, importance=HEAD, **told)  # fmt: skip
    if report.shared_s is not None:
        shared = report.shared_s
        share = 1 / (shared.value * _rate_of_one(report, cards))
        draft.figure("minutes shared", shared.value / 60, "min", formula="item_speed")
        draft.figure("share kept, %", 100 * share / cards, "%", formula="one / (cards * shared)")
        draft.say("items.videos_shared", cards=cards, gpu=draft.request.slots.gpu,
                  each=duration(shared.value / 3600, draft.language),
                  fast=duration(shared.low / 3600, draft.language),
                  slow=duration(shared.high / 3600, draft.language),
                  link="NVLink" if report.link == "nvlink" else "PCIe",
                  kept=whole(100 * share / cards), importance=HEAD)  # fmt: skip


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
    if cards > 1:  # every card does its batch at the same time
        hours = Range(value=hours.value * cards, low=hours.low * cards, high=hours.high * cards)
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
    draft.figure("rate_needed", need, "1/s", sources=("user:request_rate_per_s",))
    draft.figure("cards", cards, "1", formula="rate_needed / rate of a card, rounded up")
    draft.say("items.need", need=f"{need:g}", gpu=draft.request.slots.gpu, cards=cards,
              rate=whole(each), importance=HEAD)  # fmt: skip


# ---- live speech


def _live(draft: Draft) -> Steps:
    """Streams that keep up: windows a second times the seconds between two passes."""
    slots = draft.request.slots
    streams = slots.concurrency or 1
    batch = slots.batch or min(streams, _MOST_BATCH)
    form = slots.quantization or slots.precision
    results = yield (
        Call("item_speed", _arguments(draft, batch=batch, gpu_count=1)),
        Call("estimate_memory", memory_arguments(
            slots, task="infer", quantization=form, precision=None, with_changes=False,
            concurrency=batch)),
    )  # fmt: skip
    draft.use(*results)
    report, memory = results[0].report, results[1].report
    if not isinstance(report, ItemReport):
        return times.cannot(draft, results[0])
    rate = report.per_s
    live = {n: getattr(rate, n) / _WINDOW_S * _CHUNK_S for n in ("value", "low", "high")}
    for name in ("value", "low", "high"):
        draft.figure(f"times real time {name}", getattr(rate, name), "1", formula="item_speed")
        draft.figure(f"streams {name}", live[name], "1",
                     formula="times real time / window * chunk")  # fmt: skip
    for name, value in (("chunk", _CHUNK_S), ("window", _WINDOW_S)):
        draft.figure(name, value, "s", formula="assumed")
    why = "no chunk length was said; live captions are refreshed every few seconds"
    draft.assume([AssumptionOut(name="chunk_s", value=_CHUNK_S, unit="s", why=why)])
    draft.assume(report.assumptions)
    draft.figure("streams_asked", streams, "1", sources=("user:concurrency",))
    draft.say("items.streams", streams=streams, gpu=slots.gpu, chunk=f"{_CHUNK_S:g}",
              live=format_significant(live["value"], 2),
              live_low=format_significant(live["low"], 2),
              live_high=format_significant(live["high"], 2), importance=HEAD, **_told(rate)
              )  # fmt: skip
    held = (slots.gpu_count or 1) * live["value"]
    if streams <= held:
        draft.say("items.streams_ok", streams=streams, chunk=f"{_CHUNK_S:g}", importance=BODY)
    else:
        cards = math.ceil(streams / live["value"])
        draft.figure("cards", cards, "1", formula="streams / streams of a card, rounded up")
        draft.say("items.streams_short", chunk=f"{_CHUNK_S:g}", cards=cards, gpu=slots.gpu)
    if isinstance(memory, MemoryReport) and memory.usable_bytes is not None:
        told = f" ({form})" if form else ""
        draft.say("items.streams_memory", format=told, need=gib(memory.process_bytes),
                  usable=gib(memory.usable_bytes))  # fmt: skip
    return draft.finish("depends", intent="serving_plan")
