"""llama.cpp with part of the layers in host memory: how many on the card, and how fast."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple

from agent.answer import AssumptionOut, Verdict
from agent.answering.hosts import shares
from agent.answering.hosts.processors import Bandwidth, bandwidth_beside_a_card
from agent.answering.plan import Call
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import gib
from agent.answering.telling.run_words import format_name, short_model
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.memory import MemoryReport
from agent.toolbox.ranges import Range
from agent.toolbox.registries import ModelReport
from agent.toolbox.timing import TimeReport
from tools.memory import GGUF_ENGINES, is_gguf
from tools.units import GB, bytes_from_gb, format_significant

_USUAL_CARDS = {8: "RTX 4060", 12: "RTX 3060", 16: "RTX 4060 Ti 16GB", 24: "RTX 3090",
                32: "RTX 5090", 48: "RTX A6000"}  # fmt: skip
"""A common card of a memory size, to say a speed where only the size was named."""


class Split(NamedTuple):
    """A run on card and host together."""

    verdict: Verdict
    report: MemoryReport
    """With the layers that the card holds."""
    whole: MemoryReport
    """With all layers on the card."""


Offloaded = Generator[tuple[Call, ...], tuple[ToolResult, ...], Split | None]


def can_offload(draft: Draft, report: MemoryReport) -> bool:
    """True when the program can leave layers in host memory and the card alone is too small."""
    slots = draft.request.slots
    is_able = slots.framework in GGUF_ENGINES or is_gguf(report.weight_format)
    is_split = slots.gpu_layers is not None
    if asks_part_in_host(draft.request):
        return report.task != "train"
    return is_able and (report.verdict == "does_not_fit" or is_split)


def asks_part_in_host(request: Request) -> bool:
    """Whether a part of the layers, or the experts, is to lie in host memory."""
    is_said = request.says("hosts.part_to_host", "hosts.part_in_host")
    return is_said and request.slots.task != "train"


def compose_offload(draft: Draft, report: MemoryReport, arguments: dict[str, Any]) -> Offloaded:
    """How the model runs on card and host together.

    Args:
        draft: The answer in the making.
        report: The estimate of what was asked.
        arguments: Arguments of that estimate, without `gpu_layers`.

    Returns:
        The split run; None where the layers are not known.
    """
    slots = draft.request.slots
    usable = report.usable_bytes
    if slots.framework not in GGUF_ENGINES:
        arguments = {**arguments, "framework": "llama.cpp"}
    results = yield (
        Call("find_model", {"name": slots.model, "params_b": slots.params_b}),
        Call("estimate_memory", {**arguments, "gpu_layers": 0}),
        Call("estimate_memory", {**arguments, "gpu_layers": None}),
    )
    draft.use(*results)
    model, bare, whole = (result.report for result in results)
    if not isinstance(model, ModelReport) or not model.layers or usable is None:
        return None
    if not isinstance(bare, MemoryReport) or not isinstance(whole, MemoryReport):
        return None
    each = (whole.process_bytes - bare.process_bytes) / model.layers
    most = int((usable * shares.CARD_FILLED - bare.process_bytes) / each)
    layers = most if slots.gpu_layers is None else slots.gpu_layers
    layers = max(0, min(layers, model.layers))
    results = yield (
        Call("estimate_memory", {**arguments, "gpu_layers": layers}),
        Call("estimate_time_and_cost", _speed_arguments(draft, report)),
    )
    draft.use(*results)
    split, speed = results[0].report, results[1].report
    if not isinstance(split, MemoryReport):
        return None
    split = split.model_copy(update={"host_ram_bytes": _host_bytes(split, whole)})
    verdict = _say_split(draft, split, layers, model.layers)
    if split.verdict == "does_not_fit":
        _say_fewer_layers(draft, max(0, most), each)
    if isinstance(speed, TimeReport) and slots.gpu_layers is None:
        _say_speed(draft, speed, split, layers / model.layers)
    if model.kind == "moe-lm" and (layers < model.layers or asks_part_in_host(draft.request)):
        draft.say("host.split_experts")
    if layers < model.layers and verdict != "does_not_fit":
        draft.say("host.split_avoid")
    return Split(verdict, split, whole)


def _say_fewer_layers(draft: Draft, most: int, each: float) -> None:
    """How many layers the card does hold, and what else is left: nothing that is set already."""
    draft.figure("layers_that_fit", most, "1", formula="(usable - buffers) / bytes of a layer")
    draft.figure("bytes_of_a_layer", round(each), "B", formula="(all - none) / layers")
    narrow = draft.request.slots.kv_cache_dtype
    key = "ways" if narrow is None else "ways_kv_four" if narrow == "q8_0" else "ways_kv_set"
    draft.say("host.split_fewer", most=most, each=gib(round(each)), importance=HEAD,
              ways=draft.phrase(f"host.split_{key}"))  # fmt: skip


def _host_bytes(split: MemoryReport, whole: MemoryReport) -> int:
    """Host memory of the layers left over; the estimate of one of several cards holds a share."""
    tables = whole.host_ram_bytes
    return tables + (split.host_ram_bytes - tables) * split.gpu_count


def _speed_arguments(draft: Draft, report: MemoryReport) -> dict[str, Any]:
    slots = draft.request.slots
    gpu = slots.gpu if slots.has_card else None
    if gpu is None and report.gpu is not None and not report.gpu.endswith("class"):
        gpu = report.gpu
    if gpu is None:
        gpu = _USUAL_CARDS.get(round(report.label_gb or 0))
    said: dict[str, Any] = {
        "task": "infer", "model": slots.model, "params_b": slots.params_b, "gpu": gpu,
        "framework": "llama.cpp", "quantization": report.weight_format,
        "gpu_count": report.gpu_count,
    }  # fmt: skip
    return {name: value for name, value in said.items() if value is not None}


def _say_split(draft: Draft, split: MemoryReport, layers: int, total: int) -> Verdict:
    """Layers on the card and in memory, against both."""
    ram_gb = draft.request.slots.host_ram_gb
    usable_host = bytes_from_gb(ram_gb * shares.PROCESS) if ram_gb else None
    draft.figure("layers_on_card", layers, "1", formula="layers that the card holds")
    draft.figure("layers", total, "1", formula="model registry")
    draft.figure("host_need", split.host_ram_bytes, "B", formula="layers left in host memory")
    values = {
        "what": f"{short_model(split)} ({format_name(split.weight_format or '')})",
        "layers": layers, "total": total,
        "need": gib(split.process_bytes), "usable": gib(split.usable_bytes or 0),
        "host": gib(split.host_ram_bytes),
    }  # fmt: skip
    if split.verdict == "does_not_fit":
        draft.say("host.split_card_short", importance=HEAD, **values)
        return "does_not_fit"
    if layers == total:
        draft.say("host.split_all", importance=HEAD, **values)
        return split.verdict or "depends"
    if split.gpu_count > 1:
        each = -(-layers // split.gpu_count)
        draft.figure("layers_of_a_card", each, "1", formula="layers / cards, rounded up")
        draft.say("host.split_cards", count=split.gpu_count, each=each, need=values["need"])
    if usable_host is None or ram_gb is None:
        draft.say("host.split_open", importance=HEAD, **values)
        return "depends"
    draft.figure("host_ram_given", ram_gb, "GB", sources=("user:host_ram_gb",))
    draft.figure("host_usable", usable_host, "B", formula=f"host RAM * {shares.PROCESS}")
    is_enough = split.host_ram_bytes <= usable_host
    draft.say("host.split_fits" if is_enough else "host.split_host_short", importance=HEAD,
              ram=f"{ram_gb:g}", host_usable=gib(usable_host), **values)  # fmt: skip
    return "fits" if is_enough else "does_not_fit"


_REACHED = 0.7
"""Share of the host's bandwidth that decoding reaches."""
_SPREAD = 1.2
"""Around what follows from a bandwidth: the share reached is 0.6 to 0.85."""


def _of_parts(
    speed: TimeReport, split: MemoryReport, on_card: float, host: Bandwidth
) -> Range | None:
    """Tokens a second: the card's time for its layers and the host's for the rest.

    Every token reads the active weights of each once; the ceiling of the card is taken at the
    share that llama.cpp reaches.
    """
    if speed.bound is None or speed.stream_tokens_per_s is None:
        return None
    active = (split.params_active or split.params) / split.params
    host_bytes = split.weights_bytes * active * (1 - on_card)
    of_card = on_card / (speed.bound.tokens_per_s * _REACHED)
    low, value, high = (
        1 / (of_card + host_bytes / (rate * GB * _REACHED))
        for rate in (host.low, host.value, host.high)
    )
    update = {"value": value, "low": low / _SPREAD, "high": high * _SPREAD}
    return speed.stream_tokens_per_s.model_copy(update=update)


def _say_speed(draft: Draft, speed: TimeReport, split: MemoryReport, on_card: float) -> None:
    """Tokens per second of the split run."""
    stream = speed.stream_tokens_per_s
    if stream is None:
        return
    slots = draft.request.slots
    if not slots.has_card and speed.gpu is not None:
        why = "no card was named; a common one of this memory size"
        draft.assume([AssumptionOut(name="gpu", value=speed.gpu, unit="1", why=why)])
    bandwidth = next((a.value for a in speed.assumptions if a.name == "host"), None)
    host = bandwidth_beside_a_card(draft.request)
    parts = _of_parts(speed, split, on_card, host) if on_card < 1 else None
    # the cache pushes layers out as well; what was said of the host counts in any case
    if parts is not None and (host.is_said or parts.value < stream.value):
        stream, bandwidth = parts, round(host.value)
        for name in ("value", "low", "high"):
            draft.figure(f"split speed {name}",
                         float(format_significant(getattr(stream, name), 2)), "token/s",
                         formula="1 / (card's share + host bytes / host bandwidth)")  # fmt: skip
    draft.assume(a for a in speed.assumptions if a.name == "host")
    told_speed = {
        name: format_significant(getattr(stream, name), 2) for name in ("value", "low", "high")
    }
    if bandwidth is None:
        draft.say("host.split_speed_plain", importance=HEAD, **told_speed)
        return
    draft.figure("host_bandwidth", float(bandwidth), "GB/s", formula="assumed memory bandwidth")
    draft.say("host.split_speed", importance=HEAD, bandwidth=f"{float(bandwidth):g}", **told_speed)
