"""Why an offer does not do: its features, its memory, its price, its time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from tools.catalog.constraints import Constraints, GpuNeed, HoursInterval, Miss
from tools.catalog.fitting import PlainNeed
from tools.catalog.jobs import Clock
from tools.catalog.memory import gpu_of
from tools.catalog.money import ExchangeRates, exchange_rates
from tools.catalog.offer import InstanceOffer, Price
from tools.catalog.prices import SpotQuote, cheapest, prices_of, spot_quote
from tools.catalog.providers import provider_id
from tools.catalog.query import FOR_SALE, has_nvlink
from tools.catalog.regions import regions_named
from tools.gpus import GpuSpec

if TYPE_CHECKING:
    from tools.memory import InferenceWorkload, KernelFloor, TrainingWorkload

LEAST_CAPABILITY = 7.0
"""Triton, vLLM and tensor cores need compute capability 7.0; older cards are not recommended."""
ROCM = "AMD Instinct"
"""Beginning of the names of cards that run ROCm builds of the common programs."""
_CENT = Decimal("0.01")
_DOLLAR_CLOUDS = frozenset({"aws", "gcp", "azure"})


@dataclass(frozen=True)
class Asked:
    """Constraints with every open field chosen."""

    limits: Constraints
    providers: frozenset[str]
    rates: ExchangeRates
    currency: str
    budget: Decimal | None
    """In `currency`."""
    bf16: bool
    fp8: bool
    flash: bool
    floor: KernelFloor | None = None
    """What the engine's kernels ask of a card."""


@dataclass(frozen=True)
class Cost:
    """What an offer costs, or why that is not known."""

    price: Price | None
    spot: SpotQuote | None
    per_hour: Decimal | None
    """In the common currency."""
    miss: Miss | None


def resolve(
    workload: TrainingWorkload | InferenceWorkload | PlainNeed, limits: Constraints
) -> Asked:
    """Constraints with the open fields chosen.

    Raises:
        BadQuantityError: If a provider, region or currency is not known.
    """
    providers = frozenset(provider_id(p) for p in limits.providers)
    rates = limits.rates or exchange_rates()
    currency = limits.currency or _common_currency(limits, providers)
    budget = None
    if limits.budget is not None:
        budget = rates.convert(limits.budget, given=limits.budget_currency, wanted=currency)
    if limits.region is not None:
        regions_named(limits.region)
    precision = str(getattr(workload, "precision", None) or "")
    formats = str(getattr(workload, "weight_format", None) or "")
    return Asked(
        limits,
        providers,
        rates,
        currency,
        budget,
        bf16=limits.bf16 if limits.bf16 is not None else "bf16" in precision,
        fp8=limits.fp8 if limits.fp8 is not None else "fp8" in precision or "fp8" in formats,
        flash=limits.flash_attention
        if limits.flash_attention is not None
        else getattr(workload, "attention", None) == "flash",
        floor=_floor(workload),
    )


def _floor(workload: TrainingWorkload | InferenceWorkload | PlainNeed) -> KernelFloor | None:
    from tools.memory import InferenceWorkload, workload_floor

    return workload_floor(workload) if isinstance(workload, InferenceWorkload) else None


def _common_currency(limits: Constraints, providers: frozenset[str]) -> str:
    if limits.budget is not None:
        return limits.budget_currency
    return "USD" if providers and providers <= _DOLLAR_CLOUDS else "CNY"


def _within(count: int | None, most: int) -> bool:
    """Whether a count is known to be no more than asked; an unknown one may be more."""
    return count is not None and count <= most


def feature_misses(offer: InstanceOffer, asked: Asked) -> Iterable[Miss]:
    """Reasons in the machine itself: sale, cards, their features, links."""
    limits = asked.limits
    if offer.status not in FOR_SALE:
        yield Miss("not_for_sale", detail=offer.status)
    if limits.gpu_count is not None and offer.gpu_count != limits.gpu_count:
        yield Miss("gpu_count", limits.gpu_count, offer.gpu_count)
    elif limits.max_gpu_count is not None and not _within(offer.gpu_count, limits.max_gpu_count):
        yield Miss("gpu_count", limits.max_gpu_count, offer.gpu_count)
    yield from _card_misses(gpu_of(offer), asked)
    if limits.nvlink:
        link = has_nvlink(offer)
        if link is not True:
            yield Miss("no_nvlink" if link is False else "nvlink_unknown")
    if limits.rdma and offer.rdma is not True:
        yield Miss("no_rdma" if offer.rdma is False else "rdma_unknown")
    if limits.min_network_gbps is not None:
        if offer.network_gbps is None:
            yield Miss("network_unknown", limits.min_network_gbps, None, "Gbit/s")
        elif offer.network_gbps < limits.min_network_gbps:
            yield Miss("network", limits.min_network_gbps, offer.network_gbps, "Gbit/s")


def _card_misses(card: GpuSpec | None, asked: Asked) -> Iterable[Miss]:
    if card is None:
        yield Miss("card_unknown")
        return
    if card.vendor != "NVIDIA":
        if not (card.name.startswith(ROCM) and _wants_rocm(card, asked.limits)):
            yield Miss("no_cuda", detail=card.name)
    elif card.compute_capability is not None and card.compute_capability < LEAST_CAPABILITY:
        yield Miss("too_old", LEAST_CAPABILITY, card.compute_capability)
    elif asked.floor is not None and (card.compute_capability or 99) < asked.floor.capability:
        what = f"{asked.floor.engine} {asked.floor.weight_format or ''}".strip()
        yield Miss("no_kernel", asked.floor.capability, card.compute_capability, detail=what)
    if asked.bf16 and card.bf16_supported is False:
        yield Miss("no_bf16", detail=card.name)
    if asked.fp8 and card.fp8_supported is False:
        yield Miss("no_fp8", detail=card.name)
    if asked.flash and card.flash_attention2_supported is False:
        yield Miss("no_flash_attention", detail=card.name)


def _wants_rocm(card: GpuSpec, limits: Constraints) -> bool:
    return limits.rocm or card.name in limits.gpu_names


def memory_misses(offer: InstanceOffer, need: GpuNeed) -> Iterable[Miss]:
    """Reasons in memory: of the GPU and of the host."""
    if need.unsupported is not None:
        yield Miss("unsupported", detail=need.unsupported)
    elif need.verdict == "does_not_fit":
        yield Miss("memory", need.likely_bytes, need.usable_bytes, "B", need.parallelism)
    elif need.verdict == "tight":
        yield Miss("tight", need.high_bytes, need.usable_bytes, "B", need.parallelism)
    host = need.host_ram_bytes
    if host and offer.memory_gib is not None and host > offer.memory_gib * 2**30:
        yield Miss("host_memory", host, int(offer.memory_gib * 2**30), "B")


def cost_of(offer: InstanceOffer, asked: Asked) -> Cost:
    """The dated price that an offer is ranked by, in the common currency."""
    limits = asked.limits
    spot = None
    if limits.spot_allowed or limits.billing == "spot":
        spot = spot_quote(offer, region=limits.region)
    billing = "on_demand" if limits.billing == "spot" else limits.billing
    price = cheapest(offer, region=limits.region, billing=billing)
    amount = None if price is None else price.per_hour
    currency = None if price is None else price.currency
    if spot is not None and spot.likely is not None:
        price = _spot_price(spot, spot.likely)
        amount, currency = price.amount, price.currency
    if price is None or amount is None or currency is None:
        return Cost(None, spot, None, _no_price(offer, limits))
    converted = asked.rates.convert(amount, given=currency, wanted=asked.currency)
    return Cost(price, spot, converted, None)


def _spot_price(quote: SpotQuote, likely: Decimal) -> Price:
    return Price(
        quote.provider,
        quote.instance_type,
        quote.region,
        "spot",
        likely,
        quote.currency,
        "hour",
        quote.as_of,
        "spot",
        quote.basis,
        quote.sources[0],
    )


def _no_price(offer: InstanceOffer, limits: Constraints) -> Miss:
    if limits.region is not None and cheapest(offer) is not None:
        return Miss("not_in_region", detail=limits.region)
    undated = [p for p in prices_of(offer) if not p.is_rankable]
    if undated:
        lowest = min(undated, key=lambda p: p.per_hour)
        return Miss("no_dated_price", None, lowest.per_hour, f"{lowest.currency}/h")
    return Miss("no_price")


def money_misses(
    asked: Asked, cost: Cost, hours: HoursInterval | None, job: Decimal | None
) -> Iterable[Miss]:
    """Reasons in the budget and the deadline."""
    limits, budget = asked.limits, asked.budget
    if limits.deadline_hours is not None and hours is not None:
        if hours.value > limits.deadline_hours:
            yield Miss("deadline", limits.deadline_hours, hours.value, "h")
    if budget is None or cost.per_hour is None:
        return
    spent: Decimal | None
    if limits.budget_per == "hour":
        spent, unit = cost.per_hour, f"{asked.currency}/h"
    elif limits.budget_per == "month" and limits.hours_per_month is not None:
        spent = cost.per_hour * Decimal(repr(limits.hours_per_month))
        unit = f"{asked.currency}/month"
    else:
        spent, unit = job, asked.currency
    if spent is not None and spent > budget:
        yield Miss("price", cents(budget), cents(spent), unit)


def speed_misses(offer: InstanceOffer, need: GpuNeed, asked: Asked, clock: Clock) -> Iterable[Miss]:
    """Reason in the speed of one stream, where a least speed is asked for."""
    least = asked.limits.min_decode_tokens_per_s
    if least is None:
        return
    rate = clock.rate(offer, need)
    if rate is not None and rate.value < least:
        yield Miss("speed", least, rate.value, "token/s")


def cents(amount: Decimal) -> Decimal:
    """Amount rounded to two decimals."""
    return amount.quantize(_CENT)
