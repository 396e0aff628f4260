"""Seconds of one decode step and of a prefill, from hardware limits and a few constants."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from tools.speed.hardware import Card
from tools.speed.results import load_data
from tools.speed.shapes import USUAL_EXPERTS, Shape

SMOOTHNESS = 4.0
"""Power of the mean that joins a launch floor and the work behind it."""
MOST_ARITHMETIC = 0.85
"""No prefill uses more than this share of the dense peak."""
USUAL_EXPERTS_A_TOKEN = 8
"""Experts that a token passes through, the same."""
MOST_BANDWIDTH = 0.95
"""No program reads more than this share of the nominal bandwidth."""
USABLE_MEMORY = 0.9
"""Share of a card's memory that weights and cache take in serving programs by default."""
USABLE_MEMORY_NATIVE = 0.97
"""The same of programs that put as many layers on the card as fit."""


class Format(NamedTuple):
    """How weights are stored."""

    kind: str
    """16, fp32, fp8, int8, int4, awq, nf4, gptq8, bnb8, fp4."""
    bits: float
    """Bits a weight of the layers takes, scales included."""
    head16: bool
    """The output head stays in 16 bit."""


@cache
def weight_format(text: str | None) -> Format:
    """Storage of the weights from a format as written; 16 bit when nothing is said.

    >>> weight_format("gguf Q4_K_M").bits
    4.85
    """
    folded = (text or "").casefold()
    for row in load_data("formats")["formats"]:
        found = re.search(row["pattern"], folded)
        if found:
            bits = float(row["bits"])
            stated = [value for value in found.groupdict().values() if value]
            if stated:
                bits = float(stated[0]) + 0.1
            return Format(row["kind"], bits, row["head16"])
    raise AssertionError("the last pattern matches everything")


class Engine(NamedTuple):
    """How a serving program runs."""

    name: str
    style: str
    """graph (captured), compiled, native (C++), eager (kernel by kernel)."""
    splits_tensors: bool
    """Several cards share every layer; otherwise they hold layers in turn."""
    loops_experts: tuple[str, ...] = ()
    """Kinds of weights whose experts are launched one by one: no fused kernel for them."""
    cache8: tuple[str, ...] = ()
    """Kinds of weights that come with an 8-bit cache."""
    gathers: bool = False
    """Every layer's weights are gathered from all cards before they are used (FSDP, ZeRO-3)."""


@cache
def engine_of(text: str | None) -> Engine:
    """The serving program as written; vLLM when nothing is said.

    >>> engine_of("vllm 0.6.3").style
    'graph'
    """
    folded = (text or "vllm").casefold()
    for row in load_data("engines")["engines"]:
        if re.search(row["pattern"], folded):
            return Engine(
                row["name"],
                row["style"],
                row["splits_tensors"],
                tuple(row.get("loops_experts", ())),
                tuple(row.get("cache8", ())),
                row.get("gathers", False),
            )
    return Engine("other", "eager", False)


@dataclass(frozen=True, slots=True)
class Decode:
    """One fully specified decode step."""

    engine: Engine
    weights: Format
    num_gpus: int
    concurrency: int
    prompt_len: int
    output_len: int
    intra: str
    host_gb_s: float | None
    """Bandwidth for weights that do not fit the cards, GB/s; None when all fit."""

    @property
    def context(self) -> float:
        """Mean tokens in the cache while generating."""
        return self.prompt_len + self.output_len / 2

    @property
    def cache_width(self) -> float:
        """Bytes of one element of the cache."""
        return 1.0 if self.weights.kind in self.engine.cache8 else 2.0


def weight_bytes(shape: Shape, weights: Format) -> float:
    """Bytes of all weights in this format."""
    head = float(shape.vocab * shape.hidden)
    tables = head + shape.embedding_params if weights.head16 else 0.0
    tables = min(tables, 0.5 * shape.params_total)
    return (shape.params_total - tables) * weights.bits / 8 + tables * 2


def _touched_params(shape: Shape, concurrency: int) -> float:
    """Parameters read in one step: with many tokens more experts are touched.

    Source: n tokens that choose k of E experts evenly touch E (1 - (1 - k/E)^n) of them.
    """
    if not shape.is_moe:
        return shape.read_params
    if shape.experts and shape.experts_per_token:
        share = shape.experts_per_token / shape.experts
        routed = (shape.params_total - shape.params_active) / (1 - share)
        return shape.read_params + routed * (1 - (1 - share) ** concurrency - share)
    share = shape.params_active / shape.params_total
    touched = 1 - (1 - share) ** concurrency
    return max(shape.read_params, touched * (shape.params_total - shape.embedding_params))


def _read_bytes(shape: Shape, weights: Format, concurrency: int) -> float:
    params = _touched_params(shape, concurrency)
    head = min(float(shape.vocab * shape.hidden), 0.5 * params) if weights.head16 else 0.0
    return (params - head) * weights.bits / 8 + head * 2


def _join(*seconds: float) -> float:
    return float(sum(s**SMOOTHNESS for s in seconds if s > 0) ** (1 / SMOOTHNESS))


def _effective_bandwidth(card: Card, style: str, c: Mapping[str, float]) -> float:
    """Bytes per second that an engine gets: a share of the memory's, under what it can request.

    Source: Little's law. The bytes under way are bounded by the multiprocessors and their clock,
    so a card with few of them (H20: 78 of an H100's 132) does not fill a wide memory.
    """
    share = card.bytes_per_s * (c["bandwidth_cpu"] if card.is_cpu else c[f"bandwidth_{style}"])
    share *= c.get(f"card:{card.name}", c.get(f"generation:{card.generation}", 1.0))
    if not card.is_cpu:
        ceiling = c[f"inflight_{style}"] * card.clocked_units
        share = float((share**-SMOOTHNESS + ceiling**-SMOOTHNESS) ** (-1 / SMOOTHNESS))
    return min(share, MOST_BANDWIDTH * card.bytes_per_s)


def decode_parts(
    step: Decode, card: Card, shape: Shape, c: Mapping[str, float]
) -> dict[str, float]:
    """Seconds of one decode step for all sequences, by part.

    Source: t = weights / (share of bandwidth) + cache / (share of bandwidth) + launches; with
    tensor parallelism two all-reduces a layer. Constants: data/serving.json.
    """
    style = step.engine.style
    ways = step.num_gpus if step.engine.splits_tensors else 1
    bandwidth = _effective_bandwidth(card, style, c)
    read = _read_bytes(shape, step.weights, step.concurrency) / ways
    memory = read / bandwidth
    if step.weights.kind not in ("16", "fp32", "fp8"):
        params = _touched_params(shape, step.concurrency) / ways
        memory = _join(memory, params * c[f"unpack_{style}"] / card.fp32_flops)
    spilled = _spilled_bytes(step, card, shape)
    if spilled:
        memory *= 1 - spilled / weight_bytes(shape, step.weights)
    span = min(step.context, shape.window or step.context)
    cache_bytes = step.concurrency * span * shape.kv_elems * step.cache_width / ways
    reading = cache_bytes / bandwidth * _cache_passes(style, shape, c)
    peak = card.flops("16" if step.weights.kind not in ("fp8", "fp4") else step.weights.kind)
    work = 2 * shape.read_params * step.concurrency / ways / (peak * c["arithmetic"])
    launch = _launch_seconds(step, card, shape, c)
    busy = _join(memory, work) + reading
    if style == "eager":
        found = {"weights": _join(busy, launch), "cache": 0.0}
    else:
        found = {"weights": busy - reading, "cache": reading, "launch": launch}
    found["links"] = _links(step, shape, c, ways)
    touched = spilled
    if shape.is_moe:
        touched *= min(1.0, read * ways / weight_bytes(shape, step.weights))
    found["host"] = touched / (step.host_gb_s * 1e9) if step.host_gb_s and spilled else 0.0
    return found


def _cache_passes(style: str, shape: Shape, c: Mapping[str, float]) -> float:
    """Passes over the cache per token.

    Source: library code appends by copying and repeats the cached heads for every head of a group
    (transformers `repeat_kv`): one copy, and each repeated head is written and read.
    """
    if style != "eager":
        return c["cache"]
    group = 2 * shape.layers * shape.heads_dim / shape.kv_elems if shape.kv_elems else 1.0
    return c["cache_eager"] * (1 + 2 * max(1.0, group))


_LINEARS = 7
"""Matrix products of a layer: query, key, value, output, gate, up, down."""
_EXPERT_LINEARS = 3
_UNFUSED = ("nf4", "bnb8", "gptq8", "fp8", "awq")
"""Kinds of weights whose products take the host longer than 16 bit, kernel by kernel."""


def _launch_seconds(step: Decode, card: Card, shape: Shape, c: Mapping[str, float]) -> float:
    """Seconds that the host needs to start the kernels of one step."""
    style, kind = step.engine.style, step.weights.kind
    per_layer = c[f"launch_{style}"]
    experts = (shape.experts or USUAL_EXPERTS) if shape.is_moe else 0
    if style == "eager":
        slower = c[f"linear_{kind}"] if kind in _UNFUSED else 0.0
        per_layer += _LINEARS * slower + experts * (c["expert_eager"] + _EXPERT_LINEARS * slower)
        per_layer *= c.get(f"host:{card.name}", 1.0)
    elif experts and kind in step.engine.loops_experts:
        per_layer += (shape.experts_per_token or USUAL_EXPERTS_A_TOKEN) * c["expert_looped"]
    if card.is_cpu:
        per_layer *= c["launch_cpu"]
    return float(shape.layers * per_layer * 1e-3 * c.get(f"start:{step.engine.name}", 1.0))


def _links(step: Decode, shape: Shape, c: Mapping[str, float], ways: int) -> float:
    """Seconds of the two all-reduces of every layer, or of gathering the weights."""
    speed = load_data("links")["intra_node_gb_s"][step.intra]["value"] * 1e9
    if step.engine.gathers and step.num_gpus > 1:
        others = (step.num_gpus - 1) / step.num_gpus
        return float(weight_bytes(shape, step.weights) * others / speed)
    if ways == 1:
        return 0.0
    fast = step.intra.startswith("nvlink")
    latency = c["latency_nvlink"] if fast else c["latency_pcie"]
    volume = 2 * (ways - 1) / ways * step.concurrency * shape.hidden * 2.0
    return float(2 * shape.layers * (latency * 1e-6 * (ways**0.5) + volume / speed))


def _room(step: Decode, card: Card, share: float) -> float:
    """Bytes of all cards that weights and cache may take."""
    one = card.memory_bytes or (card.memory_gb or 0.0) * 1e9
    return one * share * max(step.num_gpus, 1)


def _spilled_bytes(step: Decode, card: Card, shape: Shape) -> float:
    """Weights that do not fit the cards.

    Source: llama.cpp keeps the table of input embeddings in the processor's memory.
    """
    if step.host_gb_s is None or card.memory_gb is None:
        return 0.0
    native = step.engine.style == "native"
    need = weight_bytes(shape, step.weights)
    need -= shape.embedding_params * step.weights.bits / 8 if native else 0.0
    return max(0.0, need - _room(step, card, USABLE_MEMORY_NATIVE if native else USABLE_MEMORY))


def sequences_in_memory(step: Decode, card: Card, shape: Shape) -> int | None:
    """Sequences whose cache fits beside the weights; None when the memory is not known."""
    if card.memory_gb is None or card.is_cpu:
        return None
    free = _room(step, card, USABLE_MEMORY) - weight_bytes(shape, step.weights)
    per_sequence = (step.prompt_len + step.output_len) * shape.kv_elems * step.cache_width
    return max(1, int(free / per_sequence)) if per_sequence else None


def prefill_seconds(
    step: Decode, card: Card, shape: Shape, c: Mapping[str, float], *, prompts: int = 1
) -> float:
    """Seconds to read `prompts` prompts: arithmetic-bound, at least one pass over the weights.

    Source: 2N FLOPs a token at 35-50 % of the dense peak, plus the attention sum.
    """
    ways = step.num_gpus if step.engine.splits_tensors else 1
    style = step.engine.style
    kind = step.weights.kind if step.weights.kind in ("fp8", "fp4") else "16"
    share = c["prefill_fp8"] if kind != "16" else c[f"prefill_{style}"]
    share *= c.get(f"compute:{card.name}", 1.0)
    rate = card.flops(kind) * min(share, MOST_ARITHMETIC) * ways
    tokens = float(step.prompt_len * prompts)
    span = min(step.prompt_len, shape.window or step.prompt_len)
    sums = 2 * shape.layers * shape.heads_dim * span * tokens
    arithmetic = 2 * shape.read_params * tokens / rate + sums / (
        card.tensor16_flops
        * min(MOST_ARITHMETIC, c["prefill_attention"] * c.get(f"compute:{card.name}", 1.0))
        * ways
    )
    read = _read_bytes(shape, step.weights, 1) / ways / card.bytes_per_s
    return float(max(arithmetic, read))


def table() -> Any:
    """The learnt constants."""
    return load_data("serving")
