"""Cloud instance types, their prices, and what to rent for a workload.

Names are imported when first used: a lookup does not pay for prices or recommendations.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tools.catalog.billing import (
        BillingComparison,
        compare_billing,
        hours_that_pay,
        month_of,
    )
    from tools.catalog.constraints import (
        Constraints,
        GpuNeed,
        HoursInterval,
        Miss,
        NearMiss,
        Recommendation,
        RecommendedOffer,
        Work,
    )
    from tools.catalog.fitting import PlainNeed
    from tools.catalog.loader import Catalog, catalog, offer_source
    from tools.catalog.lookup import Family, InstanceLookup, family, find_instance, get_instance
    from tools.catalog.memory import UsableMemory, gpu_of, usable_memory
    from tools.catalog.money import ExchangeRates, currency_code, exchange_rates, rates_from
    from tools.catalog.offer import InstanceOffer, Price, SpotRecord
    from tools.catalog.prices import (
        Observed,
        SpotPolicy,
        SpotQuote,
        cheapest,
        has_price_only,
        observed_spot_shares,
        policy_source,
        prices_of,
        spot_policies,
        spot_quote,
        spot_records,
        today,
    )
    from tools.catalog.providers import (
        Provider,
        all_providers,
        covered_providers,
        provider_id,
        scan_providers,
    )
    from tools.catalog.query import (
        Need,
        OfferSearch,
        Uncertain,
        has_nvlink,
        is_bare_metal,
        offers_for,
    )
    from tools.catalog.ranking import recommend
    from tools.catalog.regions import region_group, regions_named
    from tools.catalog.scan import InstanceMention, scan_instances
    from tools.catalog.sweeping import Rental, SweepRow, catalog_cards, cheapest_rentals, sweep
    from tools.catalog.traffic import TrafficCost, TrafficPrice, traffic_cost, traffic_prices

_HOMES = {
    "BillingComparison": "billing",
    "compare_billing": "billing",
    "hours_that_pay": "billing",
    "month_of": "billing",
    "Constraints": "constraints",
    "GpuNeed": "constraints",
    "HoursInterval": "constraints",
    "Miss": "constraints",
    "NearMiss": "constraints",
    "Recommendation": "constraints",
    "RecommendedOffer": "constraints",
    "Work": "constraints",
    "PlainNeed": "fitting",
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
    "ExchangeRates": "money",
    "currency_code": "money",
    "exchange_rates": "money",
    "rates_from": "money",
    "InstanceOffer": "offer",
    "Price": "offer",
    "SpotRecord": "offer",
    "Observed": "prices",
    "SpotPolicy": "prices",
    "SpotQuote": "prices",
    "cheapest": "prices",
    "has_price_only": "prices",
    "observed_spot_shares": "prices",
    "policy_source": "prices",
    "prices_of": "prices",
    "spot_policies": "prices",
    "spot_quote": "prices",
    "spot_records": "prices",
    "today": "prices",
    "Provider": "providers",
    "all_providers": "providers",
    "covered_providers": "providers",
    "provider_id": "providers",
    "scan_providers": "providers",
    "Need": "query",
    "OfferSearch": "query",
    "Uncertain": "query",
    "has_nvlink": "query",
    "is_bare_metal": "query",
    "offers_for": "query",
    "recommend": "ranking",
    "region_group": "regions",
    "regions_named": "regions",
    "InstanceMention": "scan",
    "scan_instances": "scan",
    "Rental": "sweeping",
    "SweepRow": "sweeping",
    "catalog_cards": "sweeping",
    "cheapest_rentals": "sweeping",
    "sweep": "sweeping",
    "TrafficCost": "traffic",
    "TrafficPrice": "traffic",
    "traffic_cost": "traffic",
    "traffic_prices": "traffic",
}

__all__ = [
    "BillingComparison",
    "Catalog",
    "Constraints",
    "ExchangeRates",
    "Family",
    "GpuNeed",
    "HoursInterval",
    "InstanceLookup",
    "InstanceMention",
    "InstanceOffer",
    "Miss",
    "NearMiss",
    "Need",
    "Observed",
    "OfferSearch",
    "PlainNeed",
    "Price",
    "Provider",
    "Recommendation",
    "RecommendedOffer",
    "Rental",
    "SpotPolicy",
    "SpotQuote",
    "SpotRecord",
    "SweepRow",
    "TrafficCost",
    "TrafficPrice",
    "Uncertain",
    "UsableMemory",
    "Work",
    "all_providers",
    "catalog",
    "catalog_cards",
    "cheapest",
    "cheapest_rentals",
    "compare_billing",
    "covered_providers",
    "currency_code",
    "exchange_rates",
    "family",
    "find_instance",
    "get_instance",
    "gpu_of",
    "has_nvlink",
    "is_bare_metal",
    "has_price_only",
    "hours_that_pay",
    "month_of",
    "observed_spot_shares",
    "offer_source",
    "offers_for",
    "policy_source",
    "prices_of",
    "provider_id",
    "rates_from",
    "recommend",
    "region_group",
    "regions_named",
    "scan_instances",
    "scan_providers",
    "spot_policies",
    "spot_quote",
    "spot_records",
    "sweep",
    "today",
    "traffic_cost",
    "traffic_prices",
    "usable_memory",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
