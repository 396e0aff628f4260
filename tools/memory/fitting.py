"""Does it fit: an estimate against the memory that a card gives."""

from __future__ import annotations

import math

from tools.errors import BadQuantityError
from tools.memory.result import FitResult, MemoryEstimate
from tools.units import format_gib


def fit(estimate: MemoryEstimate, usable_bytes: int) -> FitResult:
    """Verdict of an estimate against usable memory of one card.

    Args:
        estimate: What a card needs; the process figure is compared.
        usable_bytes: Memory a process can get (not the label on the box).

    Returns:
        fits when even the upper bound is below, does_not_fit when the point estimate is above,
        else tight.

    Raises:
        BadQuantityError: If usable_bytes is not positive.
    """
    if usable_bytes <= 0:
        raise BadQuantityError(field="usable_bytes", given=usable_bytes, allowed="more than 0")
    share = estimate.pool_share
    if share is not None:
        usable_bytes = math.floor(usable_bytes * share)
    need, low, high = estimate.process_bytes, estimate.low_bytes, estimate.high_bytes
    if high <= usable_bytes:
        verdict, reason = "fits", "the upper bound is below the usable memory"
    elif need <= usable_bytes:
        verdict, reason = "tight", "the estimate is below the usable memory, its upper bound is not"
    else:
        verdict, reason = "does_not_fit", "the estimate is above the usable memory"
    text = f"{reason}: {format_gib(need)} of {format_gib(usable_bytes)}"
    return FitResult(verdict, usable_bytes - need, usable_bytes, need, low, high, text)  # type: ignore[arg-type]
