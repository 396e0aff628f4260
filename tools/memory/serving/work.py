"""Working memory of a forward without gradients: one layer's tensors, logits, buffers."""

from __future__ import annotations

from functools import lru_cache

from tools.memory.layers.decoder import build_layer
from tools.memory.layers.ops import Mode
from tools.memory.layers.plan import family_row, layer_kinds, masked_keys
from tools.memory.params import layer_linears, param_groups
from tools.memory.serving.resolve import ServeRun
from tools.memory.tables import find_row
from tools.memory.tape import Size
from tools.models import ModelSpec
from tools.units import MIB

_SPECS: dict[int, ModelSpec] = {}
_TABLE_POSITIONS = 32768
"""Positions of the instruct models' own configs; base rows state their longest."""
_COMPUTE_FLOOR = 100 * MIB


@lru_cache(maxsize=1024)
def _peaks(
    spec_id: int, width: int, split: int, attention: str, cuda: bool, keys: int
) -> tuple[Size, ...]:
    spec = _SPECS[spec_id]
    mode = Mode(
        weight_width=width, norm_width=width, stream_width=width, trains=False,
        attention=attention, cuda=cuda,
    )  # fmt: skip
    held = 2 * width * (spec.hidden_size or 0) + 2 * width * (spec.head_dim or 0) + 16
    returned = 0.0
    if family_row(spec).get("returns_scores"):  # the layer before still holds its probabilities
        returned = width * (spec.num_attention_heads or 0) / split
    return tuple(
        size.plus(Size(0.0, held, returned))
        for plan in layer_kinds(spec, split, keys=keys).plans
        for size in build_layer(plan, mode).form.inference_peaks
    )


def layer_work(run: ServeRun, tokens: float, keys: float) -> float:
    """Largest working set of one layer for so many tokens at a time, in bytes."""
    key = id(run.spec)
    _SPECS.setdefault(key, run.spec)
    attention = "eager" if run.eager else "fused"
    cuda = run.asked.torch_build != "cpu"
    masked = masked_keys(run.spec, int(keys)) if run.engine == "transformers" else 0
    peaks = _peaks(key, run.width, run.tensor, attention, cuda, masked)
    return max(size.at(tokens, keys) for size in peaks)


def logits_work(run: ServeRun, tokens: float) -> float:
    """Logits of a prefill, with the hidden states that give them."""
    spec = run.spec
    if run.is_encoder or spec.no_lm_head:
        return 0.0
    vocab, hidden = spec.vocab_size or 0, spec.hidden_size or 0
    if run.old_logits:
        return tokens * (6 * vocab + 2 * hidden)
    if run.all_logits:
        return tokens * run.width * (vocab + hidden)
    return float(run.batch * vocab * run.width)


def kernel_buffers(run: ServeRun, tokens: float) -> float:
    """Buffers of quantised matrix kernels: split-k partial sums, a dequantised matrix."""
    groups = param_groups(run.spec)
    total = 0.0
    if run.row.get("split_k"):
        widest = max(linear.size_out for linear, _ in layer_linears(run.spec))
        total += float(run.row["split_k"]) * tokens * widest * 2
    if find_row("formats", run.weight_format, field="weight_format").get("dequant_buffer"):
        total += 2.0 * groups.layer_largest if run.spec.moe is None else 0.0
    return total


def rotary_tables(run: ServeRun) -> float:
    """Cos and sin of every position, held by each layer (transformers before 4.45)."""
    if not run.old_logits:
        return 0.0
    spec = run.spec
    positions = min(spec.max_position_embeddings or 0, _TABLE_POSITIONS)
    dim = spec.head_dim or 0
    return 2.0 * (spec.num_hidden_layers or 0) * positions * dim * run.width


def compute_buffer(run: ServeRun) -> float:
    """llama.cpp's graph buffer for one micro batch of 512 tokens."""
    spec = run.spec
    tokens = min(int(run.row["max_num_batched_tokens"]), run.context_len)
    vocab = spec.vocab_size or 0
    output = 4.0 * vocab * tokens
    scores = 4.0 * tokens * (spec.num_attention_heads or 1) * min(run.context_len, 32768)
    states = 4.0 * tokens * (2 * (spec.intermediate_size or 0) + 4 * (spec.hidden_size or 0))
    return max(output, scores * 0.25, states, _COMPUTE_FLOOR) + 16 * MIB
