"""From what was said to what is computed: a training workload with every field filled in."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from tools.errors import BadQuantityError
from tools.memory.defaults import LORA_RANK, SEQ_LEN
from tools.memory.tables import Row, find_row, row_name, table
from tools.memory.workload import TrainingWorkload
from tools.models import ModelSpec

Assumed = tuple[str, int | float | str | bool]
ADAPTER_METHODS = frozenset({"lora", "qlora", "dora"})
_MIXED = frozenset({"bf16-mixed", "fp16-mixed", "fp8"})


class Sharding(NamedTuple):
    """How a run is spread over cards."""

    kind: str
    """none, ddp, zero1, zero2, zero3, fsdp, megatron."""
    data: int
    """Cards that states are sharded over, or replicas."""
    tensor: int
    pipeline: int
    expert: int
    context: int
    sequence: bool
    offload_optimizer: bool
    offload_params: bool
    distributed_optimizer: bool


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
    adapter_width: int
    dropout: bool
    double_quant: bool
    kbit_prepared: bool
    optimizer: str
    optimizer_row: Row
    optimizer_impl: str
    in_backward: bool
    tokens: int
    seq_len: int
    batch: int
    checkpointing: str
    attention: str
    fused_ce: bool
    chunked_ce: bool
    held: bool
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
    framework = (row_name("frameworks", workload.framework) if workload.framework else None) or (
        "plain loop" if workload.framework else "common recipe"
    )
    row = table("frameworks")[framework]
    fill = _Filler(workload, row)
    if workload.framework is None:
        fill.assumed.append(("framework", framework))
    method = _method(fill)
    adapter = method in ADAPTER_METHODS
    quantization = _quantization(fill, method)
    quantized = quantization != "none"
    precision = fill.get("precision", "bf16-mixed" if method == "full" else "pure-bf16")
    sharding = sharding_of(workload, row)
    autocast = _autocast(fill, precision, sharding, quantized)
    master, width = _widths(workload, precision, adapter, quantized, sharding)
    optimizer = fill.get("optimizer", "adamw")
    optimizer_row = find_row("optimizers", _optimizer_word(optimizer), field="optimizer")
    batch = fill.get("micro_batch_size", 1)
    seq_len = fill.get("seq_len", SEQ_LEN)
    objective = workload.objective or "sft"
    return TrainRun(
        spec=workload.model,
        method=method,
        objective=objective,
        quantization=quantization,
        precision=precision,
        weight_width=width,
        master_width=master,
        autocast=autocast,
        adapter=adapter,
        rank=fill.get("lora_rank", LORA_RANK) if adapter else 0,
        targets=_targets(fill) if adapter else frozenset(),
        adapter_width=_adapter_width(fill, adapter),
        dropout=bool(workload.lora_dropout),
        double_quant=_double_quant(fill, quantization),
        kbit_prepared=_kbit(fill, quantization),
        optimizer=optimizer,
        optimizer_row=optimizer_row,
        optimizer_impl=fill.get("optimizer_impl", "fused", note=False),
        in_backward=bool(workload.optimizer_in_backward) or bool(optimizer_row.get("in_backward"))
        or method == "lomo" or "per-layer" in optimizer,
        tokens=batch * seq_len,
        seq_len=seq_len,
        batch=batch,
        checkpointing=fill.get("gradient_checkpointing", "none"),
        attention=fill.get("attention", "sdpa", note=False),
        fused_ce=bool(fill.get("fused_ce", False)),
        chunked_ce=bool(row.get("chunked_ce")),
        held=bool(fill.get("logits_held_through_backward", False, note=False)),
        kept_grads=_kept_grads(workload, method),
        masked=bool(workload.padding_mask),
        compiled=bool(workload.torch_compile),
        framework=framework,
        framework_row=row,
        sharding=sharding,
        assumed=tuple(fill.assumed),
        asked=workload,
    )  # fmt: skip


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


def _adapter_width(fill: _Filler, adapter: bool) -> int:
    return 2 if adapter and fill.get("adapter_dtype", "fp32", note=False) == "16-bit" else 4


def _quantization(fill: _Filler, method: str) -> str:
    given = fill.workload.quantization
    if given is not None:
        return given
    if method == "qlora":
        fill.assumed.append(("quantization", "nf4"))
        return "nf4"
    return "none"


def _autocast(fill: _Filler, precision: str, sharding: Sharding, quantized: bool) -> bool:
    if fill.workload.autocast is not None:
        return fill.workload.autocast
    if sharding.kind in ("zero3", "zero2", "zero1", "fsdp", "megatron") and not quantized:
        return False
    if precision in _MIXED:
        return True
    if precision == "fp32":
        return False
    return bool(fill.row.get("autocast", False))


def _widths(
    workload: TrainingWorkload, precision: str, adapter: bool, quantized: bool, sharding: Sharding
) -> tuple[int, int]:
    """Bytes of the stored trained weight and of the weight that computes."""
    if precision == "fp32":
        return 4, 4
    if precision in _MIXED:
        if workload.weights_dtype == "fp32":
            return 4, 4
        if sharding.kind in ("zero1", "zero2", "zero3", "fsdp", "megatron"):
            return 4, 2
        if quantized:
            return 4, 2
        return 4, 4
    return 2, 2


def _optimizer_word(text: str) -> str:
    return text.replace("per-layer", "").strip()


def _targets(fill: _Filler) -> frozenset[str]:
    given = fill.get("lora_targets", "all-linear")
    names = [given] if isinstance(given, str) else list(given)
    if "mlp" in names:
        names += ["gate_proj", "up_proj", "down_proj"]
    return frozenset(names)


def _double_quant(fill: _Filler, quantization: str) -> bool:
    if quantization not in ("nf4", "fp4"):
        return False
    return bool(fill.get("double_quant", True))


def _kbit(fill: _Filler, quantization: str) -> bool:
    if quantization not in ("nf4", "fp4", "int8"):
        return False
    return bool(fill.get("kbit_prepared", True))


def _kept_grads(workload: TrainingWorkload, method: str) -> bool:
    if workload.gradients_kept_across_steps is not None:
        return workload.gradients_kept_across_steps
    return method == "full" and (workload.gradient_accumulation or 1) > 1


_PART = re.compile(r"(fsdp|zero|tp|dp|pp|ep|cp|ddp)-?(\d*)")


def sharding_of(workload: TrainingWorkload, row: Row) -> Sharding:
    """Reads the parallelism of a run.

    Raises:
        BadQuantityError: If the word is not known or the sizes do not multiply to the cards.
    """
    cards = workload.gpu_count or 1
    text = (
        workload.parallelism or row.get("parallelism") or ("ddp" if cards > 1 else "none")
    ).casefold()
    found = {kind: int(size) if size else 0 for kind, size in _PART.findall(text)}
    if text not in ("none", "single", "dp") and not found:
        raise BadQuantityError(
            field="parallelism", given=workload.parallelism,
            allowed="none, ddp, zero1, zero2, zero3, fsdp, tpN, ppN, epN, cpN and sums of them",
        )  # fmt: skip
    tensor = workload.tensor_parallel_size or found.get("tp") or 1
    pipeline = workload.pipeline_parallel_size or found.get("pp") or 1
    expert = workload.expert_parallel_size or found.get("ep") or 1
    context = workload.context_parallel_size or found.get("cp") or 1
    data = max(cards // (tensor * pipeline * context), 1)
    kind = "none"
    if "zero" in found:
        kind = f"zero{found['zero'] or 3}"
    elif "fsdp" in found:
        kind = "fsdp"
        data = found["fsdp"] or data
    elif row.get("megatron") or "tp" in found or "pp" in found or tensor * pipeline > 1:
        kind = "megatron"
    elif cards > 1:
        kind = "ddp"
    offload = workload.offload or ("both" if workload.cpu_offload else "")
    return Sharding(
        kind=kind, data=data, tensor=tensor, pipeline=pipeline, expert=expert, context=context,
        sequence=bool(workload.sequence_parallel) or (kind == "fsdp" and tensor > 1),
        offload_optimizer=offload in ("optimizer", "both"),
        offload_params=offload in ("parameters", "params", "both"),
        distributed_optimizer=kind == "megatron",
    )  # fmt: skip
