"""Inverse questions: the largest batch, the longest context, the fewest cards that still fit.

Each is a search over `estimate`: memory never falls when a batch, a length or a concurrency
grows, so doubling and then halving the gap finds the last value that fits.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable
from typing import Any

from tools.errors import BadQuantityError, UserInputError
from tools.gpus import GpuSpec
from tools.memory.estimator import estimate
from tools.memory.overhead import context_bytes
from tools.memory.params import decoder_of
from tools.memory.result import MemoryEstimate, SmallestCard
from tools.memory.serving.cache import cache_form
from tools.memory.serving.resolve import resolve_inference
from tools.memory.workload import InferenceWorkload, TrainingWorkload, Workload

_LARGEST = 1 << 24


def fits(workload: Workload, usable_bytes: int) -> bool:
    """Whether the point estimate is within the usable memory of one card.

    Raises:
        BadQuantityError: If usable_bytes is not positive.
    """
    if usable_bytes <= 0:
        raise BadQuantityError(field="usable_bytes", given=usable_bytes, allowed="more than 0")
    need = estimate(workload)
    return need.process_bytes <= budget_bytes(need, usable_bytes)


def budget_bytes(need: MemoryEstimate, usable_bytes: int) -> int:
    """Part of a card's usable memory that the run may take."""
    return usable_bytes if need.pool_share is None else math.floor(usable_bytes * need.pool_share)


def _last_that_fits(works: Callable[[int], bool], limit: int) -> int:
    if not works(1):
        return 0
    low = 1
    while low < limit and works(min(low * 2, limit)):
        low = min(low * 2, limit)
    high = min(low * 2, limit)
    while high - low > 1:
        middle = (low + high) // 2
        if works(middle):
            low = middle
        else:
            high = middle
    return low


def largest_batch(workload: Workload, usable_bytes: int) -> int:
    """The largest micro batch (training) or batch (serving) that fits; 0 when even 1 does not."""
    field = "micro_batch_size" if isinstance(workload, TrainingWorkload) else "batch"
    return _search(workload, usable_bytes, field, _LARGEST)


def longest_context(workload: Workload, usable_bytes: int) -> int:
    """The longest sequence (training) or context (serving) in tokens that fits; 0 for none."""
    if isinstance(workload, TrainingWorkload):
        return _search(workload, usable_bytes, "seq_len", _LARGEST)
    return _search(workload, usable_bytes, "context_len", _LARGEST)


def most_concurrent(workload: InferenceWorkload, usable_bytes: int) -> int:
    """Sequences at the workload's context that fit at a time; 0 when not even one does."""
    one = dataclasses.replace(workload, concurrency=None)
    return _search(one, usable_bytes, "batch", _LARGEST)


def most_kv_tokens(workload: InferenceWorkload, usable_bytes: int) -> int:
    """Tokens that the cache can hold beside weights and working memory; 0 for none.

    What a server's log calls the size of its KV cache.
    """
    need = estimate(dataclasses.replace(workload, batch=1, concurrency=None))
    room = budget_bytes(need, usable_bytes) - (need.process_bytes - need.kv_cache_bytes)
    if room <= 0:
        return 0
    run = resolve_inference(workload)
    spec = decoder_of(workload.model) or workload.model
    form = cache_form(spec)
    split = min(run.tensor, form.kv_heads) * run.layers_over
    per_token = form.elements(run.context_len) / run.context_len * run.kv_bits / 8 / split
    per_token *= float(run.row["slack"])
    if per_token == 0:
        return _LARGEST
    return math.floor(room / per_token)


def _search(workload: Workload, usable_bytes: int, field: str, limit: int) -> int:
    if usable_bytes <= 0:
        raise BadQuantityError(field="usable_bytes", given=usable_bytes, allowed="more than 0")

    def works(value: int) -> bool:
        changed: dict[str, Any] = {field: value}
        return fits(dataclasses.replace(workload, **changed), usable_bytes)

    return _last_that_fits(works, limit)


def fewest_cards(
    workload: Workload, usable_bytes: int, *, counts: Iterable[int] = (1, 2, 4, 8, 16, 32, 64)
) -> int | None:
    """The smallest count of equal cards on which the workload fits, or None when none does.

    Training is spread with ZeRO-3 (FSDP when the workload says so), serving with tensor
    parallelism; counts that the model's shapes do not allow are passed over.
    """
    for count in sorted(counts):
        try:
            if fits(over_cards(workload, count), usable_bytes):
                return count
        except UserInputError:
            continue
    return None


def over_cards(workload: Workload, count: int) -> Workload:
    """The same workload over `count` cards, spread so that the need per card falls."""
    if isinstance(workload, InferenceWorkload):
        return dataclasses.replace(
            workload, gpu_count=count, tensor_parallel_size=None, pipeline_parallel_size=None
        )
    if count == 1:
        return dataclasses.replace(workload, gpu_count=1, parallelism="none")
    spread = workload.parallelism
    if spread in (None, "none", "ddp", "single"):
        spread = "zero3"
    return dataclasses.replace(workload, gpu_count=count, parallelism=spread)


def smallest_card(workload: Workload, cards: Iterable[GpuSpec]) -> SmallestCard | None:
    """The card with the least memory on which the workload fits, or None.

    The estimate is made once; each card's CUDA context and usable memory are its own.
    """
    need = estimate(dataclasses.replace(workload, gpu=None))
    base = need.process_bytes - context_bytes(None)
    found: SmallestCard | None = None
    for card in cards:
        usable = card.usable_bytes
        if usable is None:
            continue
        process = base + context_bytes(card)
        if process <= budget_bytes(need, usable) and (found is None or usable < found.usable_bytes):
            found = SmallestCard(card, usable, process)
    return found
