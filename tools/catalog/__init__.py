"""Cloud instance types, their prices, and what to rent for a workload.

Names are imported when first used: a lookup does not pay for prices or recommendations.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tools.catalog.loader import Catalog, catalog, offer_source
    from tools.catalog.lookup import Family, InstanceLookup, family, find_instance, get_instance
    from tools.catalog.memory import UsableMemory, gpu_of, usable_memory
    from tools.catalog.offer import InstanceOffer, Price, SpotRecord
    from tools.catalog.providers import (
        Provider,
        all_providers,
        covered_providers,
        provider_id,
        scan_providers,
    )
    from tools.catalog.query import Need, OfferSearch, Uncertain, offers_for
    from tools.catalog.scan import InstanceMention, scan_instances

_HOMES = {
    "Catalog": "loader",
    "catalog": "loader",
    "offer_source": "loader",
    "Family": "lookup",
    "InstanceLookup": "lookup",
    "family": "lookup",
    "find_instance": "lookup",
    "get_instance": "lookup",
    "UsableMemory": "memory",
    "gpu_of": "memory",
    "usable_memory": "memory",
    "InstanceOffer": "offer",
    "Price": "offer",
    "SpotRecord": "offer",
    "Provider": "providers",
    "all_providers": "providers",
    "covered_providers": "providers",
    "provider_id": "providers",
    "scan_providers": "providers",
    "Need": "query",
    "OfferSearch": "query",
    "Uncertain": "query",
    "offers_for": "query",
    "InstanceMention": "scan",
    "scan_instances": "scan",
}

__all__ = [
    "Catalog",
    "Family",
    "InstanceLookup",
    "InstanceMention",
    "InstanceOffer",
    "Need",
    "OfferSearch",
    "Price",
    "Provider",
    "SpotRecord",
    "Uncertain",
    "UsableMemory",
    "all_providers",
    "catalog",
    "covered_providers",
    "family",
    "find_instance",
    "get_instance",
    "gpu_of",
    "offer_source",
    "offers_for",
    "provider_id",
    "scan_instances",
    "scan_providers",
    "usable_memory",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
