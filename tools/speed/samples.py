"""Measured rows made ready to be predicted under any constants; used by `calibrate` alone."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tools.errors import AdvisorError
from tools.speed import cases
from tools.speed.hardware import card
from tools.speed.networks import image_model
from tools.speed.results import load_data
from tools.speed.serving import resolve_serving, serving_groups, spread_style
from tools.speed.serving_model import decode_parts, prefill_seconds, sequences_in_memory
from tools.speed.shapes import shape_of
from tools.speed.training import adapter_cost, groups, resolve, spread_group
from tools.speed.training_model import parts
from tools.speed.vision import image_batch, image_groups, image_parts, image_scaling

Constants = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Sample:
    """One measured row, ready to be predicted under any constants."""

    source: str
    device: str
    unit: str
    """Rows of one unit crowd each other."""
    truth: float
    core: bool
    tags: Mapping[str, str]
    spread: str
    predict: Callable[[Constants, float], float]
    """Value under constants and a correction factor."""
    light: float = 1.0
    generation: str = ""
    family: str = ""
    """Letters that the model's name begins with: llama, qwen, bert, resnet."""


def _source(row: Mapping[str, Any]) -> str:
    """Who published the row: the letters that its id begins with."""
    name = str(row["id"]).casefold()
    letters = re.match(r"[a-z]+", name)
    return letters[0] if letters else name.split("-")[0]


def _edition(row: Mapping[str, Any]) -> str:
    """One table of one publisher: rows of it were measured with the same programs."""
    return str(row["id"]).split("-")[0]


def _family(row: Mapping[str, Any]) -> str:
    name = str(row.get("model") or "").casefold().rpartition("/")[2].removeprefix("meta-")
    letters = re.match(r"[a-z]+", name)
    return letters[0] if letters else name


def training_sample(row: Mapping[str, Any], *, core: bool) -> Sample | None:
    """A training row of text; None where it has no token rate."""
    if not row.get("tok_s_gpu"):
        return None
    job = cases.training_job(row)
    device, shape = card(job.gpu), shape_of(job.model, job.params_b)
    step, _ = resolve(job, device, shape)
    length = step.seq_len if job.mean_tokens is None else job.mean_tokens
    tokens = step.micro_batch * length / (step.tensor * step.pipeline * step.context)
    scale = 1 / adapter_cost(job.adapter)
    if job.whole_run:
        scale *= float(load_data("training")["whole_run"]["value"])

    def predict(constants: Constants, factor: float) -> float:
        seconds = sum(parts(step, device, shape, constants).values())
        return float(tokens / seconds * scale * factor)

    return Sample(
        _source(row), device.name, f"{_edition(row)}/{device.name}", float(row["tok_s_gpu"]), core,
        groups(job, device, step), spread_group(job, step, shape), predict, family=_family(row),
    )  # fmt: skip


def serving_sample(row: Mapping[str, Any], *, core: bool) -> Sample | None:
    """A serving row; None where it has no decode rate."""
    if not row.get("decode_tok_s"):
        return None
    job = cases.serving_job(row)
    device, shape = card(job.gpu), shape_of(job.model, job.params_b)
    asked, _ = resolve_serving(job, device, shape)
    fitting = sequences_in_memory(asked, device, shape)
    step = replace(asked, concurrency=min(asked.concurrency, fitting or asked.concurrency))
    waves = asked.concurrency / step.concurrency
    whole = cases.includes_prefill(row)

    def predict(constants: Constants, factor: float) -> float:
        token_s = sum(decode_parts(step, device, shape, constants).values()) / factor
        if not whole:
            return 1 / token_s / waves
        prompt_s = step.concurrency * prefill_seconds(step, device, shape, constants)
        return step.output_len / ((prompt_s + step.output_len * token_s) * waves)

    tags = serving_groups(device, step)
    return Sample(
        _source(row), device.name, f"{_edition(row)}/{tags['engine-format']}/{device.name}",
        float(row["decode_tok_s"]), core, tags, spread_style(step), predict,
        0.2 if step.engine.style == "eager" and step.prompt_len > 4000 else 1.0,
        device.generation, _family(row),
    )  # fmt: skip


def vision_sample(row: Mapping[str, Any], *, core: bool) -> Sample | None:
    """A row of an image model; None where it has no images per second of all GPUs."""
    unit = str(row.get("unit") or "")
    network = row.get("task") == "network-case" and row.get("precision") and "/GPU" not in unit
    diffusion = row.get("task") in ("diffusion-train", "diffusion")
    if row.get("task") not in ("vision-train", "vision") and not network and not diffusion:
        return None
    if not unit.startswith(("images/s", "it/s")) or not row.get("measured"):
        return None
    job = cases.image_job(row)
    device = card(job.gpu)
    net = image_model(job.model, job.image_px, job.params_b)
    batch = image_batch(job, net, [])

    def predict(constants: Constants, factor: float) -> float:
        seconds = sum(image_parts(net, device, job, batch, constants).values())
        scaling = image_scaling(job, net, device, seconds, constants)
        return batch / seconds * scaling * max(1, job.num_gpus) * factor

    return Sample(
        _source(row), device.name, f"{_edition(row)}/{net.name}/{device.name}",
        float(row["measured"]) * (batch if unit.startswith("it/s") else 1.0),
        core and not network and not diffusion, image_groups(job, net, device), job.task,
        predict, family=_family(row),
    )  # fmt: skip


READERS = {"training": training_sample, "serving": serving_sample, "vision": vision_sample}


def read_samples(
    paths: Iterable[tuple[Path, bool]], name: str, unread: Counter[str]
) -> list[Sample]:
    """Every row of the files that the reader of `name` understands."""
    found: list[Sample] = []
    for path, core in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row.get("confidence") == "low":
                continue
            try:
                sample = READERS[name](row, core=core)
            except AdvisorError as error:
                unread[f"{name}: {error}"] += 1
                continue
            if sample is not None:
                found.append(sample)
    return found
