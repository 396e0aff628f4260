"""Recommendations for real jobs, judged again from scratch."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Literal

import pytest

from tools.catalog import (
    Constraints,
    Recommendation,
    RecommendedOffer,
    Work,
    gpu_of,
    recommend,
    usable_memory,
)
from tools.memory import (
    InferenceWorkload,
    MemoryEstimate,
    TrainingWorkload,
    estimate,
    fit,
    waiting_bytes,
)
from tools.models import find_model


def is_safe(needed: MemoryEstimate, usable_bytes: int) -> bool:
    """True when the upper bound is below what the card gives, or a seventh of it stays free.

    Of a server that queues, the upper bound without the cache of the requests that can wait.
    """
    result = fit(needed, usable_bytes)
    if result.verdict == "fits" or result.need_bytes <= 0.85 * result.usable_bytes:
        return True
    waiting = waiting_bytes(needed)
    fixed = result.high_bytes * (1 - waiting / result.need_bytes)
    return bool(waiting) and max(fixed, result.need_bytes) <= result.usable_bytes


def fits_again(workload: TrainingWorkload | InferenceWorkload, one: RecommendedOffer) -> bool:
    """True when an offer fits by the calculator, without the recommender."""
    card, gpus = gpu_of(one.offer), one.need.gpus_used
    memory = usable_memory(one.offer)
    assert memory is not None
    if isinstance(workload, TrainingWorkload):
        way = one.need.parallelism if gpus > 1 else workload.parallelism
        spread = replace(workload, gpu=card, gpu_count=gpus, parallelism=way)
        return is_safe(estimate(spread), memory.bytes)
    served = replace(workload, gpu=card, gpu_count=gpus, tensor_parallel_size=gpus)
    return is_safe(estimate(served), memory.bytes)


@pytest.mark.parametrize("method", ["lora", "qlora", "full"])
@pytest.mark.parametrize("name", ["Qwen2.5-0.5B", "Qwen2.5-7B", "Qwen2.5-32B"])
def test_every_offer_for_training_fits_and_the_cheapest_job_is_first(
    name: str, method: Literal["lora", "qlora", "full"]
) -> None:
    workload = TrainingWorkload(find_model(name).spec, method=method, seq_len=2048)
    found = recommend(workload, Constraints(limit=8), work=Work(tokens=5e7))
    assert found.ranked_by == "cost_of_job"
    costs = [one.cost_of_job for one in found.offers if one.cost_of_job is not None]
    assert costs == sorted(costs)
    for one in found.offers:
        assert fits_again(workload, one), one.offer.instance_type
        assert one.price.priced_on is not None


@pytest.mark.parametrize("provider", ["aws", "alibaba", "gcp", "azure"])
@pytest.mark.parametrize("concurrency", [1, 20])
def test_every_offer_for_serving_fits_and_is_the_providers(provider: str, concurrency: int) -> None:
    workload = InferenceWorkload(
        find_model("Llama-3.1-8B").spec, context_len=8192, concurrency=concurrency
    )
    found = recommend(workload, Constraints(providers=(provider,), limit=8))
    assert found.offers
    hourly = [one.cost_per_hour for one in found.offers]
    assert hourly == sorted(hourly)
    for one in found.offers:
        assert one.offer.provider == provider
        assert fits_again(workload, one), one.offer.instance_type


@pytest.mark.parametrize("per", ["hour", "run"])
@pytest.mark.parametrize("amount", ["9", "15", "60"])
def test_a_budget_is_never_exceeded_and_the_misses_name_real_reasons(
    per: Literal["hour", "run"], amount: str
) -> None:
    workload = TrainingWorkload(find_model("Qwen2.5-7B").spec, method="lora", seq_len=1024)
    budget = Decimal(amount)
    found: Recommendation = recommend(
        workload, Constraints(budget=budget, budget_per=per, limit=8), work=Work(tokens=5e7)
    )
    for one in found.offers:
        spent = one.cost_per_hour if per == "hour" else one.cost_of_job
        assert spent is not None
        assert spent <= budget
    for miss in found.near_misses:
        assert miss.misses
        for reason in miss.misses:
            if reason.code == "price":
                assert isinstance(reason.has, Decimal)
                assert reason.has > budget
            if reason.code == "memory":
                assert float(reason.needed or 0) > float(reason.has or 0)
