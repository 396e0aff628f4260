"""Offers by card and by need, with the unknown kept apart from the unfit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal

from tools.catalog.loader import catalog
from tools.catalog.lookup import size_order
from tools.catalog.memory import gpu_of
from tools.catalog.offer import InstanceOffer, Status
from tools.catalog.providers import bare_metal_marks, provider_id
from tools.catalog.regions import regions_named
from tools.errors import BadQuantityError, UserInputError
from tools.gpus import find_gpu

FOR_SALE: tuple[Status, ...] = ("current", "previous-gen", "invitational-preview")
"""Statuses of types that a customer may get; api-listed types have no public page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What an instance must have; None = not asked for.

    Raises:
        BadQuantityError: If a number is not positive.
    """

    gpu_names: tuple[str, ...] = ()
    """Rows of the GPU table, any of them."""
    excluded_gpu_names: tuple[str, ...] = ()
    """Rows of the GPU table, none of them."""
    min_gpu_count: int | None = None
    max_gpu_count: float | None = None
    min_gpu_memory_gb: float | None = None
    """Label memory of one GPU, GB; for a slice the slice's."""
    min_total_gpu_memory_gb: float | None = None
    nvlink: bool | None = None
    rdma: bool | None = None
    bare_metal: bool | None = None
    bf16: bool | None = None
    fp8: bool | None = None
    min_network_gbps: float | None = None
    min_rdma_gbps: float | None = None
    min_vcpu_count: int | None = None
    min_memory_gib: float | None = None
    whole_cards: bool = False
    """True leaves slices out."""
    slices: bool = False
    """True leaves whole cards out."""
    max_price_per_hour: Decimal | None = None
    """On demand, dated, in `price_currency`, of the region asked for."""
    price_per_card: bool = False
    """The price is that of one card, not of the machine."""
    price_currency: str = "CNY"
    region: str | None = None
    """Any spelling of a region or group; a type without a price there is not known to be there."""
    is_cpu: bool = False
    """True asks for CPU types."""
    providers: tuple[str, ...] = ()
    excluded_providers: tuple[str, ...] = ()
    statuses: tuple[Status, ...] = FOR_SALE

    def __post_init__(self) -> None:
        for name in _NUMBERS:
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise BadQuantityError(field=name, given=value, allowed="a number above 0")


_NUMBERS = (
    "min_gpu_count", "max_gpu_count", "min_gpu_memory_gb", "min_total_gpu_memory_gb",
    "min_network_gbps", "min_rdma_gbps", "min_vcpu_count", "min_memory_gib",
    "max_price_per_hour",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Uncertain:
    """An offer that meets what is known of it; the named fields are unknown."""

    offer: InstanceOffer
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OfferSearch:
    """Offers for a need: those that meet it, and apart those that may."""

    need: Need
    offers: tuple[InstanceOffer, ...]
    """Smallest first."""
    uncertain: tuple[Uncertain, ...] = field(default=())

    def by_provider(self) -> dict[str, tuple[InstanceOffer, ...]]:
        """Offers that meet the need, by provider."""
        names = dict.fromkeys(o.provider for o in self.offers)
        return {p: tuple(o for o in self.offers if o.provider == p) for p in names}


def offers_for(need: str | Need, *, provider: str | None = None) -> OfferSearch:
    """Offers with a card, or for a need.

    Args:
        need: Name of a row of the GPU table, or a `Need`.
        provider: Any spelling of a provider; keeps only its offers.

    Returns:
        Offers that meet every point; apart those of which a point asked for is unknown.

    Raises:
        BadQuantityError: If the provider, region or currency is not one that is recognised.
    """
    asked = Need(gpu_names=(need,)) if isinstance(need, str) else need
    wanted = {provider_id(p) for p in asked.providers}
    if provider is not None:
        wanted = {provider_id(provider)}
    unwanted = {provider_id(p) for p in asked.excluded_providers}
    found: list[InstanceOffer] = []
    uncertain: list[Uncertain] = []
    for offer in catalog().offers:
        if offer.provider in unwanted or (wanted and offer.provider not in wanted):
            continue
        if offer.status not in asked.statuses or not _of_the_kind(offer, asked):
            continue
        unknown = _unknown_points(offer, asked)
        if unknown is None:
            continue
        if unknown:
            uncertain.append(Uncertain(offer, unknown))
        else:
            found.append(offer)
    uncertain.sort(key=lambda u: size_order(u.offer))
    return OfferSearch(asked, tuple(sorted(found, key=size_order)), tuple(uncertain))


def _of_the_kind(offer: InstanceOffer, need: Need) -> bool:
    if need.is_cpu:
        return offer.category == "cpu"
    if need.gpu_names and offer.gpu_name not in need.gpu_names:
        return False
    if need.excluded_gpu_names and _may_be(offer) & set(need.excluded_gpu_names):
        return False
    if need.whole_cards and offer.category == "vgpu-slice" and offer.gpu_fraction != 1:
        return False
    if need.slices and offer.category != "vgpu-slice":
        return False
    return offer.category != "cpu" and (offer.is_gpu or bool(need.gpu_names))


def _may_be(offer: InstanceOffer) -> set[str]:
    """Rows of the GPU table that an offer's card may be, else by the vendor's words."""
    if offer.gpu_name is not None:
        return {offer.gpu_name}
    try:
        match = find_gpu(offer.gpu_model or "")
    except UserInputError:
        return set()
    return {match.spec.name, *(spec.name for spec in match.also)}


def _unknown_points(offer: InstanceOffer, need: Need) -> tuple[str, ...] | None:
    """Points asked for that are unknown; None when a known one is not met."""
    unknown = []
    for name, is_met in _points(offer, need):
        if is_met is None:
            unknown.append(name)
        elif not is_met:
            return None
    return tuple(unknown)


def _points(offer: InstanceOffer, need: Need) -> Iterator[tuple[str, bool | None]]:
    """Each point asked for and whether it is met; None where that is not known."""
    total = None
    if offer.gpu_memory_gb is not None and offer.gpu_count is not None:
        total = offer.gpu_memory_gb * offer.gpu_count
    rdma_gbps = 0.0 if offer.rdma is False else offer.rdma_gbps
    minimums: tuple[tuple[str, float | None, float | None], ...] = (
        ("gpu_count", need.min_gpu_count, offer.gpu_count),
        ("gpu_memory_gb", need.min_gpu_memory_gb, offer.gpu_memory_gb),
        ("total_gpu_memory_gb", need.min_total_gpu_memory_gb, total),
        ("network_gbps", need.min_network_gbps, offer.network_gbps),
        ("rdma_gbps", need.min_rdma_gbps, rdma_gbps),
        ("vcpu_count", need.min_vcpu_count, offer.vcpu_count),
        ("memory_gib", need.min_memory_gib, offer.memory_gib),
    )
    for name, least, has in minimums:
        if least is not None:
            yield name, None if has is None else has >= least
    if need.max_gpu_count is not None:
        known = offer.gpu_count is not None
        yield "gpu_count", (offer.gpu_count or 0) <= need.max_gpu_count if known else None
    card = gpu_of(offer)
    features: tuple[tuple[str, bool | None, bool | None], ...] = (
        ("nvlink", need.nvlink, has_nvlink(offer)),
        ("rdma", need.rdma, offer.rdma),
        ("bare_metal", need.bare_metal, is_bare_metal(offer)),
        ("bf16", need.bf16, card.bf16_supported if card is not None else None),
        ("fp8", need.fp8, card.fp8_supported if card is not None else None),
    )
    for name, asked, is_so in features:
        if asked is not None:
            yield name, None if is_so is None else is_so is asked
    if need.region is not None or need.max_price_per_hour is not None:
        yield from _price_points(offer, need)


def _price_points(offer: InstanceOffer, need: Need) -> Iterator[tuple[str, bool | None]]:
    """Whether the type is known to be sold in the region, and its dated price within the limit."""
    from tools.catalog.money import exchange_rates
    from tools.catalog.prices import cheapest, prices_of

    if need.region is not None:
        there = {provider for provider, _ in regions_named(need.region)}
        is_sold = True if prices_of(offer, region=need.region) else None
        yield "region", is_sold if offer.provider in there else False
    if need.max_price_per_hour is None:
        return
    price = cheapest(offer, region=need.region)
    if price is None:
        yield "price", None
        return
    amount = exchange_rates().convert(
        price.per_hour, given=price.currency, wanted=need.price_currency
    )
    if need.price_per_card:
        if offer.card_count is None:
            yield "price", None
            return
        amount /= Decimal(str(offer.card_count))
    yield "price", amount <= need.max_price_per_hour


def has_nvlink(offer: InstanceOffer) -> bool | None:
    """NVLink of an offer; false where its card cannot have it, None where nobody says."""
    if offer.nvlink is not None:
        return offer.nvlink
    card = gpu_of(offer)
    return False if card is not None and card.nvlink is False else None


def is_bare_metal(offer: InstanceOffer) -> bool | None:
    """Whether a type is a whole machine without a hypervisor, by its vendor's way of naming."""
    marks = bare_metal_marks(offer.provider)
    return None if marks is None else any(mark in offer.instance_type for mark in marks)
