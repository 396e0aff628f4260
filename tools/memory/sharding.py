"""How a run is spread over cards, read from the words that people use for it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from tools.errors import BadQuantityError
from tools.memory.tables import Row
from tools.memory.workload import TrainingWorkload


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


_PART = re.compile(r"(fsdp|zero|ddp|tp|dp|pp|ep|cp)[-_ ]?(\d*)")
_PLAIN = frozenset({"none", "single", "no", "dp"})


@lru_cache(maxsize=256)
def _read(text: str) -> tuple[tuple[str, int], ...]:
    return tuple((kind, int(size) if size else 0) for kind, size in _PART.findall(text))


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
    found = dict(_read(text))
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
    kind = _kind(found, row, cards, groups)
    offload = (workload.offload or ("both" if workload.cpu_offload else "")).casefold()
    whole = offload in ("both", "nvme", "cpu", "true", "all")
    return Sharding(
        kind=kind,
        data=(found.get("fsdp") or cards // groups),
        tensor=tensor,
        pipeline=pipeline,
        expert=workload.expert_parallel_size or found.get("ep") or 1,
        context=context,
        sequence=bool(workload.sequence_parallel) or (kind == "fsdp" and tensor > 1),
        offload_optimizer=whole or "optim" in offload,
        offload_params=whole or "param" in offload,
        nvme="nvme" in offload,
        distributed_optimizer=kind == "megatron",
    )


def _kind(found: dict[str, int], row: Row, cards: int, groups: int) -> str:
    if "zero" in found:
        return f"zero{found['zero'] or 3}"
    if "fsdp" in found:
        return "fsdp"
    if row.get("megatron") or groups > 1:
        return "megatron"
    return "ddp" if cards > 1 else "none"
