"""An instance type as reports carry it: its sizes, its prices, where they come from."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Literal

from agent.answer import CitationOut, FigureOut, OfferOut
from agent.toolbox.base import Row
from tools.catalog import InstanceOffer, offer_source
from tools.units import HOURS_PER_MONTH


class ComparedOut(Row):
    """The dated on-demand price in the currency asked for."""

    currency: str
    per_hour: Decimal
    per_gpu_hour: Decimal | None
    """Of one whole card; None for a type without any."""
    rates_as_of: str


class PriceOut(Row):
    """One price; never without currency and source."""

    amount: Decimal
    currency: str
    per: Literal["hour", "month"]
    billing: Literal["on_demand", "spot", "subscription"]
    region: str | None
    priced_on: str | None
    is_old: bool
    source: str
    locator: str
    """Where the price stands, for a reader."""
    note: str | None = None
    """What its source says beside it: nothing upfront, post-paid, ..."""

    @property
    def per_month(self) -> Decimal:
        """Money of a whole month: 730 hours where the price is of an hour."""
        return self.amount if self.per == "month" else self.amount * HOURS_PER_MONTH


class SpotOut(Row):
    """What spot may cost an hour."""

    low: Decimal
    likely: Decimal | None
    high: Decimal
    currency: str
    region: str | None
    basis: str
    as_of: str | None
    interruption_band: str | None


class InstanceOut(Row):
    """One instance type; null = not known."""

    provider: str
    instance_type: str
    family: str
    category: str
    gpu: str | None
    gpu_count: int | None
    gpu_share: float | None
    """Share of a card behind each GPU; 1 for whole cards."""
    gpu_memory_gb: float | None
    vcpu: int | None
    memory_gib: float | None
    cpu_model: str | None
    network_gbps: float | None
    rdma: bool | None
    rdma_gbps: float | None
    nvlink: bool | None
    local_storage_gb: float | None
    regions: tuple[str, ...] = ()
    """Regions of which the catalog has an on-demand price."""
    status: str
    price: PriceOut | None
    """Lowest dated on-demand price in the region asked for."""
    listed: tuple[PriceOut, ...]
    """Other prices: undated on demand, subscription."""
    spot: SpotOut | None
    compared: ComparedOut | None = None
    """Where a currency was asked for and there is a dated price."""
    note: str | None
    source: str

    def as_offer(self) -> OfferOut:
        """The instance as an answer carries it."""
        price = self.price or next(iter(self.listed), None)
        return OfferOut(
            provider=self.provider,
            instance_type=self.instance_type,
            gpu_name=self.gpu,
            gpu_count=None
            if self.gpu_count is None
            else self.gpu_count * (self.gpu_share if self.gpu_share is not None else 1),
            region=price.region if price else None,
            price=price.amount if price else None,
            currency=price.currency if price else None,
            priced_on=price.priced_on if price else None,
            billing=price.billing if price else None,
        )


class FamilyOut(Row):
    """One family at one provider."""

    provider: str
    name: str
    category: str
    has_gpu: bool
    gpus: tuple[str, ...]
    smallest: str | None
    type_count: int
    purpose_en: str | None
    purpose_zh: str | None
    source: str | None


def compared(row: InstanceOut, currency: str) -> ComparedOut | None:
    """A type's dated on-demand price in another currency, whole and for one card.

    Raises:
        BadQuantityError: If there is no rate for the currency.
    """
    from tools.catalog import exchange_rates

    if row.price is None or row.price.per != "hour":
        return None
    rates = exchange_rates()
    amount = rates.convert(row.price.amount, given=row.price.currency, wanted=currency)
    cards = Decimal(str((row.gpu_count or 0) * (row.gpu_share or 1)))
    return ComparedOut(
        currency=currency,
        per_hour=amount.quantize(Decimal("0.0001")),
        per_gpu_hour=(amount / cards).quantize(Decimal("0.0001")) if cards else None,
        rates_as_of=rates.as_of.isoformat(),
    )


def instance_out(offer: InstanceOffer, region: str | None = None) -> InstanceOut:
    """One row with its prices."""
    from tools.catalog.prices import cheapest, prices_of, spot_quote

    best = cheapest(offer, region=region)
    there = set(prices_of(offer, region=region, billing="subscription"))
    rents = prices_of(offer, billing="subscription")
    listed = [p for p in rents if p in there or p.region is None]
    if best is None:
        sold = list(prices_of(offer, region=region, billing="on_demand"))
        undated = [p for p in prices_of(offer, billing="on_demand") if p.region is None]
        listed = [*(sold or undated)[:1], *listed]
    quote = spot_quote(offer, region=region)
    return InstanceOut(
        provider=offer.provider,
        instance_type=offer.instance_type,
        family=offer.family,
        category=offer.category,
        gpu=offer.gpu_label,
        gpu_count=offer.gpu_count,
        gpu_share=float(offer.gpu_fraction) if offer.gpu_fraction is not None else None,
        gpu_memory_gb=offer.gpu_memory_gb,
        vcpu=offer.vcpu_count,
        memory_gib=offer.memory_gib,
        cpu_model=offer.cpu_model,
        network_gbps=offer.network_gbps,
        rdma=offer.rdma,
        rdma_gbps=offer.rdma_gbps,
        nvlink=offer.nvlink,
        local_storage_gb=offer.local_storage_gb,
        regions=_regions(offer),
        status=offer.status,
        price=price_out(best) if best is not None else None,
        listed=tuple(price_out(p) for p in listed[:3]),
        spot=None
        if quote is None
        else SpotOut(
            low=quote.low,
            likely=quote.likely,
            high=quote.high,
            currency=quote.currency,
            region=quote.region,
            basis=quote.basis,
            as_of=quote.as_of.isoformat() if quote.as_of else None,
            interruption_band=quote.interruption_band,
        ),
        note=offer.note,
        source=offer_source(offer).id,
    )


def _regions(offer: InstanceOffer) -> tuple[str, ...]:
    from tools.catalog.prices import prices_of

    prices = prices_of(offer, billing="on_demand")
    return tuple(sorted({price.region for price in prices if price.region is not None}))


def price_out(price: object) -> PriceOut:
    """A price of the catalog as reports carry it."""
    from tools.catalog import Price
    from tools.catalog.prices import today

    assert isinstance(price, Price)
    return PriceOut(
        amount=price.amount,
        currency=price.currency,
        per=price.per,
        billing=price.billing,
        region=price.region,
        priced_on=price.priced_on.isoformat() if price.priced_on else None,
        is_old=price.is_old(today=today()),
        source=price.source.id,
        locator=price.source.locator,
        note=price.note,
    )


def figures_of(instances: Iterable[InstanceOut]) -> tuple[FigureOut, ...]:
    """Prices and sizes of instances, as figures."""
    return tuple(
        figure
        for row in instances
        for kind in (_price_figures, _converted_figures, _size_figures, _spot_figures)
        for figure in kind(row)
    )


def _price_figures(row: InstanceOut) -> list[FigureOut]:
    return [
        FigureOut(
            name=f"{row.instance_type}: {price.billing} price",
            value=price.amount,
            unit=f"{price.currency}/{'h' if price.per == 'hour' else 'month'}",
            sources=(price.source,),
        )
        for price in (row.price, *row.listed)
        if price is not None
    ]


def _converted_figures(row: InstanceOut) -> list[FigureOut]:
    if row.compared is None:
        return []
    amounts = {
        "per_hour": row.compared.per_hour,
        "per_gpu_hour": row.compared.per_gpu_hour,
    }
    return [
        FigureOut(
            name=f"{row.instance_type}: {name} converted",
            value=amount,
            unit=f"{row.compared.currency}/h",
            formula=f"price * rate of {row.compared.rates_as_of} / cards",
            sources=(row.price.source,) if row.price is not None else (),
        )
        for name, amount in amounts.items()
        if amount is not None
    ]


def _size_figures(row: InstanceOut) -> list[FigureOut]:
    sizes = (
        ("vCPU", row.vcpu, "vCPU"),
        ("memory", row.memory_gib, "GiB"),
        ("GPU memory", row.gpu_memory_gb, "GB"),
        ("network", row.network_gbps, "Gbit/s"),
        ("RDMA", row.rdma_gbps, "Gbit/s"),
        ("GPUs", row.gpu_count, "1"),
        ("share of a card", row.gpu_share if row.gpu_share != 1 else None, "1"),
    )
    return [
        FigureOut(name=f"{row.instance_type}: {name}", value=value, unit=unit,
                  sources=(row.source,))
        for name, value, unit in sizes
        if value is not None
    ]  # fmt: skip


def _spot_figures(row: InstanceOut) -> list[FigureOut]:
    if row.spot is None:
        return []
    amounts = {"low": row.spot.low, "likely": row.spot.likely, "high": row.spot.high}
    return [
        FigureOut(
            name=f"{row.instance_type}: spot {name}",
            value=amount,
            unit=f"{row.spot.currency}/h",
            formula=row.spot.basis,
        )
        for name, amount in amounts.items()
        if amount is not None
    ]


def citations_of(offers: Iterable[InstanceOffer]) -> tuple[CitationOut, ...]:
    """The sources that the rows were read from, each once."""
    found: dict[str, CitationOut] = {}
    for offer in offers:
        source = offer_source(offer)
        found.setdefault(
            source.locator,
            CitationOut(
                id=source.id, title=f"{offer.provider} {offer.family}", locator=source.locator
            ),
        )
    return tuple(found.values())[:4]
