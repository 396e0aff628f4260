"""From what was said to what is computed: a training workload with every field filled in."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from tools.errors import BadQuantityError
from tools.memory.defaults import LORA_RANK, SEQ_LEN
from tools.memory.images import image_tokens
from tools.memory.params import is_encoder
from tools.memory.sharding import Sharding, sharding_of
from tools.memory.tables import Row, find_row, row_name, table
from tools.memory.workload import TrainingWorkload
from tools.models import ModelSpec

Assumed = tuple[str, int | float | str | bool]
ADAPTER_METHODS = frozenset({"lora", "qlora", "dora"})
_MIXED = frozenset({"bf16-mixed", "fp16-mixed", "fp8"})
_TRL = frozenset({"dpo", "kto", "orpo", "grpo", "ppo", "reward"})
"""Objectives that transformers has no trainer for: TRL's are meant."""
_PAIRS = frozenset({"dpo", "orpo", "reward"})
_LONGEST_SAMPLE = 1304
"""Longest sample of the Alpaca set in Llama-2 tokens: what a cap far above it really sees."""
_METHOD_OPTIMIZERS = {"lomo": "lomo", "galore": "galore-adamw"}
_SHARDED = frozenset({"zero1", "zero2", "zero3", "fsdp", "megatron"})


class TrainRun(NamedTuple):
    """A training run with nothing left open."""

    spec: ModelSpec
    method: str
    objective: str
    quantization: str
    precision: str
    weight_width: int
    """Bytes of a base weight on the card while it computes."""
    master_width: int
    """Bytes of the stored trained weight (4 with fp32 masters)."""
    autocast: bool
    adapter: bool
    rank: int
    targets: frozenset[str]
    """Roles of adapted linears (data/targets.json)."""
    code: str
    """Model code other than transformers': fused-qkv, litgpt, or empty."""
    adapter_width: int
    dropout: bool
    double_quant: bool
    kbit_prepared: bool
    optimizer: str
    optimizer_row: Row
    optimizer_impl: str
    in_backward: bool
    tokens: int
    """Tokens that a card passes through its layers at a time."""
    scored_tokens: int
    """Tokens that get logits."""
    seq_len: int
    batch: int
    checkpointing: str
    attention: str
    fused_ce: bool
    held: bool
    head_quantized: bool
    keeps_inputs: bool
    """Every 4-bit linear keeps its input for backward (bitsandbytes before 0.44)."""
    kept_grads: bool
    masked: bool
    compiled: bool
    framework: str
    framework_row: Row
    sharding: Sharding
    assumed: tuple[Assumed, ...]
    asked: TrainingWorkload


class _Filler:
    """Takes a field when it was said, else a default that is noted."""

    def __init__(self, workload: TrainingWorkload, row: Row) -> None:
        self.workload = workload
        self.row = row
        self.assumed: list[Assumed] = []

    def get(self, field: str, default: Any, *, note: bool = True) -> Any:
        value = getattr(self.workload, field)
        if value is not None:
            return value
        value = self.row.get(field, default)
        if note:
            self.assumed.append((field, value))
        return value


def resolve_training(workload: TrainingWorkload) -> TrainRun:
    """Every field of a training run, with what was assumed.

    Raises:
        BadQuantityError: If a name is not known (optimizer, framework, parallelism).
    """
    framework = _framework(workload.framework)
    row = table("frameworks")[framework]
    fill = _Filler(workload, row)
    if workload.framework is None:
        fill.assumed.append(("framework", framework))
    method = _method(fill)
    sharding = sharding_of(workload, row)
    numbers = _numbers(fill, method, sharding)
    sample = _sample(fill, sharding)
    adapters = _adapters(fill, method, sharding)
    loop = _loop(fill, method, numbers, sharding)
    return TrainRun(
        spec=workload.model,
        method=method,
        objective=workload.objective or ("classify" if is_encoder(workload.model) else "sft"),
        **numbers,
        **sample,
        **adapters,
        **loop,
        framework=framework,
        framework_row=row,
        sharding=sharding,
        assumed=tuple(fill.assumed),
        asked=workload,
    )


def _numbers(fill: _Filler, method: str, sharding: Sharding) -> dict[str, Any]:
    """Formats of weights and states."""
    quantization = _quantization(fill, method)
    is_adapter = method in ADAPTER_METHODS
    precision = fill.get("precision", "pure-bf16" if is_adapter else "bf16-mixed")
    master, width = _widths(fill.workload, precision, quantization != "none", sharding)
    optimizer = fill.get("optimizer", _METHOD_OPTIMIZERS.get(method, "adamw"))
    name = optimizer.replace("per-layer", "")
    return {
        "quantization": quantization,
        "precision": precision,
        "weight_width": width,
        "master_width": master,
        "optimizer": optimizer,
        "optimizer_row": find_row("optimizers", name, field="optimizer"),
    }


def _sample(fill: _Filler, sharding: Sharding) -> dict[str, Any]:
    """Tokens of one step on one card."""
    lengths = _lengths(fill)
    return {
        "tokens": lengths.tokens // sharding.context,
        "scored_tokens": lengths.scored // sharding.context,
        "seq_len": lengths.seq_len,
        "batch": lengths.batch,
    }


def _adapters(fill: _Filler, method: str, sharding: Sharding) -> dict[str, Any]:
    """What is trained beside frozen weights, and the layers' code that it asks for."""
    adapter = method in ADAPTER_METHODS
    targets, names_fused = (
        target_roles(fill.get("lora_targets", "all-linear")) if adapter else (frozenset(), False)
    )
    return {
        "code": str(fill.row.get("code", "")) or ("fused-qkv" if names_fused else ""),
        "adapter": adapter,
        "rank": fill.get("lora_rank", LORA_RANK) if adapter else 0,
        "targets": targets,
        "adapter_width": _adapter_width(fill, adapter, sharding),
        "dropout": bool(fill.workload.lora_dropout),
    }


def _loop(
    fill: _Filler, method: str, numbers: Row, sharding: Sharding
) -> dict[str, Any]:  # fmt: skip
    """How the step is run: what is kept, recomputed, fused and freed."""
    workload = fill.workload
    quantization, precision = numbers["quantization"], numbers["precision"]
    old = _before_torch_2(workload, fill.row)
    return {
        "autocast": _autocast(fill, precision, sharding),
        "double_quant": _double_quant(fill, quantization),
        "kbit_prepared": _kbit(fill, quantization, precision, sharding),
        "optimizer_impl": "for-loop" if old else fill.get("optimizer_impl", "fused", note=False),
        "in_backward": _in_backward(
            workload, numbers["optimizer"], numbers["optimizer_row"], method
        ),
        "checkpointing": _checkpointing(fill, quantization, method in ADAPTER_METHODS),
        "attention": fill.get("attention", "sdpa", note=False),
        "fused_ce": bool(fill.get("fused_ce", False)),
        "held": bool(fill.get("logits_held_through_backward", False, note=False)),
        "head_quantized": quantization != "none"
        and bool(fill.get("lm_head_quantized", False, note=False)),
        "keeps_inputs": bool(fill.get("keeps_quantized_inputs", False, note=False)),
        "kept_grads": _kept_grads(workload, method, old=old),
        "masked": _masked(workload, fill.row),
        "compiled": bool(workload.torch_compile),
    }


def _framework(given: str | None) -> str:
    if given is None:
        return "common recipe"
    found = row_name("frameworks", given)
    if found is None:
        raise BadQuantityError(
            field="framework", given=given, allowed=", ".join(table("frameworks"))
        )
    return found


def _method(fill: _Filler) -> str:
    given = fill.workload.method
    if given is not None:
        return given
    if fill.workload.quantization not in (None, "none"):
        return "qlora"
    if fill.workload.lora_rank or fill.workload.lora_targets:
        return "lora"
    fill.assumed.append(("method", "full"))
    return "full"


def _quantization(fill: _Filler, method: str) -> str:
    given = fill.workload.quantization
    if given is not None and not (given == "none" and method == "qlora"):
        return given
    if method == "qlora":
        fill.assumed.append(("quantization", "nf4"))
        return "nf4"
    return "none"


def _autocast(fill: _Filler, precision: str, sharding: Sharding) -> bool:
    if fill.workload.autocast is not None:
        return fill.workload.autocast
    if sharding.kind in _SHARDED or precision == "fp32":
        return False
    return precision in _MIXED or bool(fill.row.get("autocast", False))


def _widths(
    workload: TrainingWorkload, precision: str, quantized: bool, sharding: Sharding
) -> tuple[int, int]:
    """Bytes of the stored trained weight and of the weight that computes."""
    if precision == "fp32" or (workload.weights_dtype == "fp32" and precision in _MIXED):
        return 4, 4
    if precision in _MIXED:
        return 4, 2 if sharding.kind in _SHARDED or quantized else 4
    return 2, 2


def _adapter_width(fill: _Filler, adapter: bool, sharding: Sharding) -> int:
    """Bytes of an adapter weight as it computes; sharding engines cast the module to 16 bit."""
    if not adapter or sharding.kind in _SHARDED:
        return 2
    return 2 if fill.get("adapter_dtype", "fp32", note=False) == "16-bit" else 4


def _in_backward(workload: TrainingWorkload, optimizer: str, row: Row, method: str) -> bool:
    said = bool(workload.optimizer_in_backward) or "per-layer" in optimizer
    return said or bool(row.get("in_backward")) or method == "lomo"


@lru_cache(maxsize=512)
def target_roles(given: tuple[str, ...] | str) -> tuple[frozenset[str], bool]:
    """Roles of the linears that LoRA targets name, and whether a fused attention matrix is one.

    Raises:
        BadQuantityError: If a name is no linear that is known.
    """
    names = [given] if isinstance(given, str) else list(given)
    roles: set[str] = set()
    fused = False
    for name in names:
        found = find_row("targets", name, field="lora_targets")["roles"]
        roles |= set(found)
        fused = fused or "qkv" in found
    if "w2" in names and "c_proj" in names:
        roles |= {"up"}
    return frozenset(roles), fused


def _double_quant(fill: _Filler, quantization: str) -> bool:
    if quantization not in ("nf4", "fp4"):
        return False
    return bool(fill.get("double_quant", True))


def _kbit(fill: _Filler, quantization: str, precision: str, sharding: Sharding) -> bool:
    """Whether norms, embeddings and head are fp32; sharded 4-bit training never raises them.

    TRL's trainers of preferences and rewards cast embeddings and head of a 4-bit model back to
    bf16 after preparing it (prepare_peft_model); fp16 runs keep them in fp32.
    """
    if quantization not in ("nf4", "fp4", "int8"):
        return False
    casts_back = fill.row.get("casts_embeddings_back") and fill.workload.objective in _TRL
    if casts_back and fill.workload.kbit_prepared is None and quantization != "int8":
        if "fp16" not in precision:
            fill.assumed.append(("kbit_prepared", False))
            return False
    if sharding.kind in ("fsdp", "zero3") and fill.workload.kbit_prepared is None:
        return False
    return bool(fill.get("kbit_prepared", True))


def _checkpointing(fill: _Filler, quantization: str, adapter: bool) -> str:
    value: str = fill.get("gradient_checkpointing", "none")
    return value


def _kept_grads(workload: TrainingWorkload, method: str, *, old: bool) -> bool:
    if workload.gradients_kept_across_steps is not None:
        return workload.gradients_kept_across_steps
    return method == "full" and (old or (workload.gradient_accumulation or 1) > 1)


def _before_torch_2(workload: TrainingWorkload, row: Row) -> bool:
    """An encoder under the Trainer with eager attention: a run from before fused kernels.

    The libraries of that time zeroed gradients in place and stepped tensor by tensor.
    """
    said = workload.optimizer_impl is not None or not row.get("embedding_state_32bit")
    return not said and workload.attention == "eager" and is_encoder(workload.model)


def _masked(workload: TrainingWorkload, row: Row) -> bool:
    """Whether a mask is materialised: padding, or transformers 4.5x without a cache."""
    if workload.padding_mask is not None:
        return workload.padding_mask
    return bool(row.get("builds_mask")) and workload.attention == "sdpa"


class _Lengths(NamedTuple):
    tokens: int
    scored: int
    seq_len: int
    batch: int


def _lengths(fill: _Filler) -> _Lengths:
    """Tokens of one step on one card, by objective."""
    workload = fill.workload
    batch = fill.get("micro_batch_size", 1)
    seq_len = _sequence(fill) + image_tokens(workload, fill.assumed)
    objective = workload.objective or ("classify" if is_encoder(workload.model) else "sft")
    sequences = batch * (2 if objective in _PAIRS and not workload.packed else 1)
    tokens = sequences * seq_len
    if objective == "grpo" and workload.completion_len:
        return _Lengths(tokens, sequences * workload.completion_len, seq_len, sequences)
    if objective == "contrastive":
        query, each = fill.get("max_prompt_len", min(seq_len, 64)), workload.documents or 1
        return _Lengths(batch * (each * seq_len + query), 0, seq_len, (each + 1) * batch)
    if objective == "rerank" and workload.documents:
        sequences *= workload.documents
        return _Lengths(sequences * seq_len, 0, seq_len, sequences)
    if objective in ("rerank", "reward", "classify"):
        return _Lengths(tokens, 0, seq_len, sequences)
    return _Lengths(tokens, tokens, seq_len, sequences)


def _sequence(fill: _Filler) -> int:
    workload = fill.workload
    cap: int | None = workload.seq_len
    if cap is None:
        longest = workload.model.max_position_embeddings or SEQ_LEN
        return int(fill.get("seq_len", min(SEQ_LEN, longest)))
    if workload.seq_len_is_cap and not workload.variable_length and not workload.packed:
        if cap > _LONGEST_SAMPLE:
            fill.assumed.append(("longest_sample", _LONGEST_SAMPLE))
        return min(cap, _LONGEST_SAMPLE)
    return cap
