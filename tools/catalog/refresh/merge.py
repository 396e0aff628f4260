"""New rows against the old: what is new, what changed, and the files that would follow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import NamedTuple

from tools.catalog.front import SourceRow
from tools.catalog.offer import InstanceOffer, Price
from tools.catalog.refresh.feed import Feed, FetchedPrice, FetchedType, card_row
from tools.provenance import Source

_COMPARED = (
    "vcpu_count", "memory_gib", "gpu_count", "gpu_fraction", "network_gbps", "local_storage_gb",
)  # fmt: skip
"""Fields in which the vendor's API overrules a row; the rest of a row was read with more care."""


class FieldChange(NamedTuple):
    """One field of one type that the API states differently."""

    instance_type: str
    field: str
    old: object
    new: object


class PriceChange(NamedTuple):
    """A price that is new or moved."""

    new: Price
    old: Price | None


@dataclass(frozen=True)
class Merged:
    """Rows after a refresh, and how they differ from those before."""

    offers: tuple[InstanceOffer, ...]
    prices: tuple[Price, ...]
    source: SourceRow
    added: tuple[str, ...]
    changed: tuple[FieldChange, ...]
    price_changes: tuple[PriceChange, ...]
    not_returned: tuple[str, ...]
    """GPU and accelerator types with a row that the answer does not name; their rows stay."""


def merge(
    feed: Feed, *, offers: Sequence[InstanceOffer], prices: Iterable[Price], today: date
) -> Merged:
    """A feed laid over the rows of its provider.

    Args:
        feed: What the API answered.
        offers: Rows of that provider.
        prices: Its prices.
        today: Date of the new prices and of the source.
    """
    source = SourceRow(
        f"{feed.provider}-api-{today.isoformat()}", "own account", today, feed.locator, None
    )
    known = {o.instance_type: o for o in offers}
    merged = dict(known)
    changed: list[FieldChange] = []
    added: list[str] = []
    for fetched in feed.types:
        old = known.get(fetched.instance_type)
        if old is None:
            merged[fetched.instance_type] = _new_offer(feed.provider, fetched, source.source_id)
            added.append(fetched.instance_type)
            continue
        differing = list(_differences(old, fetched))
        changed.extend(differing)
        if differing:
            sources = (*old.source_ids, source.source_id)
            values = {change.field: change.new for change in differing}
            merged[old.instance_type] = replace(old, source_ids=sources, **values)  # type: ignore[arg-type]  # fields of _COMPARED
    returned = {t.instance_type for t in feed.types}
    new_prices, price_changes = _merge_prices(feed, prices, source, today)
    return Merged(
        offers=tuple(merged.values()),
        prices=new_prices,
        source=source,
        added=tuple(added),
        changed=tuple(changed),
        price_changes=price_changes,
        not_returned=tuple(
            o.instance_type
            for o in offers
            if o.category != "cpu" and o.instance_type not in returned
        ),
    )


def _differences(old: InstanceOffer, new: FetchedType) -> Iterable[FieldChange]:
    for field in _COMPARED:
        before, after = getattr(old, field), getattr(new, field)
        if after is not None and before != after:
            yield FieldChange(old.instance_type, field, before, after)


def _new_offer(provider: str, new: FetchedType, source_id: str) -> InstanceOffer:
    """A row for a type that the catalog does not have; what the API does not say is unknown."""
    fraction = new.gpu_fraction
    is_slice = fraction is not None and fraction < 1
    memory = new.gpu_memory_gib
    whole = None if memory is None else memory / float(fraction or 1)
    row = card_row(new.gpu_model, memory_gib=whole)
    card_gb = _label(row, whole)
    slice_gb = None
    if is_slice and card_gb is not None and fraction is not None:
        slice_gb = round(card_gb * float(fraction), 3)
    has_efa = new.rdma is True
    return InstanceOffer(
        provider=provider,
        instance_type=new.instance_type,
        family=new.family,
        category=new.category,
        gpu_model=new.gpu_model,
        gpu_name=row,
        gpu_count=new.gpu_count,
        gpu_fraction=fraction,
        card_memory_gb=card_gb,
        slice_memory_gb=slice_gb,
        vcpu_count=new.vcpu_count,
        memory_gib=new.memory_gib,
        cpu_model=new.cpu_model,
        network_gbps=new.network_gbps,
        rdma=new.rdma,
        rdma_gbps=new.rdma_gbps if has_efa else None,
        nvlink=None,
        nvlink_gbs=None,
        local_storage_gb=new.local_storage_gb,
        storage_note=None,
        status=new.status,
        source_ids=(source_id,),
        note=None,
        file=f"{provider}.csv",
    )


def _label(row: str | None, memory_gib: float | None) -> float | None:
    """Label of a card: the table's where the card is known, else the API's figure."""
    if row is None:
        return None if memory_gib is None else float(round(memory_gib))
    from tools.gpus import get_gpu

    return get_gpu(row).memory_label_gb


def _merge_prices(
    feed: Feed, prices: Iterable[Price], source: SourceRow, today: date
) -> tuple[tuple[Price, ...], tuple[PriceChange, ...]]:
    old: dict[tuple[object, ...], list[Price]] = {}
    for price in prices:
        old.setdefault(_place(price), []).append(price)
    changes: list[PriceChange] = []
    for fetched in feed.prices:
        price = _new_price(feed.provider, fetched, source, today)
        before = old.get(_place(price), [])
        latest = max(before, key=lambda p: p.priced_on or date.min, default=None)
        if latest is None or (latest.amount, latest.currency) != (price.amount, price.currency):
            changes.append(PriceChange(price, latest))
        old[_place(price)] = [price]
    return tuple(p for found in old.values() for p in found), tuple(changes)


def _place(price: Price) -> tuple[object, ...]:
    """What a new price takes the place of, whatever its date."""
    return price.instance_type, price.region, price.billing, price.per


def _new_price(provider: str, new: FetchedPrice, source: SourceRow, today: date) -> Price:
    return Price(
        provider,
        new.instance_type,
        new.region,
        new.billing,
        new.amount,
        new.currency,
        "hour",
        today,
        source.source_id,
        None,
        Source(source.source_id, "vendor", source.locator, today),
    )
