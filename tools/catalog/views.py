"""Offers, prices and recommendations as plain dictionaries, for JSON."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from tools.catalog.constraints import NearMiss, Recommendation, RecommendedOffer
from tools.catalog.loader import offer_source
from tools.catalog.lookup import Family, InstanceLookup
from tools.catalog.memory import usable_memory
from tools.catalog.offer import InstanceOffer, Price
from tools.catalog.prices import cheapest

_PLAIN = (
    "provider", "instance_type", "family", "category", "gpu_model", "gpu_name", "gpu_count",
    "card_memory_gb", "slice_memory_gb", "vcpu_count", "memory_gib", "cpu_model", "network_gbps",
    "rdma", "rdma_gbps", "nvlink", "nvlink_gbs", "local_storage_gb", "status", "note",
)  # fmt: skip


def price_view(price: Price | None) -> dict[str, Any] | None:
    """A price with its date and source; amounts are text, so that no digit is lost."""
    if price is None:
        return None
    return {
        "amount": str(price.amount),
        "currency": price.currency,
        "per": price.per,
        "billing": price.billing,
        "region": price.region,
        "priced_on": price.priced_on.isoformat() if price.priced_on else None,
        "source": price.source.locator,
        "note": price.note,
    }


def offer_view(offer: InstanceOffer, *, region: str | None = None) -> dict[str, Any]:
    """An offer with its usable memory and its cheapest dated on-demand price."""
    memory = usable_memory(offer) if offer.is_gpu else None
    view: dict[str, Any] = {name: getattr(offer, name) for name in _PLAIN}
    view["gpu_fraction"] = None if offer.gpu_fraction is None else str(offer.gpu_fraction)
    view["usable_bytes_per_gpu"] = None if memory is None else memory.bytes
    view["usable_is_derived"] = None if memory is None else memory.is_derived
    view["price"] = price_view(cheapest(offer, region=region))
    view["source"] = offer_source(offer).locator
    return view


def family_view(found: Family) -> dict[str, Any]:
    """A family with the names of its types."""
    return {
        "provider": found.provider,
        "family": found.name,
        "category": found.category,
        "gpus": list(found.gpu_labels),
        "purpose_en": found.purpose_en,
        "purpose_zh": found.purpose_zh,
        "types": [o.instance_type for o in found.offers],
    }


def lookup_view(found: InstanceLookup) -> dict[str, Any]:
    """A lookup with everything it found."""
    return {
        "given": found.given,
        "provider": found.provider,
        "kind": found.kind,
        "exists": found.exists,
        "offers": [offer_view(o) for o in found.offers],
        "families": [family_view(f) for f in found.families],
        "elsewhere": list(found.elsewhere),
        "nearest": [o.instance_type for o in found.nearest],
    }


def recommendation_view(found: Recommendation) -> dict[str, Any]:
    """A recommendation with its offers and near misses."""
    return {
        "offers": [_recommended(o) for o in found.offers],
        "near_misses": [_missed(m) for m in found.near_misses],
        "considered": found.considered,
        "ranked_by": found.ranked_by,
        "currency": found.currency,
        "rates_as_of": found.rates.as_of.isoformat(),
        "assumptions": [
            {"name": a.name, "value": a.value, "unit": a.unit, "why": a.why}
            for a in found.assumptions
        ],
    }


def _recommended(found: RecommendedOffer) -> dict[str, Any]:
    offer, need, hours = found.offer, found.need, found.hours
    return {
        "provider": offer.provider,
        "instance_type": offer.instance_type,
        "gpu_name": offer.gpu_label,
        "gpu_count": offer.card_count,
        "gpus_used": need.gpus_used,
        "parallelism": need.parallelism,
        "need_bytes": need.likely_bytes,
        "need_high_bytes": need.high_bytes,
        "usable_bytes": need.usable_bytes,
        "price": price_view(found.price),
        "is_old_price": found.is_old_price,
        "spot_per_hour": _text(found.spot.likely) if found.spot else None,
        "spot_low_per_hour": _text(found.spot.low) if found.spot else None,
        "currency": found.currency,
        "cost_per_hour": _text(found.cost_per_hour.quantize(Decimal("0.0001"))),
        "cost_per_month": _text(found.cost_per_month),
        "hours": None if hours is None else {
            "value": hours.value, "low": hours.low, "high": hours.high,
        },
        "cost_of_job": _text(found.cost_of_job),
        "affordable_hours": found.affordable_hours,
        "tokens_per_s": found.tokens_per_s,
        "notes": list(found.notes),
    }  # fmt: skip


def _missed(found: NearMiss) -> dict[str, Any]:
    return {
        "provider": found.offer.provider,
        "instance_type": found.offer.instance_type,
        "gpu_name": found.offer.gpu_label,
        "gpu_count": found.offer.card_count,
        "cost_per_hour": _text(found.cost_per_hour),
        "misses": [
            {
                "code": m.code,
                "needed": _number(m.needed),
                "has": _number(m.has),
                "unit": m.unit,
                "detail": m.detail,
            }
            for m in found.misses
        ],
    }


def _text(amount: Decimal | None) -> str | None:
    return None if amount is None else str(amount)


def _number(value: float | Decimal | None) -> float | None:
    return None if value is None else float(value)
