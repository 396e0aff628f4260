"""CPU and GPU machines of the catalog for a placement, and what a CPU delivers."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING

from tools.catalog import (
    Constraints,
    InstanceOffer,
    Need,
    PlainNeed,
    Price,
    Recommendation,
    Work,
    cheapest,
    exchange_rates,
    gpu_of,
    offers_for,
    recommend,
)
from tools.errors import UserInputError
from tools.placement.constants import computed, constant, value
from tools.placement.task import Option, Task
from tools.provenance import Figure
from tools.units import GIB

if TYPE_CHECKING:
    from tools.memory import InferenceWorkload, TrainingWorkload

CURRENCY = "CNY"
"""Costs of different clouds are compared in one currency."""
VCPU_SIZES = (2, 4, 8, 16, 32, 64, 128)
MOST_VCPU_PER_REQUEST = 16
"""More threads than this speed up one small request no further."""
SETUP_HOURS = 0.25
"""Paid time before a small job starts; assumed."""
_SAVED_HOURS = 1 / 6
_WEIGHED = 50
"""GPU offers that are weighed against each other."""
_SHARED = ("t2", "t3", "t5", "t6", "e", "u1", "s6")
"""Burstable and shared-core families: not for steady work."""


@lru_cache(maxsize=512)
def cheapest_cpu(
    vcpu_count: int, ram_bytes: int, *, provider: str | None = None, region: str | None = None
) -> Option | None:
    """The cheapest steady CPU instance with at least these vCPUs and this memory."""
    found = offers_for(
        Need(
            is_cpu=True,
            min_vcpu_count=vcpu_count,
            min_memory_gib=max(ram_bytes, 1) / GIB,
            statuses=("current", "previous-gen"),
        ),
        provider=provider,
    )
    best: tuple[Decimal, InstanceOffer, Price] | None = None
    for offer in found.offers:
        if offer.family in _SHARED:
            continue
        price = cheapest(offer, region=region)
        if price is None:
            continue
        per_hour = exchange_rates().convert(price.per_hour, given=price.currency, wanted=CURRENCY)
        if best is None or per_hour < best[0]:
            best = (per_hour, offer, price)
    if best is None:
        return None
    return Option(best[1], best[2], best[0], vcpu_count=best[1].vcpu_count)


def gpu_offers(
    need: TrainingWorkload | InferenceWorkload | PlainNeed,
    task: Task,
    *,
    min_tokens_per_s: float | None = None,
    tokens: float | None = None,
    whole_cards: bool = False,
) -> Recommendation:
    """GPU offers for a workload or a plain need, where the task may run."""
    limits = Constraints(
        providers=(task.provider,) if task.provider else (),
        region=task.region,
        currency=CURRENCY,
        min_decode_tokens_per_s=min_tokens_per_s,
        deadline_hours=task.deadline_hours,
        whole_cards=whole_cards,
        limit=_WEIGHED,
    )
    return recommend(need, limits, work=None if tokens is None else Work(tokens=tokens))


def plain_gpu(
    need_bytes: float, task: Task, *, host_bytes: float = 0, whole_cards: bool = False
) -> Recommendation:
    """GPU offers for a small job of known size, in GPU and in host memory."""
    size = math.ceil(need_bytes)
    need = PlainNeed(size, size, host_bytes=math.ceil(host_bytes))
    return gpu_offers(need, task, whole_cards=whole_cards)


def gpu_option(found: Recommendation, *, number: int = 0) -> Option | None:
    """One of the GPU offers, the best without a number, as an option."""
    if number >= len(found.offers):
        return None
    one = found.offers[number]
    return Option(one.offer, one.price, one.cost_per_hour, vcpu_count=one.offer.vcpu_count)


def gpu_flops(option: Option | None) -> Figure | None:
    """Dense 16-bit FLOP/s of the cards of an option; of a slice its share."""
    spec = gpu_of(option.offer) if option is not None and option.offer is not None else None
    if spec is None or option is None or option.offer is None:
        return None
    from tools.speed import card

    try:
        peak = card(spec.name).tensor16_flops
    except UserInputError:
        return None
    return Figure(
        "gpu_peak", peak * float(option.offer.gpu_fraction or 1), "FLOP/s", (spec.source,)
    )


def cpu_flops(vcpu_count: int) -> Figure:
    """Useful FP32 FLOP/s of a CPU instance, likely value."""
    rate = constant("cpu_gflops_per_vcpu")
    return computed(
        "cpu_flops", vcpu_count * float(rate.value) * 1e9, "FLOP/s",
        "vCPU * FLOP/s per vCPU", vcpus(vcpu_count), rate,
    )  # fmt: skip


def cpu_bandwidth(vcpu_count: int) -> Figure:
    """Memory bandwidth that a CPU instance may count on, GB/s."""
    share, cap = constant("cpu_gb_s_per_vcpu"), constant("cpu_gb_s_cap")
    number = min(vcpu_count * float(share.value), float(cap.value))
    return computed(
        "cpu_bandwidth", number, "GB/s", "min(vCPU * GB/s per vCPU, one socket)",
        vcpus(vcpu_count), share, cap,
    )  # fmt: skip


def vcpus(count: int) -> Figure:
    """The number of vCPUs as a figure."""
    return computed("vcpu", count, "1", "size of the instance")


def vcpus_for(flops_per_s: float) -> int:
    """VCPUs that deliver a rate of useful FLOP/s at the planned utilisation."""
    per_vcpu = value("cpu_gflops_per_vcpu") * 1e9 * value("utilisation")
    return max(1, math.ceil(flops_per_s / per_vcpu))


def round_up_vcpus(count: float) -> int:
    """The next common size of a CPU instance; the largest where even that is too small."""
    return next((size for size in VCPU_SIZES if size >= count), VCPU_SIZES[-1])


def price_figure(name: str, option: Option) -> Figure:
    """Price of an option for one hour, with its source."""
    assert option.price is not None
    price = option.price
    figure = Figure(f"{name}_price", price.per_hour, f"{price.currency}/h", (price.source,))
    if price.currency == CURRENCY or option.per_hour is None:
        return figure
    return computed(
        f"{name}_price", float(option.per_hour), f"{CURRENCY}/h", "price * exchange rate", figure
    )


def is_worth_a_gpu(cpu: Option | None, gpu: Option | None) -> bool:
    """A short run belongs on a GPU where that takes half of the money and saves ten minutes."""
    if cpu is None or gpu is None or cpu.hours is None or gpu.hours is None:
        return False
    if cpu.per_hour is None or gpu.per_hour is None:
        return False
    costs = [float(o.per_hour or 0) * ((o.hours or 0) + SETUP_HOURS) for o in (cpu, gpu)]
    return cpu.hours - gpu.hours > _SAVED_HOURS and costs[1] <= costs[0] / 2
