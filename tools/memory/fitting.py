"""Does it fit: a need against the memory that a card gives. The one home of verdicts.

Two readers ask two questions. Who calls the calculator with every setting wants to be sure: `fit`
says fits only where even the upper bound is below. Who asks the advisor has seldom said everything,
and the upper bound then is the worst of what was left open: `likely` says fits with room to spare.
"""

from __future__ import annotations

import math

from tools.errors import BadQuantityError
from tools.memory.result import FitResult, MemoryEstimate, Verdict

_ROOMY = 0.85
"""Share of the usable memory up to which a need leaves room whatever was left open."""


def judge(need_bytes: int, *, high_bytes: int, usable_bytes: int, room: float = 0.0) -> Verdict:
    """The verdict of a need with its upper bound.

    Args:
        need_bytes: Point estimate of what a process takes.
        high_bytes: Upper bound of it.
        usable_bytes: Memory a process can get.
        room: Share of the usable memory up to which the point estimate alone decides.

    Returns:
        fits when the upper bound is below, or the need leaves room; does_not_fit when the need is
        above; else tight.

    >>> judge(10, high_bytes=13, usable_bytes=12)
    'tight'
    >>> judge(10, high_bytes=13, usable_bytes=12, room=0.85)
    'fits'
    """
    if need_bytes > usable_bytes:
        return "does_not_fit"
    return "fits" if high_bytes <= usable_bytes or need_bytes <= room * usable_bytes else "tight"


def fit(estimate: MemoryEstimate, usable_bytes: int) -> FitResult:
    """Verdict of an estimate against usable memory of one card, for one who wants to be sure.

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
    verdict = judge(need, high_bytes=high, usable_bytes=usable_bytes)
    return FitResult(verdict, usable_bytes - need, usable_bytes, need, low, high)


def waiting_bytes(estimate: MemoryEstimate) -> int:
    """Cache of the requests beyond the first, where an engine lets them wait for room, in bytes.

    vLLM, SGLang and TGI take their share of the card at the start, measure what weights and work
    leave of it, and give that to the cache: requests that find none are queued, no memory runs
    out. 0 where there is no such pool or only one request.
    """
    if estimate.pool_share is None:
        return 0
    workload = estimate.workload
    said = getattr(workload, "batch", None) or getattr(workload, "concurrency", None)
    requests = int(said or dict(estimate.assumed).get("batch") or 1)
    return estimate.kv_cache_bytes - math.ceil(estimate.kv_cache_bytes / max(requests, 1))


def likely(
    need_bytes: int, *, high_bytes: int, usable_bytes: int, waiting_bytes: int = 0
) -> Verdict:
    """`judge` for a need of which not everything was said: room of 15 % is enough.

    Args:
        need_bytes: Point estimate of what a process takes.
        high_bytes: Upper bound of it.
        usable_bytes: Memory a process can get.
        waiting_bytes: Part of the need that an engine can do without by queueing: where the
            need is below, and the upper bound of the rest too, nothing can run out.

    >>> likely(91, high_bytes=128, usable_bytes=100)
    'tight'
    >>> likely(91, high_bytes=128, usable_bytes=100, waiting_bytes=40)
    'fits'
    """
    fixed_high = high_bytes * (need_bytes - waiting_bytes) / max(need_bytes, 1)
    if waiting_bytes and need_bytes <= usable_bytes and fixed_high <= usable_bytes:
        return "fits"
    return judge(need_bytes, high_bytes=high_bytes, usable_bytes=usable_bytes, room=_ROOMY)


def likely_verdict(estimate: MemoryEstimate, usable_bytes: int) -> Verdict:
    """Verdict of an estimate of which not everything was said.

    Args:
        estimate: What a card needs; the process figure is compared.
        usable_bytes: Memory a process can get, all of it: an engine's share can be raised. Only
            where the share was said and the need is above it, fits becomes tight.
    """
    need = estimate.process_bytes
    pool_bytes = math.floor(usable_bytes * (estimate.pool_share or 1))
    waiting = waiting_bytes(estimate)
    if waiting and need <= pool_bytes:
        return likely(
            need, high_bytes=estimate.high_bytes, usable_bytes=pool_bytes, waiting_bytes=waiting
        )
    verdict = likely(need, high_bytes=estimate.high_bytes, usable_bytes=usable_bytes)
    share = getattr(estimate.workload, "gpu_memory_utilization", None)
    is_above_share = share is not None and need > pool_bytes
    return "tight" if verdict == "fits" and is_above_share else verdict
