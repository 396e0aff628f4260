"""Memory of a serving workload: weights, cache, working memory, and the engine's own rules."""

from __future__ import annotations

import math
from typing import NamedTuple

from tools.memory.overhead import communication_bytes, context_bytes, cublas_bytes
from tools.memory.result import MemoryEstimate, Part
from tools.memory.rounding import weight_rounding
from tools.memory.serving.cache import CacheForm, cache_form
from tools.memory.serving.resolve import LAYER_SPLIT, ServeRun, resolve_inference
from tools.memory.serving.weights import ServedWeights, served_weights
from tools.memory.serving.work import (
    compute_buffer,
    kernel_buffers,
    layer_work,
    logits_work,
    rotary_tables,
)
from tools.memory.states import causal_buffer
from tools.memory.tables import find_row
from tools.memory.workload import InferenceWorkload
from tools.units import MIB

_RULES = ("rule:memory-serving",)
_SLACK = ("measured:reserved-over-allocated",)
_CONTEXT = ("measured:cuda-context",)
_NCCL = ("measured:nccl",)


class _Sizes(NamedTuple):
    weights: float
    """On this card."""
    cache: float
    work: float
    graphs: float
    extra: float
    """Draft model and served adapters."""
    host: float
    moment: str


def estimate_inference(workload: InferenceWorkload) -> MemoryEstimate:
    """Memory of one card of a serving workload.

    Raises:
        BadQuantityError: If a name is not known or a shard count cannot be.
    """
    run = resolve_inference(workload)
    weights = served_weights(run.spec, run.weight_format)
    sizes = _sizes(run, weights)
    cards = workload.gpu_count or 1
    rows: tuple[tuple[str, float, str], ...] = (
        ("weights", sizes.weights, "parameters x bits of the format / cards"),
        ("kv_cache", sizes.cache, "elements per token x tokens x bytes / cards"),
        ("activations", sizes.work, "working set of one layer, or the logits"),
        ("cuda_graphs", sizes.graphs, "captured graphs of the engine"),
        ("allocator_rounding", _rounding(run), "2 MiB segments of large matrices"),
        ("extra_models", sizes.extra, "draft model and served adapters"),
        ("cublas_workspace", cublas_bytes(workload.gpu, build=workload.torch_build), "one handle"),
    )
    parts = [Part(name, math.ceil(value), text, _RULES) for name, value, text in rows if value]
    allocated = sum(part.bytes for part in parts)
    slack = math.ceil((float(run.row["slack"]) - 1) * allocated)
    context = context_bytes(workload.gpu) + int(run.row.get("non_torch_mib", 0)) * MIB
    if workload.includes_context:
        parts.append(Part("cuda_context", context, "read with the counter", _CONTEXT))
        allocated += context
        context = 0
    communication = communication_bytes(1 if run.engine in LAYER_SPLIT else cards)
    rest = (
        ("allocator_slack", slack, "reserved beyond live tensors", _SLACK, "reserved"),
        ("cuda_context", context, "context of the architecture", _CONTEXT, "process"),
        ("communication", communication, "NCCL buffers", _NCCL, "process"),
    )
    parts += [Part(*row) for row in rest if row[1]]  # type: ignore[arg-type]  # counters are literals
    return MemoryEstimate(
        workload=workload,
        allocated_bytes=allocated,
        reserved_bytes=allocated + slack,
        process_bytes=allocated + slack + context + communication,
        weights_bytes=math.ceil(weights.total / run.tensor / run.layers_over),
        kv_cache_bytes=math.ceil(sizes.cache),
        host_ram_bytes=math.ceil(sizes.host),
        gpu_count=cards,
        parts=tuple(parts),
        assumed=run.assumed,
        notes=_notes(run),
        peak_moment=sizes.moment,
        pool_share=_pool_share(run),
    )


def _notes(run: ServeRun) -> tuple[str, ...]:
    """What a reader of the figures has to know, one sentence each."""
    notes = []
    share = _pool_share(run)
    if share is not None:
        notes.append(
            f"{run.engine} takes {share:.0%} of the card whatever it needs; the figures here are "
            "what it needs, and nvidia-smi shows the pool."
        )
    if run.spec.is_reference:
        notes.append(f"Dimensions are those of a {run.spec.name}, no published model.")
    if run.spec.moe is not None:
        notes.append("Every expert is resident; only the active ones compute.")
    if run.row.get("cache_floor"):
        notes.append(f"{run.engine} allocates its cache for at least 2,048 tokens at load.")
    return tuple(notes)


def _rounding(run: ServeRun) -> float:
    """Segments that large matrices do not fill, for engines that allocate through torch."""
    if run.row.get("compute_buffer") or run.asked.torch_build == "cpu":
        return 0.0
    row = find_row("formats", run.weight_format, field="weight_format")
    if row.get("gguf"):
        return 0.0
    return weight_rounding(run.spec, float(row["bits"]) // 4 / 2, run.tensor) / run.layers_over


def _pool_share(run: ServeRun) -> float | None:
    asked = run.asked
    if asked.gpu_memory_utilization is not None:
        return asked.gpu_memory_utilization
    if asked.mem_fraction_static is not None:
        return asked.mem_fraction_static
    share = run.row.get("pool_share")
    return None if share is None else float(share)


def _sizes(run: ServeRun, weights: ServedWeights) -> _Sizes:
    form = cache_form(run.spec)
    shards = run.tensor * run.layers_over
    on_card = weights.replicated + (weights.total - weights.replicated) / run.tensor
    on_card /= run.layers_over
    host = 0.0
    if run.row.get("embedding_on_host"):
        host = weights.embedding
        on_card -= host / shards
    offloaded = float(run.asked.cpu_offload_bytes or 0)
    on_card, host = max(on_card - offloaded, 0.0), host + offloaded * shards
    cache = cache_bytes(run, form)
    on_card, cache, host = _partial_offload(run, on_card, cache, host)
    work, moment = _work(run, form, cache)
    return _Sizes(on_card, cache, work, _graphs(run), _extra_models(run), host, moment)


def cache_bytes(run: ServeRun, form: CacheForm) -> float:
    """Keys, values and states on one card, in bytes; encoders keep none."""
    if run.is_encoder or run.spec.kind in ("embedding", "reranker"):
        return 0.0
    tokens = run.context_len
    if run.asked.kv_tokens is not None:
        elements = float(form.growing * run.asked.kv_tokens)
        elements += sum(per * run.asked.kv_tokens for _, per in form.windowed)
    else:
        tokens = max(tokens, int(run.row.get("cache_floor", 0)))
        block = int(run.row["kv_block"])
        tokens = -(-tokens // block) * block
        whole = not run.row.get("hybrid_cache") and run.engine != "transformers"
        elements = float(form.elements(tokens, whole=whole) * run.batch)
    split = min(run.tensor, form.kv_heads) * run.layers_over
    state = run.batch * (form.state * 4 + form.conv * 2) / (run.tensor * run.layers_over)
    return elements * run.kv_bits / 8 / split + state


def _partial_offload(
    run: ServeRun, weights: float, cache: float, host: float
) -> tuple[float, float, float]:
    layers = run.spec.num_hidden_layers or 1
    if run.asked.gpu_layers is None or run.asked.gpu_layers >= layers:
        return weights, cache, host
    share = run.asked.gpu_layers / layers
    return weights * share, cache * share, host + (weights + cache) * (1 - share)


def _work(run: ServeRun, form: CacheForm, cache: float) -> tuple[float, str]:
    """Working memory beside weights and the full cache, and the moment it belongs to."""
    if run.row.get("compute_buffer"):
        return compute_buffer(run), "prefill"
    if "max_num_batched_tokens" in run.row:
        chunk = run.asked.max_num_batched_tokens or int(run.row["max_num_batched_tokens"])
        sequences = run.asked.max_num_seqs or int(run.row["max_num_seqs"])
        sampler = 4.0 * min(sequences, chunk) * (run.spec.vocab_size or 0) / run.tensor
        return max(layer_work(run, chunk, chunk), sampler), "prefill"
    tokens = float(run.batch * run.prompt_len)
    prefill = max(layer_work(run, tokens, run.prompt_len), logits_work(run, tokens))
    buffers = kernel_buffers(run, tokens) + rotary_tables(run)
    if run.engine == "transformers":
        buffers += causal_buffer(run.spec)
    prefill += buffers + _sliced_cache(run, form)
    if run.legacy_cache:
        return max(cache + buffers, prefill - _later_cache(run, form)), "decode"
    if run.is_encoder:
        return prefill, "forward"
    decode = buffers + 2 * run.batch * form.largest_layer * run.context_len * run.kv_bits / 8
    later = _later_cache(run, form)
    if prefill - later > decode:
        return prefill - later, "prefill"
    return decode, "decode"


def _sliced_cache(run: ServeRun, form: CacheForm) -> float:
    """What sliding layers hold beyond their window until the first new token.

    transformers keeps the window as a slice of the whole prompt's keys and values, and the slice
    keeps their storage (DynamicSlidingWindowLayer).
    """
    if run.engine != "transformers" or run.asked.kv_tokens is not None:
        return 0.0
    whole = form.elements(run.prompt_len, whole=True) - form.elements(run.prompt_len)
    return whole * run.batch * run.kv_bits / 8 / (min(run.tensor, form.kv_heads) * run.layers_over)


def _later_cache(run: ServeRun, form: CacheForm) -> float:
    """Cache that only exists after the prefill."""
    if run.asked.kv_tokens is not None or run.row.get("cache_floor"):
        return 0.0
    now = form.elements(run.prompt_len) * run.batch
    full = form.elements(max(run.context_len, run.prompt_len)) * run.batch
    return (full - now) * run.kv_bits / 8 / (min(run.tensor, form.kv_heads) * run.layers_over)


def _graphs(run: ServeRun) -> float:
    if run.asked.enforce_eager:
        return 0.0
    return float(run.row.get("graphs_mib", 0)) * MIB


def _extra_models(run: ServeRun) -> float:
    asked, total = run.asked, 0.0
    if asked.draft_model is not None:
        draft = asked.draft_model
        tokens = run.context_len * run.batch
        total += served_weights(draft, "bf16").total / run.tensor
        total += cache_form(draft).elements(tokens) * run.kv_bits / 8 / run.tensor
    if asked.served_loras:
        rank = asked.served_lora_rank or 16
        spec = run.spec
        hidden, layers = spec.hidden_size or 0, spec.num_hidden_layers or 0
        per_layer = 2.0 * rank * (8 * hidden + 3 * (hidden + (spec.intermediate_size or 0)))
        total += asked.served_loras * layers * per_layer / run.tensor
    return total
