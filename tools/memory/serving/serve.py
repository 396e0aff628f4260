"""Memory of a serving workload: weights, cache, activations and the engine's own rules."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from tools.memory.defaults import CONTEXT_LEN
from tools.memory.layers.decoder import build_layer
from tools.memory.layers.ops import Mode
from tools.memory.layers.plan import layer_kinds
from tools.memory.overhead import communication_bytes, context_bytes, cublas_bytes
from tools.memory.params import param_groups
from tools.memory.result import MemoryEstimate, Part
from tools.memory.serving.cache import cache_form
from tools.memory.tables import find_row
from tools.memory.tape import Size
from tools.memory.workload import InferenceWorkload
from tools.models import ModelSpec

_KV_BITS = {
    "fp32": 32, "fp16": 16, "bf16": 16, "f16": 16, "fp16/bf16": 16, "auto": 16,
    "fp8": 8, "int8": 8, "q8_0": 8.5, "q4_0": 4.5, "int4": 4.5,
}  # fmt: skip


_RULES = ("rule:memory-serving",)


class ServeRun(NamedTuple):
    """A serving run with nothing left open."""

    spec: ModelSpec
    engine: str
    weight_format: str
    batch: int
    prompt_len: int
    context_len: int
    kv_bits: float
    tensor: int
    pipeline: int
    width: int
    assumed: tuple[tuple[str, int | float | str | bool], ...]


def resolve_inference(workload: InferenceWorkload) -> ServeRun:
    """Every field of a serving run, with what was assumed."""
    assumed: list[tuple[str, int | float | str | bool]] = []

    def get(field: str, default: int | float | str) -> int | float | str:
        value = getattr(workload, field)
        if value is None:
            assumed.append((field, default))
            return default
        result: int | float | str = value
        return result

    engine = str(get("engine", "vllm"))
    weight_format = str(get("weight_format", "bf16"))
    context = int(get("context_len", CONTEXT_LEN))
    prompt = int(workload.prompt_len or max(context - (workload.generated_len or 0), 1))
    batch = workload.batch or workload.concurrency or int(get("batch", 1))
    kv = str(get("kv_dtype", "bf16"))
    cards = workload.gpu_count or 1
    return ServeRun(
        workload.model, engine, weight_format, int(batch), prompt, context,
        float(_KV_BITS.get(kv, 16)), workload.tensor_parallel_size or cards,
        workload.pipeline_parallel_size or 1, 4 if weight_format == "fp32" else 2, tuple(assumed),
    )  # fmt: skip


def serving_weights(spec: ModelSpec, weight_format: str) -> float:
    """Bytes of all weights in a format."""
    row = find_row("formats", weight_format, field="weight_format")
    groups = param_groups(spec)
    bits = float(row["bits"])
    if not row.get("linear_only"):
        return groups.total * bits / 8
    packed = groups.linear + groups.experts
    return packed * bits / 8 + (groups.total - packed) * 2


@lru_cache(maxsize=1024)
def prefill_peaks(spec_id: int, width: int, split: int) -> tuple[Size, ...]:
    """Candidates for the largest working set of one layer, with what the model holds beside it."""
    spec = _SPECS[spec_id]
    mode = Mode(weight_width=width, norm_width=width, stream_width=width, trains=False)
    kinds = layer_kinds(spec, split)
    held = 2 * width * (spec.hidden_size or 0) + 2 * width * (spec.head_dim or 0) + 16
    return tuple(
        size.plus(Size(0.0, held, 0.0))
        for plan in kinds.plans
        for size in build_layer(plan, mode).form.inference_peaks
    )


_SPECS: dict[int, ModelSpec] = {}


def estimate_inference(workload: InferenceWorkload) -> MemoryEstimate:
    """Memory of one card of a serving workload."""
    run = resolve_inference(workload)
    _SPECS.setdefault(id(run.spec), run.spec)
    shards = run.tensor * run.pipeline
    weights = serving_weights(run.spec, run.weight_format) / shards
    form = cache_form(run.spec)
    elements = form.elements(run.context_len) * run.batch
    cache = elements * run.kv_bits / 8 / min(shards, form.kv_heads * run.pipeline)
    cache += run.batch * (form.state * 4 + form.conv * 2) / shards
    tokens = float(run.batch * run.prompt_len)
    peaks = prefill_peaks(id(run.spec), run.width, 1)
    work = max(size.at(tokens, run.prompt_len) for size in peaks)
    rows = (
        ("weights", weights, "parameters x bits of the format / cards"),
        ("kv_cache", cache, "elements per token x tokens x bytes / cards"),
        ("activations", work, "working set of one layer at the prompt"),
        ("cublas_workspace", cublas_bytes(workload.gpu), "one handle"),
    )
    parts = [Part(name, math.ceil(value), text, _RULES) for name, value, text in rows]
    allocated = sum(part.bytes for part in parts)
    slack = math.ceil(0.03 * allocated)
    context = context_bytes(workload.gpu)
    cards = workload.gpu_count or 1
    communication = communication_bytes(cards)
    parts.append(
        Part("allocator_slack", slack, "3 % of allocated", ("measured:slack",), "reserved")
    )
    parts.append(
        Part("cuda_context", context, "by architecture", ("measured:cuda-context",), "process")
    )
    if communication:
        parts.append(
            Part("communication", communication, "NCCL buffers", ("measured:nccl",), "process")
        )
    return MemoryEstimate(
        workload=workload,
        allocated_bytes=allocated,
        reserved_bytes=allocated + slack,
        process_bytes=allocated + slack + context + communication,
        weights_bytes=math.ceil(weights),
        kv_cache_bytes=math.ceil(cache),
        host_ram_bytes=0,
        gpu_count=cards,
        parts=tuple(parts),
        assumed=run.assumed,
        peak_moment="prefill",
    )
