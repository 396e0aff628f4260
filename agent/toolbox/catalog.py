"""find_instances: what an instance name stands for, or which types carry a card, with prices."""

from __future__ import annotations

import contextlib
import re
from decimal import Decimal
from functools import lru_cache
from typing import Literal

from pydantic import Field

from agent.settings import Settings
from agent.toolbox.base import Arguments, Report, Row, Tool, description_of
from agent.toolbox.offers import (
    FamilyOut,
    InstanceOut,
    citations_of,
    compared,
    figures_of,
    instance_out,
)
from agent.toolbox.resolve import resolve_card
from tools.catalog import InstanceOffer, OfferSearch, find_instance, offers_for
from tools.catalog.lookup import InstanceLookup
from tools.errors import BadQuantityError, UserInputError
from tools.gpus import all_gpus, find_gpu

_MOST = 12


class InstancesArguments(Arguments):
    """A name to look up, or what the instance must have."""

    name: str | None = Field(None, description="Type or family, any spelling / 规格或规格族")
    gpu: str | None = Field(None, description="Card that it must carry / 显卡")
    any_variant: bool = Field(
        False, description="Also other memory sizes and forms of the same card (A100 40 and 80 GB)"
    )
    provider: str | None = Field(None, description="alibaba, tencent, aws, gcp, azure, huawei ...")
    region: str | None = Field(None, description="Region id, city, or cn, hk, us, eu, ap")
    min_gpu_memory_gb: float | None = Field(None, gt=0, description="Memory of one GPU, GB")
    min_gpu_count: int | None = Field(None, ge=1)
    max_gpu_count: float | None = Field(None, gt=0)
    cpu_only: bool | None = Field(None, description="True asks for CPU types")
    min_vcpu: int | None = Field(None, ge=1)
    min_memory_gib: float | None = Field(None, gt=0, description="Host memory, GiB")
    min_total_gpu_memory_gb: float | None = Field(None, gt=0, description="Of all GPUs, GB")
    exclude_gpus: tuple[str, ...] = Field((), description="Cards that it must not carry")
    exclude_providers: tuple[str, ...] = Field((), description="Clouds that are left out")
    nvlink: bool | None = None
    rdma: bool | None = Field(None, description="RDMA of any kind: eRDMA, EFA, RoCE, InfiniBand")
    bare_metal: bool | None = None
    bf16: bool | None = Field(None, description="The card computes bf16")
    fp8: bool | None = Field(None, description="The card computes FP8")
    min_network_gbps: float | None = Field(None, gt=0)
    min_rdma_gbps: float | None = Field(None, gt=0)
    slices: Literal["only", "none"] | None = Field(None, description="vGPU slices of a card")
    max_price: Decimal | None = Field(None, gt=0, description="On-demand price of an hour")
    max_price_currency: str = "CNY"
    max_price_of_card: bool = Field(False, description="max_price is for one card")
    in_region: bool = Field(False, description="Only types known to be sold in `region`")
    currency: str | None = Field(
        None,
        description="Convert prices to it by the dated rates and sort by the price of one GPU",
    )
    limit: int = Field(_MOST, ge=1, le=50)


class UncertainOut(Row):
    """A type that meets all that is known of it, and the points asked for that are not known."""

    instance: InstanceOut
    unknown: tuple[str, ...]


class InstancesReport(Report):
    """What the name stands for and the types found, smallest first."""

    given: str | None
    kind: Literal["type", "family", "unlisted", "unknown"] | None
    """None when no name was asked for."""
    instances: tuple[InstanceOut, ...]
    families: tuple[FamilyOut, ...]
    nearest: tuple[InstanceOut, ...]
    """Closest real types to a name that does not exist."""
    elsewhere: tuple[str, ...]
    """Other providers that use the same name for something else."""
    total: int
    uncertain: tuple[UncertainOut, ...] = ()
    """Types of which a point asked for is not known; those with the fewest such points first."""
    uncertain_total: int = 0

    def summary(self) -> str:
        """What was found."""
        if self.given is not None and self.kind == "unknown":
            closest = ", ".join(row.instance_type for row in self.nearest)
            return f"{self.given} does not exist; closest: {closest}"
        names = [i.instance_type for i in self.instances[:3]]
        return f"{self.total} types: {', '.join(names)}" if names else f"{self.total} types"


def build(settings: Settings) -> Tool[InstancesArguments]:
    """The tool; it depends on no setting."""
    return Tool(
        name="find_instances",
        description=description_of("find_instances"),
        arguments=InstancesArguments,
        report=InstancesReport,
        function=find_instances,
    )


@lru_cache(maxsize=512)
def find_instances(arguments: InstancesArguments) -> InstancesReport:
    """Looks a name up, or searches by card and size.

    Raises:
        UserInputError: Unknown cards, providers and regions, with what is known.
    """
    if arguments.name is not None:
        return _by_name(find_instance(arguments.name, arguments.provider), arguments)
    if not any(getattr(arguments, point) for point in _POINTS):
        raise BadQuantityError(
            field="name", given=None, allowed="a name, a card, or what the instance must have"
        )
    found = _searched(arguments)
    offers = found.offers
    if arguments.currency is not None:
        offers = _by_price(offers, arguments)
    shown = _shown(offers, arguments)
    apart = sorted(found.uncertain, key=lambda u: len(u.unknown))[: arguments.limit]
    uncertain = tuple(
        UncertainOut(instance=instance_out(u.offer, arguments.region), unknown=u.unknown)
        for u in apart
    )
    return InstancesReport(
        figures=figures_of((*shown, *(row.instance for row in uncertain))),
        citations=citations_of((*offers[: arguments.limit], *(u.offer for u in apart))),
        given=None,
        kind=None,
        instances=shown,
        families=(),
        nearest=(),
        elsewhere=(),
        total=len(offers),
        uncertain=uncertain,
        uncertain_total=len(found.uncertain),
    )


_POINTS = (
    "gpu", "cpu_only", "min_gpu_memory_gb", "min_gpu_count", "min_vcpu", "min_memory_gib",
    "min_total_gpu_memory_gb", "exclude_gpus", "nvlink", "rdma", "bare_metal", "bf16", "fp8",
    "min_network_gbps", "min_rdma_gbps", "slices", "max_price", "in_region",
)  # fmt: skip
"""Arguments that a search may begin with."""


def _shown(
    offers: tuple[InstanceOffer, ...], arguments: InstancesArguments
) -> tuple[InstanceOut, ...]:
    rows = (instance_out(o, arguments.region) for o in offers[: arguments.limit])
    if arguments.currency is None:
        return tuple(rows)
    return tuple(
        row.model_copy(update={"compared": compared(row, arguments.currency)}) for row in rows
    )


def _by_price(
    offers: tuple[InstanceOffer, ...], arguments: InstancesArguments
) -> tuple[InstanceOffer, ...]:
    """Cheapest card first; offers without a dated price last."""

    def key(offer: InstanceOffer) -> tuple[bool, Decimal]:
        found = compared(instance_out(offer, arguments.region), arguments.currency or "CNY")
        price = None if found is None else found.per_gpu_hour or found.per_hour
        return price is None, price or Decimal(0)

    return tuple(sorted(offers, key=key))


def _searched(arguments: InstancesArguments) -> OfferSearch:
    from tools.catalog import Need

    return offers_for(
        Need(
            gpu_names=_card_names(arguments),
            excluded_gpu_names=_excluded_cards(arguments.exclude_gpus),
            min_gpu_count=arguments.min_gpu_count,
            max_gpu_count=arguments.max_gpu_count,
            min_gpu_memory_gb=arguments.min_gpu_memory_gb,
            min_total_gpu_memory_gb=arguments.min_total_gpu_memory_gb,
            nvlink=arguments.nvlink,
            rdma=arguments.rdma,
            bare_metal=arguments.bare_metal,
            bf16=arguments.bf16,
            fp8=arguments.fp8,
            min_network_gbps=arguments.min_network_gbps,
            min_rdma_gbps=arguments.min_rdma_gbps,
            min_vcpu_count=arguments.min_vcpu,
            min_memory_gib=arguments.min_memory_gib,
            whole_cards=arguments.slices == "none",
            slices=arguments.slices == "only",
            max_price_per_hour=arguments.max_price,
            price_per_card=arguments.max_price_of_card,
            price_currency=arguments.max_price_currency,
            region=arguments.region if arguments.in_region else None,
            is_cpu=bool(arguments.cpu_only),
            excluded_providers=arguments.exclude_providers,
        ),
        provider=arguments.provider,
    )


def _excluded_cards(written: tuple[str, ...]) -> tuple[str, ...]:
    """Rows of every memory size and form of the cards named."""
    return tuple(sorted({name for card in written for name in _variants(card)}))


def _variants(card: str) -> set[str]:
    """Rows of the GPU table that share a card's name, whatever their memory and form."""
    name = find_gpu(card).spec.name
    bare = re.search(r"[A-Za-z]+\d+[A-Za-z]*|[A-Za-z]+ \d+", name)
    if bare is None:
        return {name}
    word = re.compile(rf"(?<![A-Za-z0-9]){re.escape(bare[0])}(?![A-Za-z0-9])")
    return {spec.name for spec in all_gpus() if word.search(spec.name)}


def _card_names(arguments: InstancesArguments) -> tuple[str, ...]:
    """Rows of the GPU table that will do."""
    if arguments.gpu is None:
        return ()
    card = resolve_card(arguments.gpu)
    assert card is not None
    names = {card.spec.name}
    if arguments.any_variant:
        bare = re.search(r"[A-Za-z]+\d+[A-Za-z]*", card.spec.name)
        with contextlib.suppress(UserInputError):
            match = find_gpu(bare[0] if bare else card.spec.name)
            names |= {match.spec.name, *(spec.name for spec in match.also)}
    return tuple(sorted(names))


def _by_name(found: InstanceLookup, arguments: InstancesArguments) -> InstancesReport:
    offers = found.offers or tuple(o for f in found.families for o in f.offers)
    if found.kind == "unknown":
        offers = ()
    shown = _shown(offers, arguments)
    nearest = tuple(instance_out(o, arguments.region) for o in found.nearest)
    return InstancesReport(
        figures=figures_of((*shown, *nearest)),
        citations=citations_of((*offers[: arguments.limit], *found.nearest)),
        given=found.given,
        kind=found.kind,
        instances=shown,
        families=tuple(
            FamilyOut(
                provider=f.provider,
                name=f.name,
                category=f.category,
                has_gpu=f.has_gpu,
                gpus=f.gpu_labels,
                smallest=f.offers[0].instance_type if f.offers else None,
                type_count=len(f.offers),
                purpose_en=f.purpose_en,
                purpose_zh=f.purpose_zh,
                source=f.sources[0].id if f.sources else None,
            )
            for f in found.families
        ),
        nearest=nearest,
        elsewhere=found.elsewhere,
        total=len(offers),
    )
