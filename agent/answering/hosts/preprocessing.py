"""Data that is cleaned, resized or decoded before a training: a CPU machine, and for how long."""

from __future__ import annotations

from agent.answering.plan import Call, Context, Plan
from agent.answering.renting.renting import default_provider
from agent.answering.telling.draft import BODY, HEAD, Draft
from agent.answering.telling.machines import instance_line, say_price_sources
from agent.answering.telling.numbers import count, duration, money
from agent.answering.telling.sources import guidance_call, passages_in, say_cited
from agent.request import Request
from agent.toolbox.placement import OptionOut, PlacementReport
from tools.units import format_significant

_VCPU = 16
"""Cores that are reckoned with where none were said: a common CPU machine's."""


def applies(request: Request, context: Context) -> bool:
    """True for where, or how long, data is preprocessed apart from any training."""
    slots = request.slots
    is_alone = not slots.has_model and slots.gpu_util_pct is None and slots.gpu_img_s is None
    return is_alone and not request.pasted and request.says("preprocessing.asked")


def compose(request: Request, context: Context) -> Plan:
    """That cores do it, the hours and their cost, the disk, and when a GPU pays after all."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    slots = request.slots
    items = next(iter(request.amounts.get("preprocessing.items", ())), slots.samples)
    vcpu = slots.vcpu or _VCPU
    arguments = {
        "action": "preprocess", "work": "preprocessing", "samples": items, "vcpu": vcpu,
        "provider": default_provider(draft),
    }  # fmt: skip
    results = yield (
        Call("placement", {k: v for k, v in arguments.items() if v is not None}),
        guidance_call(request, k=2, topic="cpu_or_gpu"),
    )
    draft.use(*results)
    draft.say("preprocessing.cpu", importance=HEAD)
    report = results[0].report
    if isinstance(report, PlacementReport) and request.says("preprocessing.work"):
        _say_hours(draft, report, items, vcpu)
        _say_machine(draft, report.cpu)
    draft.say("preprocessing.gpu")
    say_cited(draft, passages_in(results)[:2])
    return draft.finish("not_applicable", intent="ecs_vs_gpu")


def _say_hours(draft: Draft, report: PlacementReport, items: float | None, vcpu: int) -> None:
    """Hours and money of the pass, and what the disk gives meanwhile."""
    hours = None if report.cpu is None else report.cpu.hours
    if items is None or hours is None:
        return
    rate = items / (hours * 3600 * vcpu)
    draft.figure("items", items, "1", sources=("user:samples",))
    draft.figure("vcpu", vcpu, "vCPU", sources=("rule:usual machine",))
    draft.figure("rate", round(rate), "image/s", sources=("data:speed/loading.json",))
    draft.figure("hours", hours, "h", formula="images / (rate per vCPU * vCPU) / 3600")
    told = {
        "count": count(items, draft.language), "vcpu": vcpu, "rate": f"{rate:.0f}",
        "time": duration(hours, draft.language),
    }  # fmt: skip
    row = report.cpu.instance if report.cpu is not None else None
    price = row.price if row is not None else None
    if price is None or price.per != "hour":
        draft.say("preprocessing.hours_unpriced", importance=HEAD, **told)
    else:
        cost = float(price.amount) * hours
        draft.figure("cost", round(cost, 4), price.currency, formula="hours * price")
        draft.say("preprocessing.hours", importance=HEAD,
                  cost=money(cost, price.currency, draft.language), **told)  # fmt: skip
    size = draft.request.slots.img_kb or _IMAGE_KB
    mb = rate * vcpu * size / 1000
    draft.figure("image", size, "kB", sources=("data:speed/loading.json",))
    draft.figure("disk", mb, "MB/s", formula="images/s * kB / 1000")
    draft.say("preprocessing.disk", mb=format_significant(mb, 2), kb=f"{size:g}")


_IMAGE_KB = 110.0
"""Mean size of an ImageNet file (data/loading.json of tools.speed)."""


def _say_machine(draft: Draft, option: OptionOut | None) -> None:
    if option is None or option.instance is None:
        return
    draft.say("preprocessing.machine", importance=BODY,
              line=instance_line(draft, option.instance, with_provider=True))  # fmt: skip
    draft.offer([option.instance.as_offer()])
    say_price_sources(draft, [option.instance])
