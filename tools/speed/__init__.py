"""How fast, how long, how much, and what is in the way.

Public names are imported when first used, so that a caller pays only for what it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tools.speed.jobs import JobCost, JobTime, job_cost, job_hours
    from tools.speed.loading import (
        LoadingReport,
        StorageLimit,
        data_loading,
        storage_limit,
        utilisation_gap,
    )
    from tools.speed.network import NetworkShare, gradient_bytes, network_share, usable_gbps
    from tools.speed.results import Interval
    from tools.speed.spot import (
        BillingChoice,
        SpotPlan,
        billing_break_even,
        checkpoint_bytes,
        checkpoint_seconds,
        mtbf_hours_of,
        spot_plan,
    )

_HOMES = {
    "Interval": "results",
    "JobCost": "jobs",
    "JobTime": "jobs",
    "job_cost": "jobs",
    "job_hours": "jobs",
    "LoadingReport": "loading",
    "StorageLimit": "loading",
    "data_loading": "loading",
    "storage_limit": "loading",
    "utilisation_gap": "loading",
    "NetworkShare": "network",
    "gradient_bytes": "network",
    "network_share": "network",
    "usable_gbps": "network",
    "BillingChoice": "spot",
    "SpotPlan": "spot",
    "billing_break_even": "spot",
    "checkpoint_bytes": "spot",
    "checkpoint_seconds": "spot",
    "mtbf_hours_of": "spot",
    "spot_plan": "spot",
}

__all__ = [
    "BillingChoice",
    "Interval",
    "JobCost",
    "JobTime",
    "LoadingReport",
    "NetworkShare",
    "SpotPlan",
    "StorageLimit",
    "billing_break_even",
    "checkpoint_bytes",
    "checkpoint_seconds",
    "data_loading",
    "gradient_bytes",
    "job_cost",
    "job_hours",
    "mtbf_hours_of",
    "network_share",
    "spot_plan",
    "storage_limit",
    "usable_gbps",
    "utilisation_gap",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
