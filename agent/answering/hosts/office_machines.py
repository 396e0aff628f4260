"""Training over computers without cards, joined by an office network: why it does not pay."""

from __future__ import annotations

from typing import Any

from agent.answer import AssumptionOut
from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import BODY, HEAD, Draft
from agent.answering.telling.numbers import gib
from agent.answering.telling.run_words import memory_arguments
from agent.request import Request
from agent.toolbox.memory import MemoryReport
from tools.units import format_significant

_FLOPS = 0.3e12
"""What a desktop processor reaches in fp32: of 6 cores * 3.5 GHz * 32 a cycle less than half."""
_OF_LORA, _OF_FULL = 4, 6
"""Operations a parameter and token: forward and the activations' gradient; the weights' as well."""
_OFFICE_GBPS = 1.0
_USUAL = 20
"""Computers where no number was said."""
_INTENTS = ("fit_check", "multi_gpu_plan", "network_distributed", "concept", "time_estimate",
            "recommend_instance")  # fmt: skip


def applies(request: Request, context: Context) -> bool:
    """True for training over several ordinary computers, none of which has a card named."""
    slots = request.slots
    is_job = slots.has_model and slots.task == "train" and not slots.has_card
    is_asked = request.intent in _INTENTS and slots.instance is None and slots.gpu_mem_gb is None
    return is_job and is_asked and request.says("hosts.office_machines")


def compose(request: Request, context: Context) -> Plan:
    """No: what the processors compute, what the network carries, and one card beside them."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    slots = request.slots
    call: dict[str, Any] = {"task": "train", "gpu": None, "gpu_count": None, "nodes": None}
    results = yield (
        Call("estimate_memory", memory_arguments(slots, **{**call, "method": "lora"})),
        Call("estimate_memory", memory_arguments(slots, **{**call, "method": "qlora"})),
    )
    draft.use(*results)
    whole, narrow = (result.report for result in results)
    if not isinstance(whole, MemoryReport) or not isinstance(narrow, MemoryReport):
        draft.add(results[0].hint or "", importance=HEAD)
        return draft.finish("depends")
    said = int(max((slots.nodes or 1, *request.amounts.get("hosts.computers", ()))))
    count = said if said > 1 else _USUAL
    is_full = str(slots.method).split("+")[-1] in ("full", "pretrain")
    each = _FLOPS / ((_OF_FULL if is_full else _OF_LORA) * whole.params)
    gbps = slots.bandwidth_gbps or _OFFICE_GBPS
    exchanged = 2 * 2 * whole.params
    seconds = exchanged * 8 / (gbps * 1e9)
    for name, value, unit in (("processor", _FLOPS / 1e12, "TFLOPS"), ("computers", count, "1"),
                              ("network", gbps, "Gbps"),
                              ("exchanged", exchanged / 1e9, "GB")):  # fmt: skip
        draft.figure(name, value, unit, formula="assumed where it was not said")
    told = {"each": format_significant(each, 2), "all": format_significant(each * count, 2),
            "seconds": format_significant(seconds, 2),
            "exchanged": format_significant(exchanged / 1e9, 2)}  # fmt: skip
    for name, unit in (("each", "token/s"), ("all", "token/s"), ("seconds", "s"),
                       ("exchanged", "GB")):  # fmt: skip
        draft.figure(f"{name}, as told", float(told[name]), unit, formula="FLOPS, params, Gbps")
    for name, size in (("office_ram_least", 8), ("office_ram_most", 16), ("common_card", 24)):
        draft.figure(name, size, "GB", formula="a usual size")
    why = "a desktop processor of six cores"
    draft.assume([AssumptionOut(name="processor", value=0.3, unit="TFLOPS", why=why)])
    draft.say("office.head", importance=HEAD, count=count, flops=f"{_FLOPS / 1e12:g}",
              params=f"{whole.params / 1e9:.3g}B", **told)  # fmt: skip
    draft.say("office.memory", importance=HEAD, need=gib(whole.process_bytes))
    draft.say("office.network", importance=BODY, gbps=f"{gbps:g}", **told)
    draft.say("office.instead", importance=BODY, narrow=gib(narrow.process_bytes))
    return draft.finish("does_not_fit", intent="multi_gpu_plan")
