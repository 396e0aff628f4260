"""How fast, how long, how much, and what is in the way.

Public names are imported when first used, so that a caller pays only for what it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tools.speed.hardware import (
        Card,
        card,
    )
    from tools.speed.jobs import (
        JobCost,
        JobTime,
        job_cost,
        job_hours,
    )
    from tools.speed.loading import (
        LoadingReport,
        StorageLimit,
        data_loading,
        storage_limit,
        utilisation_gap,
    )
    from tools.speed.network import (
        NetworkShare,
        gradient_bytes,
        network_share,
        usable_gbps,
    )
    from tools.speed.results import (
        Interval,
    )
    from tools.speed.serving import (
        CardsNeeded,
        ServingSpeed,
        cached_serving_speed,
        cards_for_request_rate,
        cost_per_million_tokens,
        serving_speed,
    )
    from tools.speed.shapes import (
        Shape,
        shape_of,
    )
    from tools.speed.spot import (
        BillingChoice,
        SpotPlan,
        billing_break_even,
        checkpoint_bytes,
        checkpoint_seconds,
        mtbf_hours_of,
        spot_plan,
    )
    from tools.speed.training import (
        SpeedResult,
        cached_training_speed,
        training_speed,
    )
    from tools.speed.workload import (
        Layout,
        ServingJob,
        TrainingJob,
        parse_layout,
    )

_HOMES = {
    "Card": "hardware",
    "card": "hardware",
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
    "Interval": "results",
    "CardsNeeded": "serving",
    "ServingSpeed": "serving",
    "cached_serving_speed": "serving",
    "cards_for_request_rate": "serving",
    "cost_per_million_tokens": "serving",
    "serving_speed": "serving",
    "Shape": "shapes",
    "shape_of": "shapes",
    "BillingChoice": "spot",
    "SpotPlan": "spot",
    "billing_break_even": "spot",
    "checkpoint_bytes": "spot",
    "checkpoint_seconds": "spot",
    "mtbf_hours_of": "spot",
    "spot_plan": "spot",
    "SpeedResult": "training",
    "cached_training_speed": "training",
    "training_speed": "training",
    "Layout": "workload",
    "ServingJob": "workload",
    "TrainingJob": "workload",
    "parse_layout": "workload",
}

__all__ = [
    "BillingChoice",
    "Card",
    "CardsNeeded",
    "Interval",
    "JobCost",
    "JobTime",
    "Layout",
    "LoadingReport",
    "NetworkShare",
    "ServingJob",
    "ServingSpeed",
    "Shape",
    "SpeedResult",
    "SpotPlan",
    "StorageLimit",
    "TrainingJob",
    "billing_break_even",
    "cached_serving_speed",
    "cached_training_speed",
    "card",
    "cards_for_request_rate",
    "checkpoint_bytes",
    "checkpoint_seconds",
    "cost_per_million_tokens",
    "data_loading",
    "gradient_bytes",
    "job_cost",
    "job_hours",
    "mtbf_hours_of",
    "network_share",
    "parse_layout",
    "serving_speed",
    "shape_of",
    "spot_plan",
    "storage_limit",
    "training_speed",
    "usable_gbps",
    "utilisation_gap",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
