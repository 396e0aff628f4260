"""From what was said to what is served: every field of an inference workload filled in."""

from __future__ import annotations

from typing import NamedTuple

from tools.errors import BadQuantityError
from tools.memory.defaults import CONTEXT_LEN
from tools.memory.images import image_tokens
from tools.memory.params import is_encoder
from tools.memory.sharding import check_divisibility
from tools.memory.tables import Row, find_row, row_name, table
from tools.memory.workload import InferenceWorkload
from tools.models import ModelSpec

Assumed = tuple[str, int | float | str | bool]
_KV_BITS = {
    "fp32": 32, "float32": 32, "f32": 32, "fp16": 16, "bf16": 16, "f16": 16, "float16": 16,
    "bfloat16": 16, "auto": 16, "fp16/bf16": 16, "bf16/fp16": 16, "fp8": 8, "fp8_e4m3": 8,
    "fp8_e5m2": 8, "int8": 8, "q8_0": 8.5, "q5_1": 6, "q5_0": 5.5, "q4_1": 5, "q4_0": 4.5,
    "iq4_nl": 4.5, "int4": 4.5, "turboquant": 4.5, "nvfp4": 4.5, "int2": 2.5,
}  # fmt: skip
_OLD_LOGITS = (4, 45)
"""transformers before this version kept fp32 logits of the whole prompt."""
_HALF_BITS = 16
LAYER_SPLIT = frozenset({"transformers", "llama.cpp", "ollama", "exllama", "autoawq"})
"""Engines that give each card whole layers and copy between them, without NCCL buffers."""


class ServeRun(NamedTuple):
    """A serving run with nothing left open."""

    spec: ModelSpec
    engine: str
    row: Row
    weight_format: str
    batch: int
    prompt_len: int
    context_len: int
    generated_len: int
    kv_bits: float
    tensor: int
    """Cards that split every matrix."""
    layers_over: int
    """Cards that hold whole layers one after the other."""
    width: int
    eager: bool
    all_logits: bool
    old_logits: bool
    legacy_cache: bool
    is_encoder: bool
    assumed: tuple[Assumed, ...]
    asked: InferenceWorkload


def resolve_inference(workload: InferenceWorkload) -> ServeRun:
    """Every field of a serving run, with what was assumed.

    Raises:
        BadQuantityError: If a name is not known or a shard count cannot be.
    """
    assumed: list[Assumed] = []
    engine = _engine(workload, assumed)
    row = table("engines")[engine]
    weight_format = workload.weight_format
    if weight_format is None:
        weight_format = usual_format(workload.model, engine)
        assumed.append(("weight_format", weight_format))
    context, prompt, generated = _lengths(workload, row, assumed)
    batch = workload.batch or workload.concurrency
    if batch is None:
        batch = 1
        assumed.append(("batch", 1))
    tensor, layers_over = _shards(workload, engine)
    find_row("formats", weight_format, field="weight_format")
    version = _version(workload.engine_version)
    old = engine == "transformers" and version is not None and version < _OLD_LOGITS
    return ServeRun(
        spec=workload.model,
        engine=engine,
        row=row,
        weight_format=weight_format,
        batch=batch,
        prompt_len=prompt,
        context_len=context,
        generated_len=generated,
        kv_bits=_kv_bits(workload, assumed),
        tensor=tensor,
        layers_over=layers_over,
        width=4 if weight_format in ("fp32", "float32") else 2,
        eager=workload.attention == "eager",
        all_logits=workload.logits == "all" or old,
        old_logits=old,
        legacy_cache=workload.kv_cache_kind == "legacy",
        is_encoder=is_encoder(workload.model),
        assumed=tuple(assumed),
        asked=workload,
    )


def _engine(workload: InferenceWorkload, assumed: list[Assumed]) -> str:
    """Row of the program; the usual server where none is said."""
    if workload.engine is None:
        assumed.append(("engine", "vllm"))
        return "vllm"
    found = row_name("engines", workload.engine)
    if found is None:
        raise BadQuantityError(
            field="engine", given=workload.engine, allowed=", ".join(table("engines"))
        )
    return found


def usual_format(spec: ModelSpec, engine: str) -> str:
    """Weight format where none was said: the program's own, else as the model is published.

    Weights published in 32 bit are served in 16, as servers load them; weights published in
    fewer than 16 bits (FP8, MXFP4, 4-bit experts) stay as they are.
    """
    own = table("engines")[engine].get("weight_format")
    if own is not None:
        return str(own)
    published = row_name("formats", spec.dtype) if spec.dtype else None
    if published is None or float(table("formats")[published]["bits"]) >= _HALF_BITS:
        return "bf16"
    return published


def _lengths(workload: InferenceWorkload, row: Row, assumed: list[Assumed]) -> tuple[int, int, int]:
    prompt, generated, context = workload.prompt_len, workload.generated_len, workload.context_len
    if context is None:
        if prompt is not None or generated is not None:
            context = (prompt or 0) + (generated or 0)
        else:
            context = int(row.get("context_len", CONTEXT_LEN))
            assumed.append(("context_len", context))
    context = max(context, prompt or 1)
    if prompt is None:
        prompt = max(context - (generated or 0), 1)
        if generated is None:
            assumed.append(("prompt_len", prompt))
    images = image_tokens(workload, assumed)
    return context + images, prompt + images, generated or 0


def _shards(workload: InferenceWorkload, engine: str) -> tuple[int, int]:
    cards = workload.gpu_count or 1
    tensor, pipeline = workload.tensor_parallel_size, workload.pipeline_parallel_size
    if tensor is None and pipeline is None:
        if engine in LAYER_SPLIT:
            tensor, pipeline = 1, cards
        else:
            tensor, pipeline = cards, 1
    elif tensor is None:
        tensor = max(cards // (pipeline or 1), 1)
    check_divisibility(workload.model, tensor=tensor, pipeline=pipeline or 1)
    return tensor, pipeline or 1


def _kv_bits(workload: InferenceWorkload, assumed: list[Assumed]) -> float:
    given = workload.kv_dtype
    if given is None:
        wide = workload.weight_format in ("fp32", "float32")
        assumed.append(("kv_dtype", "fp32" if wide else "bf16"))
        return 32.0 if wide else 16.0
    bits = _KV_BITS.get(given.casefold())
    if bits is None:
        raise BadQuantityError(field="kv_dtype", given=given, allowed=", ".join(_KV_BITS))
    return float(bits)


def _version(text: str | None) -> tuple[int, int] | None:
    if not text:
        return None
    parts = text.split(".")
    try:
        return int(parts[0]), int(parts[1])
    except (ValueError, IndexError):
        return None
