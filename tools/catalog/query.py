"""Offers by card and by need, with the unknown kept apart from the unfit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tools.catalog.loader import catalog
from tools.catalog.lookup import size_order
from tools.catalog.memory import gpu_of
from tools.catalog.offer import InstanceOffer, Status
from tools.catalog.providers import provider_id
from tools.errors import BadQuantityError

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
    min_gpu_count: int | None = None
    min_gpu_memory_gb: float | None = None
    """Label memory of one GPU, GB; for a slice the slice's."""
    min_total_gpu_memory_gb: float | None = None
    nvlink: bool | None = None
    rdma: bool | None = None
    min_network_gbps: float | None = None
    min_rdma_gbps: float | None = None
    min_vcpu_count: int | None = None
    min_memory_gib: float | None = None
    whole_cards: bool = False
    """True leaves slices out."""
    is_cpu: bool = False
    """True asks for CPU types."""
    providers: tuple[str, ...] = ()
    statuses: tuple[Status, ...] = FOR_SALE

    def __post_init__(self) -> None:
        for name in _NUMBERS:
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise BadQuantityError(field=name, given=value, allowed="a number above 0")


_NUMBERS = (
    "min_gpu_count", "min_gpu_memory_gb", "min_total_gpu_memory_gb", "min_network_gbps",
    "min_rdma_gbps", "min_vcpu_count", "min_memory_gib",
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
        BadQuantityError: If the provider is not one that is recognised.
    """
    asked = Need(gpu_names=(need,)) if isinstance(need, str) else need
    wanted = {provider_id(p) for p in asked.providers}
    if provider is not None:
        wanted = {provider_id(provider)}
    found: list[InstanceOffer] = []
    uncertain: list[Uncertain] = []
    for offer in catalog().offers:
        if wanted and offer.provider not in wanted:
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
    if need.whole_cards and offer.category == "vgpu-slice" and offer.gpu_fraction != 1:
        return False
    return offer.category != "cpu" and (offer.is_gpu or bool(need.gpu_names))


def _unknown_points(offer: InstanceOffer, need: Need) -> tuple[str, ...] | None:
    """Points asked for that are unknown; None when a known one is not met."""
    total = None
    if offer.gpu_memory_gb is not None and offer.gpu_count is not None:
        total = offer.gpu_memory_gb * offer.gpu_count
    minimums: Iterable[tuple[str, float | None, float | None]] = (
        ("gpu_count", need.min_gpu_count, offer.gpu_count),
        ("gpu_memory_gb", need.min_gpu_memory_gb, offer.gpu_memory_gb),
        ("total_gpu_memory_gb", need.min_total_gpu_memory_gb, total),
        ("network_gbps", need.min_network_gbps, offer.network_gbps),
        ("rdma_gbps", need.min_rdma_gbps, 0.0 if offer.rdma is False else offer.rdma_gbps),
        ("vcpu_count", need.min_vcpu_count, offer.vcpu_count),
        ("memory_gib", need.min_memory_gib, offer.memory_gib),
    )
    unknown = []
    for name, least, has in minimums:
        if least is not None and has is None:
            unknown.append(name)
        elif least is not None and has is not None and has < least:
            return None
    for name, asked, is_so in (
        ("nvlink", need.nvlink, has_nvlink(offer)),
        ("rdma", need.rdma, offer.rdma),
    ):
        if asked is not None and is_so is None:
            unknown.append(name)
        elif asked is not None and is_so is not asked:
            return None
    return tuple(unknown)


def has_nvlink(offer: InstanceOffer) -> bool | None:
    """NVLink of an offer; false where its card cannot have it, None where nobody says."""
    if offer.nvlink is not None:
        return offer.nvlink
    card = gpu_of(offer)
    return False if card is not None and card.nvlink is False else None
