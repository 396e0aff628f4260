"""Speech that is followed as it is spoken: streams that keep up with one card or several."""

from __future__ import annotations

import math
from collections.abc import Generator

from agent.answer import Answer, AssumptionOut
from agent.answering.plan import Call
from agent.answering.speed import times
from agent.answering.speed.item_rates import item_arguments, told
from agent.answering.telling.draft import BODY, HEAD, Draft
from agent.answering.telling.numbers import gib
from agent.answering.telling.run_words import memory_arguments
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.items import ItemReport, kind_of
from agent.toolbox.memory import MemoryReport
from tools.units import format_significant

_CHUNK_S = 5.0
"""Seconds of audio after which a stream is transcribed again, where none were said."""
_WINDOW_S = 30.0
"""Audio that a pass of Whisper always computes, padded where there is less."""
_MOST_BATCH = 16
Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], Answer]


def is_live(request: Request) -> bool:
    """Whether several streams of speech are to be followed as they are spoken."""
    slots = request.slots
    is_many = (slots.concurrency or 0) > 1 and slots.task != "train"
    is_speech = is_many and slots.model is not None and kind_of(slots.model) == "speech"
    return is_speech and request.says("speed.live", "speed.live_lines")


def compose_live(draft: Draft) -> Steps:
    """Streams that keep up: windows a second times the seconds between two passes."""
    slots = draft.request.slots
    streams = slots.concurrency or 1
    batch = slots.batch or min(streams, _MOST_BATCH)
    form = slots.quantization or slots.precision
    results = yield (
        Call("item_speed", item_arguments(draft, batch=batch, gpu_count=1)),
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
              live_high=format_significant(live["high"], 2), importance=HEAD, **told(rate)
              )  # fmt: skip
    held = (slots.gpu_count or 1) * live["value"]
    if streams <= held:
        draft.say("items.streams_ok", streams=streams, chunk=f"{_CHUNK_S:g}", importance=BODY)
    else:
        cards = math.ceil(streams / live["value"])
        draft.figure("cards", cards, "1", formula="streams / streams of a card, rounded up")
        draft.say("items.streams_short", chunk=f"{_CHUNK_S:g}", cards=cards, gpu=slots.gpu)
    if isinstance(memory, MemoryReport) and memory.usable_bytes is not None:
        form = f" ({form})" if form else ""
        draft.say("items.streams_memory", format=form, need=gib(memory.process_bytes),
                  usable=gib(memory.usable_bytes))  # fmt: skip
    return draft.finish("depends", intent="serving_plan")
