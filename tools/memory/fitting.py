"""Does it fit: an estimate against the memory that a card gives."""

from __future__ import annotations

import math

from tools.errors import BadQuantityError
from tools.memory.result import FitResult, MemoryEstimate, Verdict


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
    verdict: Verdict = "does_not_fit"
    if high <= usable_bytes:
        verdict = "fits"
    elif need <= usable_bytes:
        verdict = "tight"
    return FitResult(verdict, usable_bytes - need, usable_bytes, need, low, high)
