"""What a process holds beyond live tensors: allocator slack, CUDA context, communication."""

from __future__ import annotations

from typing import NamedTuple

from tools.gpus import GpuSpec
from tools.units import GIB, MIB

_CONTEXT_MIB = {
    "Turing": 141,
    "Volta": 1281,
    "Ampere": 420,
    "Ada Lovelace": 430,
    "Hopper": 550,
    "Blackwell": 600,
}
"""CUDA context with lazy loading, by architecture; sources in docs/accuracy.md."""
_DATACENTRE_MIB = 480
_UNKNOWN_MIB = 450
_NCCL_BYTES = 1 * GIB
_CUBLAS_BYTES = 8 * MIB
_CUBLAS_HOPPER_BYTES = 32 * MIB


class Overhead(NamedTuple):
    """Bytes above the live tensors."""

    workspace: int
    """cuBLAS workspace: allocated through torch, so every counter sees it."""
    slack: int
    """Reserved but not allocated."""
    context: int
    communication: int


def context_bytes(gpu: GpuSpec | None) -> int:
    """CUDA context and kernels of one process on one card."""
    if gpu is None:
        return _UNKNOWN_MIB * MIB
    if gpu.architecture == "Ampere" and (gpu.memory_label_gb or 0) >= 40:
        return _DATACENTRE_MIB * MIB
    return _CONTEXT_MIB.get(gpu.architecture or "", _UNKNOWN_MIB) * MIB


def cublas_bytes(gpu: GpuSpec | None, *, build: str | None = None) -> int:
    """Workspace of one cuBLAS handle and stream; a CPU build has none."""
    if build == "cpu":
        return 0
    if gpu is not None and gpu.architecture in ("Hopper", "Blackwell"):
        return _CUBLAS_HOPPER_BYTES
    return _CUBLAS_BYTES


def communication_bytes(cards: int) -> int:
    """NCCL buffers of one card."""
    return _NCCL_BYTES if cards > 1 else 0
