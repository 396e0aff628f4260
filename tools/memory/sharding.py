"""How a run is spread over cards, read from the words that people use for it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from tools.errors import BadQuantityError
from tools.memory.tables import Row
from tools.memory.workload import TrainingWorkload
from tools.models import ModelSpec


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
    nvme: bool
    """Offloaded states stand on disk; host memory holds their pinned buffers only."""
    distributed_optimizer: bool


_PART = re.compile(r"(?<![a-z])(fsdp|zero|ddp|tp|dp|pp|ep|cp)[-_ ]?(\d*)")
_VERSION = re.compile(r"\s*fsdp[-_ ]?[12]\s*")
"""PyTorch's first and second FSDP: the number is no count of cards."""
_PLAIN = frozenset({"none", "single", "no", "dp", "deepspeed"})
"""Words without shards; DeepSpeed's own default is stage 0."""


@lru_cache(maxsize=256)
def _read(text: str) -> tuple[tuple[str, int], ...]:
    if _VERSION.fullmatch(text):
        return (("fsdp", 0),)
    return tuple((kind, int(size) if size else 0) for kind, size in _PART.findall(text))


def _bare(text: str) -> bool:
    """True for tp, pp or cp alone, without a count: over all cards."""
    return text.strip() in ("tp", "pp", "cp")


def sharding_of(workload: TrainingWorkload, row: Row) -> Sharding:
    """Reads the parallelism of a run.

    Raises:
        BadQuantityError: If the word is not known, or the sizes need more cards than there are.
    """
    cards = workload.gpu_count or 1
    text = workload.parallelism
    if text is None:
        text = str(row.get("parallelism", "ddp")) if cards > 1 else "none"
    text = text.casefold()
    found = {text.strip(): cards} if _bare(text) else dict(_read(text))
    if not found and text not in _PLAIN:
        raise BadQuantityError(
            field="parallelism", given=workload.parallelism,
            allowed="none, ddp, zero1, zero2, zero3, fsdp, tpN, ppN, epN, cpN and sums of them",
        )  # fmt: skip
    tensor = workload.tensor_parallel_size or found.get("tp") or 1
    pipeline = workload.pipeline_parallel_size or found.get("pp") or 1
    context = workload.context_parallel_size or found.get("cp") or 1
    groups = tensor * pipeline * context
    if cards % groups:
        raise BadQuantityError(
            field="gpu_count", given=cards,
            allowed=f"a multiple of tensor x pipeline x context = {groups}",
        )  # fmt: skip
    expert = workload.expert_parallel_size or found.get("ep") or 1
    check_divisibility(workload.model, tensor=tensor, pipeline=pipeline, expert=expert)
    kind = _kind(found, row, cards, groups, text)
    offload = (workload.offload or ("both" if workload.cpu_offload else "")).casefold()
    whole = offload in ("both", "nvme", "cpu", "true", "all")
    return Sharding(
        kind=kind,
        data=(found.get("fsdp") or cards // groups),
        tensor=tensor,
        pipeline=pipeline,
        expert=expert,
        context=context,
        sequence=bool(workload.sequence_parallel) or (kind == "fsdp" and tensor > 1),
        offload_optimizer=whole or "optim" in offload,
        offload_params=whole or "param" in offload,
        nvme="nvme" in offload,
        distributed_optimizer=kind == "megatron",
    )


def _kind(found: dict[str, int], row: Row, cards: int, groups: int, text: str) -> str:
    stage = found.get("zero")
    if stage is not None and stage > 3:
        raise BadQuantityError(
            field="parallelism", given=f"zero{stage}", allowed="zero0, zero1, zero2, zero3"
        )
    if stage is not None and not re.search(r"zero[-_ ]?0", text):
        return f"zero{stage or 3}"
    if "fsdp" in found:
        return "fsdp"
    if row.get("megatron") or groups > 1:
        return "megatron"
    return "ddp" if cards > 1 else "none"


def check_divisibility(spec: ModelSpec, *, tensor: int, pipeline: int = 1, expert: int = 1) -> None:
    """Refuses shard counts that the model's shapes do not allow.

    Raises:
        BadQuantityError: Names the field, the value and the counts that work.
    """
    heads = spec.num_attention_heads or 1
    kv_heads = heads if spec.mla is not None else spec.num_key_value_heads or heads

    def works(count: int) -> bool:
        return heads % count == 0 and (count % kv_heads == 0 or kv_heads % count == 0)

    if spec.num_attention_heads and tensor > 1 and not works(tensor):
        counts = ", ".join(str(count) for count in range(1, heads + 1) if works(count))
        raise BadQuantityError(
            field="tensor_parallel_size", given=tensor,
            allowed=f"a divisor of the {heads} attention heads that divides the {kv_heads} "
            f"key-value heads or is a multiple of them: {counts}",
        )  # fmt: skip
    layers = spec.num_hidden_layers or 1
    if pipeline > layers:
        raise BadQuantityError(
            field="pipeline_parallel_size", given=pipeline,
            allowed=f"at most the {layers} layers",
        )  # fmt: skip
    experts = spec.moe.num_experts if spec.moe else 1
    if expert > 1 and experts % expert:
        works_for = [str(count) for count in range(1, experts + 1) if experts % count == 0]
        raise BadQuantityError(
            field="expert_parallel_size", given=expert,
            allowed=f"a divisor of the {experts} experts: {', '.join(works_for)}"
            if spec.moe else "1: the model has no experts",
        )  # fmt: skip
