"""How fast, how long, how much, and what is in the way.

Public names are imported when first used, so that a caller pays only for what it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tools.speed.answers import (
        GroupScore,
        LeftOutScore,
        answer_case,
        left_out_scores,
        score_rows,
    )
    from tools.speed.capacity import (
        CardsNeeded,
        cards_for_request_rate,
        cost_per_million_tokens,
    )
    from tools.speed.copying import (
        CopyJob,
        CopyTime,
        ObjectStore,
        copy_time,
        object_store,
        object_stores,
    )
    from tools.speed.denoising import (
        Denoiser,
        DenoisingJob,
        DenoisingSpeed,
        cached_denoising_speed,
        denoising_speed,
        find_denoiser,
    )
    from tools.speed.encoding import (
        EncodingJob,
        EncodingSpeed,
        cached_encoding_speed,
        encoding_speed,
    )
    from tools.speed.hardware import (
        Card,
        card,
        intra_link,
    )
    from tools.speed.jobs import (
        JobCost,
        JobTime,
        JobWork,
        job_cost,
        job_hours,
    )
    from tools.speed.loading import (
        LoadingJob,
        LoadingReport,
        data_loading,
        utilisation_gap,
    )
    from tools.speed.network import (
        Exchange,
        NetworkShare,
        gradient_bytes,
        network_share,
        usable_gbps,
    )
    from tools.speed.networks import (
        image_model,
    )
    from tools.speed.published import (
        RunCheck,
        compare_runs,
    )
    from tools.speed.results import (
        Interval,
    )
    from tools.speed.serving import (
        ServingSpeed,
        cached_serving_speed,
        serving_speed,
    )
    from tools.speed.shapes import (
        Shape,
        shape_of,
    )
    from tools.speed.speech import (
        SpeechJob,
        SpeechSpeed,
        cached_speech_speed,
        speech_speed,
        speech_work,
    )
    from tools.speed.spot import (
        SpotJob,
        SpotPlan,
        checkpoint_bytes,
        checkpoint_seconds,
        mtbf_hours_of,
        mtbf_of_band,
        spot_plan,
    )
    from tools.speed.storage import StorageLimit, capacity_for, storage_limit
    from tools.speed.training import (
        SpeedResult,
        adapter_cost,
        cached_training_speed,
        ppo_hours,
        training_speed,
    )
    from tools.speed.vision import (
        ImageJob,
        ImageSpeed,
        cached_image_speed,
        image_speed,
    )
    from tools.speed.workload import (
        Layout,
        ServingJob,
        TrainingJob,
        parse_layout,
    )

_HOMES = {
    "GroupScore": "answers",
    "LeftOutScore": "answers",
    "left_out_scores": "answers",
    "answer_case": "answers",
    "score_rows": "answers",
    "CopyJob": "copying",
    "CopyTime": "copying",
    "ObjectStore": "copying",
    "copy_time": "copying",
    "object_store": "copying",
    "object_stores": "copying",
    "Denoiser": "denoising",
    "DenoisingJob": "denoising",
    "DenoisingSpeed": "denoising",
    "cached_denoising_speed": "denoising",
    "denoising_speed": "denoising",
    "find_denoiser": "denoising",
    "EncodingJob": "encoding",
    "EncodingSpeed": "encoding",
    "cached_encoding_speed": "encoding",
    "encoding_speed": "encoding",
    "Card": "hardware",
    "card": "hardware",
    "intra_link": "hardware",
    "JobCost": "jobs",
    "JobTime": "jobs",
    "job_cost": "jobs",
    "JobWork": "jobs",
    "job_hours": "jobs",
    "LoadingReport": "loading",
    "LoadingJob": "loading",
    "StorageLimit": "storage",
    "data_loading": "loading",
    "capacity_for": "storage",
    "storage_limit": "storage",
    "utilisation_gap": "loading",
    "Exchange": "network",
    "NetworkShare": "network",
    "gradient_bytes": "network",
    "network_share": "network",
    "usable_gbps": "network",
    "RunCheck": "published",
    "compare_runs": "published",
    "Interval": "results",
    "CardsNeeded": "capacity",
    "ServingSpeed": "serving",
    "cached_serving_speed": "serving",
    "cards_for_request_rate": "capacity",
    "cost_per_million_tokens": "capacity",
    "serving_speed": "serving",
    "Shape": "shapes",
    "shape_of": "shapes",
    "SpeechJob": "speech",
    "SpeechSpeed": "speech",
    "cached_speech_speed": "speech",
    "speech_speed": "speech",
    "speech_work": "speech",
    "SpotJob": "spot",
    "SpotPlan": "spot",
    "mtbf_of_band": "spot",
    "checkpoint_bytes": "spot",
    "checkpoint_seconds": "spot",
    "mtbf_hours_of": "spot",
    "spot_plan": "spot",
    "SpeedResult": "training",
    "adapter_cost": "training",
    "cached_training_speed": "training",
    "ppo_hours": "training",
    "training_speed": "training",
    "ImageJob": "vision",
    "ImageSpeed": "vision",
    "cached_image_speed": "vision",
    "image_model": "networks",
    "image_speed": "vision",
    "Layout": "workload",
    "ServingJob": "workload",
    "TrainingJob": "workload",
    "parse_layout": "workload",
}

__all__ = [
    "Card",
    "CardsNeeded",
    "CopyJob",
    "CopyTime",
    "Denoiser",
    "DenoisingJob",
    "DenoisingSpeed",
    "EncodingJob",
    "EncodingSpeed",
    "GroupScore",
    "ImageJob",
    "ImageSpeed",
    "Interval",
    "JobCost",
    "JobTime",
    "Layout",
    "LeftOutScore",
    "LoadingReport",
    "NetworkShare",
    "ObjectStore",
    "RunCheck",
    "ServingJob",
    "ServingSpeed",
    "Shape",
    "SpeechJob",
    "SpeechSpeed",
    "SpeedResult",
    "SpotPlan",
    "Exchange",
    "JobWork",
    "LoadingJob",
    "SpotJob",
    "StorageLimit",
    "capacity_for",
    "TrainingJob",
    "adapter_cost",
    "answer_case",
    "cached_denoising_speed",
    "cached_encoding_speed",
    "cached_image_speed",
    "cached_serving_speed",
    "cached_speech_speed",
    "cached_training_speed",
    "card",
    "cards_for_request_rate",
    "checkpoint_bytes",
    "checkpoint_seconds",
    "compare_runs",
    "copy_time",
    "cost_per_million_tokens",
    "data_loading",
    "denoising_speed",
    "encoding_speed",
    "find_denoiser",
    "gradient_bytes",
    "image_model",
    "image_speed",
    "intra_link",
    "job_cost",
    "job_hours",
    "left_out_scores",
    "mtbf_hours_of",
    "mtbf_of_band",
    "network_share",
    "object_store",
    "object_stores",
    "parse_layout",
    "ppo_hours",
    "score_rows",
    "serving_speed",
    "shape_of",
    "speech_speed",
    "speech_work",
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
