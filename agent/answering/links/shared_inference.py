"""Whether a link between machines is enough for one model that is served over all of them."""

from __future__ import annotations

from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import BODY, HEAD, Draft
from agent.answering.telling.numbers import gib
from agent.request import Request
from agent.toolbox.memory import MemoryReport
from agent.toolbox.registries import ModelReport
from tools.units import format_significant

_REDUCTIONS = 2
"""All-reduces of a layer under tensor parallelism: behind attention and behind the MLP."""
_BYTES = 2
"""Of a number that is exchanged: 16 bit."""
_WIDE_GBPS = 10
"""From here on the wire takes less of a token than the waits."""
_LATENCY_US = {False: (50, 200), True: (10, 30)}
"""Microseconds of a small all-reduce between machines, over sockets and with RDMA: assumed."""


def applies(request: Request, context: Context) -> bool:
    """True for inference of one model over machines that a link of known speed joins."""
    slots = request.slots
    is_spread = (slots.nodes or 1) > 1 and (slots.bandwidth_gbps or 0) >= _WIDE_GBPS
    is_asked = request.intent == "fit_check" and request.says("links.tensor_parallel")
    is_asked = is_asked or request.intent in (
        "network_distributed",
        "multi_gpu_plan",
        "serving_plan",
    )
    return is_asked and is_spread and slots.task == "infer" and slots.has_model and slots.has_card


def compose(request: Request, context: Context) -> Plan:
    """Bytes and waits of a token under tensor parallelism, then memory and the pipeline."""
    draft = Draft(request)
    slots = request.slots
    nodes, gbps = slots.nodes or 2, slots.bandwidth_gbps or 1.0
    cards = max(slots.gpu_count or 1, nodes)
    named = {"name": slots.model, "params_b": slots.params_b}
    named = {name: value for name, value in named.items() if value is not None}
    asked = {"model": slots.model, "params_b": slots.params_b, "task": "infer",
             "gpu": slots.gpu, "gpu_count": cards, "tp": cards,
             "quantization": slots.quantization, "precision": slots.precision,
             "with_changes": False}  # fmt: skip
    results = yield (
        Call("find_model", named),
        Call("estimate_memory", {k: v for k, v in asked.items() if v is not None}),
    )
    draft.use(*results)
    model, memory = results[0].report, results[1].report
    if isinstance(model, ModelReport) and model.layers and model.hidden_size:
        _say_exchange(draft, model.layers, model.hidden_size, gbps)
    verdict = "depends"
    if isinstance(memory, MemoryReport) and memory.usable_bytes and memory.verdict:
        verdict = "does_not_fit" if memory.verdict == "does_not_fit" else verdict
        draft.say(f"shared_inference.{'short' if verdict == 'does_not_fit' else 'room'}",
                  cards=cards, need=gib(memory.process_bytes), gpu=slots.gpu,
                  usable=gib(memory.usable_bytes), importance=HEAD)  # fmt: skip
    draft.say("shared_inference.pipeline", importance=HEAD)
    draft.say("shared_inference.prompt", importance=BODY)
    return draft.finish("does_not_fit" if verdict == "does_not_fit" else "depends")


def _say_exchange(draft: Draft, layers: int, width: int, gbps: float) -> None:
    """What a token sends, how long the wire takes for it, and how long the waits."""
    count, size = _REDUCTIONS * layers, width * _BYTES
    wire_ms = count * size * 8 / (gbps * 1e9) * 1e3
    low, high = (count * us / 1e3 for us in _LATENCY_US[draft.request.says("links.with_rdma")])
    draft.figure("all-reduces a token", count, "1", formula="2 * layers")
    draft.figure("KiB of each", size / 1024, "KiB", formula="hidden size * 2 bytes")
    told = {"wire": wire_ms, "low": low, "high": high}
    words = {name: format_significant(value, 2) for name, value in told.items()}
    for name, value in words.items():
        draft.figure(f"{name} ms a token", float(value), "ms", formula="all-reduces * time of one")
    draft.say("shared_inference.head", gbps=f"{gbps:g}", count=count,
              size=format_significant(size / 1024, 2), importance=HEAD, **words)  # fmt: skip
