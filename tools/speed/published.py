"""Published whole runs against the hours and costs computed here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tools.speed.jobs import JobWork, job_cost, job_hours
from tools.speed.results import load_data
from tools.speed.training import cached_training_speed, ppo_hours
from tools.speed.vision import ImageJob, cached_image_speed
from tools.speed.workload import Layout, TrainingJob


@dataclass(frozen=True, slots=True)
class RunCheck:
    """One published run."""

    name: str
    hours: float
    published_hours: float
    cost: Decimal
    published_cost: Decimal
    currency: str
    factor: float
    """Computed cost over published cost."""
    note: str


def _job(run: Mapping[str, Any]) -> TrainingJob:
    return TrainingJob(
        gpu=run["gpu"],
        model=run["model"],
        params_b=run.get("params_b"),
        stage=run.get("stage", "finetune"),
        method=run.get("method", "full"),
        precision=run.get("precision"),
        num_gpus=run["gpus"],
        layout=Layout(sharding=run.get("sharding"), cpu_offload=run.get("offload", False)),
        micro_batch=run.get("batch"),
        grad_accum=run.get("accum"),
        seq_len=run.get("seq"),
        flash=run.get("flash"),
        mean_tokens=run.get("mean_tokens"),
        checkpointing=run.get("checkpointing"),
        compiled=run.get("compiled"),
    )


def _text_hours(run: Mapping[str, Any]) -> float:
    speed = cached_training_speed(_job(run))
    overhead = float(run.get("overhead_min", 0)) / 60
    if "samples" in run:
        time = job_hours(
            JobWork(samples=run["samples"], epochs=run.get("epochs", 1)),
            samples_per_s=speed.samples_per_s,
        )
    else:
        time = job_hours(JobWork(tokens=run["tokens"]), tokens_per_s=speed.tokens_per_s)
    return time.hours.value + overhead


def _image_hours(run: Mapping[str, Any]) -> float:
    hours = 0.0
    for images, px in run["images"]:
        speed = cached_image_speed(
            ImageJob(
                gpu=run["gpu"],
                model=run["model"],
                num_gpus=run["gpus"],
                batch=run["batch"],
                image_px=px,
            )
        )
        hours += job_hours(JobWork(samples=images), samples_per_s=speed.samples_per_s).hours.value
    return hours


def _ppo_hours(run: Mapping[str, Any]) -> float:
    return ppo_hours(
        gpu=run["gpu"], num_gpus=run["gpus"], model=run["model"], tokens=run["tokens"]
    ).value


def compare_runs() -> list[RunCheck]:
    """Every run of data/published_runs.json with the hours and the cost computed here."""
    found = []
    readers = {"image": _image_hours, "rlhf": _ppo_hours}
    for run in load_data("published_runs")["runs"]:
        hours = readers.get(run.get("kind", "text"), _text_hours)(run)
        price = Decimal(run["price"])
        cost = job_cost(hours, price_per_hour=price, currency=run["currency"]).cost
        published = Decimal(run["cost"])
        found.append(
            RunCheck(
                run["name"],
                hours,
                float(run["hours"]),
                cost,
                published,
                run["currency"],
                float(cost / published),
                run["note"],
            )  # fmt: skip
        )
    return found
