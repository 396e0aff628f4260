"""What the caching allocator of PyTorch adds to large tensors.

A request above 10 MiB gets a segment of its own, a multiple of 2 MiB. What is left over is split
off only when it is more than 1 MiB; else the tensor counts with it in memory_allocated. A 43 MiB
matrix costs 44, a 45 MiB one costs 45. (c10/cuda/CUDACachingAllocator.cpp: kRoundLarge,
kMinLargeAlloc, should_split.)
"""

from __future__ import annotations

from tools.memory.params import layer_linears, param_groups
from tools.memory.speccache import by_identity
from tools.models import ModelSpec
from tools.units import MIB

_LARGE = 10 * MIB
_STEP = 2 * MIB
_LEFT_WHOLE = 1 * MIB
_BLOCK = 512


def rounding_bytes(size: float) -> int:
    """Bytes that one tensor of this size takes beyond its own.

    >>> rounding_bytes(43 * 1024**2) // 1024**2, rounding_bytes(45 * 1024**2 - 2048)
    (1, 0)
    """
    whole = -(-int(size) // _BLOCK) * _BLOCK
    if whole < _LARGE:
        return 0
    left = -whole % _STEP
    return left if left <= _LEFT_WHOLE else 0


@by_identity
def weight_rounding(spec: ModelSpec, width: float, split: int = 1) -> int:
    """The same summed over a model's matrices.

    Args:
        spec: A decoder.
        width: Bytes of one element (0.5 for 4-bit formats).
        split: Cards that share each matrix.
    """
    total = 0
    for linear, count in layer_linears(spec):
        total += count * rounding_bytes(linear.params * width / split)
    groups = param_groups(spec)
    width = max(width, 2)
    for table in (groups.embedding, groups.head):
        total += rounding_bytes(table * width / split)
    return total
