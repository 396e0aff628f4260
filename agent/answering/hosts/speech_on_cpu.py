"""Transcription on a processor: times real time, and how that holds against a GPU."""

from __future__ import annotations

from typing import Any

from agent.answer import AssumptionOut
from agent.answering.plan import Call, Context, Plan
from agent.answering.speed.times import cannot
from agent.answering.telling.draft import DETAIL, HEAD, Draft
from agent.answering.telling.numbers import duration
from agent.request import Request
from agent.toolbox.items import ItemReport, kind_of
from tools.units import format_significant

_CORES = 8
"""Cores of a desktop or a small cloud machine, where none were said."""
_PROGRAM, _FORMAT = "faster-whisper", "int8"


def applies(request: Request, context: Context) -> bool:
    """True for a speech model that is to run on a processor."""
    slots = request.slots
    if slots.model is None or slots.task == "train" or slots.has_card:
        return False
    is_on_cpu = slots.gpu == "none" or (slots.vcpu is not None and slots.instance is None)
    is_on_cpu = is_on_cpu or request.says("hosts.on_cpu", "hosts.no_card")
    return is_on_cpu and kind_of(slots.model) == "speech"


def compose(request: Request, context: Context) -> Plan:
    """How many times real time it is, the time of what was said, and when a GPU is worth it."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    slots = request.slots
    cores = slots.vcpu or _CORES
    said: dict[str, Any] = {
        "model": slots.model, "gpu": f"CPU {cores} cores",
        "framework": slots.framework or slots.library or _PROGRAM,
        "quantization": slots.quantization or (None if slots.precision else _FORMAT),
        "precision": slots.precision, "batch": slots.batch,
    }  # fmt: skip
    said = {name: value for name, value in said.items() if value is not None}
    results = yield (Call("item_speed", said),)
    draft.use(*results)
    report = results[0].report
    if not isinstance(report, ItemReport):
        return cannot(draft, results[0])
    _say(draft, report, cores, str(said["framework"]))
    if slots.vcpu is None:
        why = "no processor was said; a desktop or a small machine"
        draft.assume([AssumptionOut(name="vcpu", value=cores, unit="1", why=why)])
    draft.assume(report.assumptions)
    return draft.finish("depends" if report.per_s.low < 1 else "fits")


def _say(draft: Draft, report: ItemReport, cores: int, program: str) -> None:
    rate, slots = report.per_s, draft.request.slots
    level = "fast" if rate.low >= 1 else "maybe" if rate.value >= 1 else "slow"
    told = {}
    for name in ("value", "low", "high"):
        value = float(format_significant(getattr(rate, name), 2))
        draft.figure(f"times real time {name}", value, "1", formula="item_speed")
        told[name] = f"{value:g}"
    for name, seconds in (("usual", 1 / rate.value), ("fast", 1 / rate.high),
                          ("slow", 1 / rate.low)):  # fmt: skip
        draft.figure(f"time of an hour {name}", seconds, "h", formula="1 / times real time")
        told[f"{name}_hour"] = duration(seconds, draft.language)
    draft.figure("cores", cores, "1", sources=("user:vcpu" if slots.vcpu else "rule:desktop",))
    model = str(slots.model).rsplit("/", 1)[-1]
    draft.say(f"speech_on_cpu.{level}", importance=HEAD, model=model, cores=cores,
              program=program, **told)  # fmt: skip
    if slots.hours is not None:
        hours = slots.hours / rate.value
        draft.figure("hours of audio", slots.hours, "h", sources=("user:hours",))
        draft.figure("hours of work", hours, "h", formula="audio / times real time")
        draft.say("speech_on_cpu.work", audio=f"{slots.hours:g}", importance=HEAD,
                  hours=duration(hours, draft.language))  # fmt: skip
    draft.say("speech_on_cpu.gpu")
    draft.say("speech_on_cpu.check", importance=DETAIL)
