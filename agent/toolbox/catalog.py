"""find_instances: what an instance name stands for, or which types carry a card, with prices."""

from __future__ import annotations

import contextlib
import re
from decimal import Decimal
from functools import lru_cache
from typing import Literal

from pydantic import Field

from agent.settings import Settings
from agent.toolbox.base import Arguments, Report, Tool, description_of
from agent.toolbox.offers import (
    FamilyOut,
    InstanceOut,
    citations_of,
    compared,
    figures_of,
    instance_out,
)
from agent.toolbox.resolve import resolve_card
from tools.catalog import InstanceOffer, find_instance, offers_for
from tools.catalog.lookup import InstanceLookup
from tools.errors import BadQuantityError, UserInputError
from tools.gpus import find_gpu

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
    currency: str | None = Field(
        None,
        description="Convert prices to it by the dated rates and sort by the price of one GPU",
    )
    limit: int = Field(_MOST, ge=1, le=50)


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
    if arguments.gpu is None and not arguments.cpu_only and arguments.min_gpu_memory_gb is None:
        raise BadQuantityError(
            field="name", given=None, allowed="a name, a card, a GPU memory, or cpu_only"
        )
    offers = _searched(arguments)
    if arguments.currency is not None:
        offers = _by_price(offers, arguments)
    shown = _shown(offers, arguments)
    return InstancesReport(
        figures=figures_of(shown),
        citations=citations_of(offers[: arguments.limit]),
        given=None,
        kind=None,
        instances=shown,
        families=(),
        nearest=(),
        elsewhere=(),
        total=len(offers),
    )


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


def _searched(arguments: InstancesArguments) -> tuple[InstanceOffer, ...]:
    from tools.catalog import Need

    found = offers_for(
        Need(
            gpu_names=_card_names(arguments),
            min_gpu_count=arguments.min_gpu_count,
            min_gpu_memory_gb=arguments.min_gpu_memory_gb,
            min_vcpu_count=arguments.min_vcpu,
            min_memory_gib=arguments.min_memory_gib,
            is_cpu=bool(arguments.cpu_only),
        ),
        provider=arguments.provider,
    )
    return tuple(
        o
        for o in found.offers
        if arguments.max_gpu_count is None or (o.gpu_count or 0) <= arguments.max_gpu_count
    )


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
