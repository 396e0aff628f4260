"""Answers rows of measurements by the contract, and scores them against a simple baseline."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tools.errors import AdvisorError, UnsupportedError, UserInputError
from tools.provenance import Assumption
from tools.speed import cases
from tools.speed.encoding import cached_encoding_speed
from tools.speed.hardware import card
from tools.speed.results import Interval, load_data
from tools.speed.serving import cached_serving_speed
from tools.speed.serving_model import engine_of, weight_bytes, weight_format
from tools.speed.shapes import shape_of
from tools.speed.speech import cached_speech_speed
from tools.speed.training import cached_training_speed
from tools.speed.vision import cached_image_speed

WIDEST = 4.0
"""An interval wider than this says nothing."""
BASELINE_MFU = {"full": 0.46, "lora": 0.28, "qlora": 0.28}
"""Constants of the three-constant baseline: shares of the peak by method."""

Answer = dict[str, Any]


def _assumptions(found: Sequence[Assumption]) -> list[dict[str, Any]]:
    return [{"name": a.name, "value": a.value, "unit": a.unit, "why": a.why} for a in found]


def _ok(row: Mapping[str, Any], key: str, value: Interval, assumed: Sequence[Assumption]) -> Answer:
    return {
        "id": row.get("id"),
        "status": "ok",
        "reason": None,
        key: value.value,
        "low": value.low,
        "high": value.high,
        "assumptions": _assumptions(assumed),
    }


def _training(row: Mapping[str, Any]) -> Answer:
    if cases.is_image_row(row):
        image = cached_image_speed(cases.image_job(row))
        return _ok(row, "samples_per_s", image.samples_per_s, image.assumptions)
    speed = cached_training_speed(cases.training_job(row))
    if cases.wants_samples(row):
        return _ok(row, "samples_per_s", speed.samples_per_s, speed.assumptions)
    return _ok(row, "tokens_per_s_per_gpu", speed.tokens_per_s_per_gpu, speed.assumptions)


def _serving(row: Mapping[str, Any]) -> Answer:
    if row.get("task") in ("vision", "diffusion"):
        job_of_images = cases.image_job(row)
        image = cached_image_speed(job_of_images)
        rate = image.samples_per_s
        if str(row.get("unit") or "").startswith("it/s"):
            rate = rate.scaled(1 / max(1.0, job_of_images.batch or 1.0), "it/s")
        return _ok(row, "samples_per_s", rate, image.assumptions)
    if row.get("task") == "asr":
        return _speech(row)
    job = cases.serving_job(row)
    if shape_of(job.model, job.params_b).is_encoder:
        encoder = cached_encoding_speed(cases.encoding_job(row))
        return _ok(row, "samples_per_s", encoder.texts_per_s, encoder.assumptions)
    speed = cached_serving_speed(job)
    value = speed.decode_tokens_per_s
    if cases.includes_prefill(row):
        value = speed.end_to_end_tokens_per_s
    return _ok(row, "decode_tokens_per_s", value, speed.assumptions)


def _speech(row: Mapping[str, Any]) -> Answer:
    """Seconds for the audio that the row names, else hours of audio per hour."""
    speech = cached_speech_speed(cases.speech_job(row))
    audio_s = cases.audio_seconds(row)
    if audio_s is None:
        return _ok(row, "audio_hours_per_hour", speech.hours_per_hour, speech.assumptions)
    answer = _ok(row, "wall_s", speech.seconds_for(audio_s), speech.assumptions)
    return {**answer, "audio_hours_per_hour": speech.hours_per_hour.value}


def answer_case(row: Mapping[str, Any]) -> Answer:
    """The figure that a row's metric asks for, by the contract of `tools speed --cases`.

    A row that cannot be read is answered with status `invalid` (it can be mended) or
    `unsupported` (it is not modelled) and one sentence; it never raises.
    """
    try:
        return _serving(row) if "engine" in row else _training(row)
    except UnsupportedError as error:
        return {"id": row.get("id"), "status": "unsupported", "reason": str(error)}
    except UserInputError as error:
        return {"id": row.get("id"), "status": "invalid", "reason": str(error)}


def truth_of(row: Mapping[str, Any]) -> tuple[str, float] | None:
    """(key of the answer, measured value) of a scored row; None for the others."""
    if row.get("confidence") == "low":
        return None
    if row.get("tok_s_gpu"):
        return "tokens_per_s_per_gpu", float(row["tok_s_gpu"])
    if row.get("decode_tok_s"):
        return "decode_tokens_per_s", float(row["decode_tok_s"])
    unit = str(row.get("unit") or "")
    if row.get("measured") and unit.startswith(cases.SAMPLE_UNITS):
        if row.get("task") in cases.SAMPLE_TASKS:
            return "samples_per_s", float(row["measured"])
    return None


def baseline(row: Mapping[str, Any]) -> float | None:
    """The three-constant estimate that this room has to beat; None where it has no formula.

    Training: peak * MFU / (k N + attention), MFU 0.46 full on A100, 0.38 on H100 (times 1.5 in
    FP8), 0.28 LoRA, 0.13 or 0.28 QLoRA. Decode: weights / 0.74 of the bandwidth + 1.5 to 12 ms.
    """
    try:
        return _baseline_serving(row) if "engine" in row else _baseline_training(row)
    except AdvisorError:
        return None


def _baseline_training(row: Mapping[str, Any]) -> float | None:
    if cases.is_image_row(row):
        return None
    job = cases.training_job(row)
    device, shape = card(job.gpu), shape_of(job.model, job.params_b)
    seq = job.seq_len or 2048
    share = BASELINE_MFU[job.method]
    if job.method == "qlora" and seq < 2048:
        share = 0.13
    if job.method == "full" and device.architecture.startswith("Hopper"):
        share = 0.38
    if "fp8" in str(job.precision).casefold() or "float8" in str(job.precision).casefold():
        share *= 1.5
    k = 6.0 if job.method == "full" else 4.0
    flops = k * shape.params_active + k * 2 * shape.layers * shape.hidden * seq
    peak = device.tensor16_flops
    if "32" in str(job.precision) and "16" not in str(job.precision):
        peak = device.flops("tf32")
    rate = peak * share / flops
    if truth_of(row) is not None and cases.wants_samples(row):
        return rate * job.num_gpus / seq
    return rate


def _baseline_serving(row: Mapping[str, Any]) -> float | None:
    if row.get("task") != "llm":
        return None
    job = cases.serving_job(row)
    device, shape = card(job.gpu), shape_of(job.model, job.params_b)
    engine, stored = engine_of(job.engine), weight_format(job.weight_format)
    ways = max(1, job.num_gpus) if engine.splits_tensors else 1
    start = {"graph": 2.5, "native": 2.0, "eager": 12.0}.get(engine.style, 1.5)
    start += 1.5 if stored.kind not in ("16", "fp32") else 0.0
    start += 4.0 if ways > 1 else 0.0
    active = shape.params_active / shape.params_total
    read = weight_bytes(shape, stored) * active / ways
    if engine.name == "llama.cpp" and device.tensor16_flops > 3e14:
        read *= 1.6
    rate = 1 / (read / (0.74 * device.bytes_per_s) + start * 1e-3)
    return min(rate, 45.0) if engine.style == "eager" else rate


@dataclass(frozen=True, slots=True)
class GroupScore:
    """Errors of one group of rows."""

    name: str
    rows: int
    answered: int
    median_error: float
    baseline_error: float
    """Median error of the baseline over the rows that it has a formula for; nan when none."""
    same_rows_error: float
    """Our median error over those same rows."""
    within: float
    """Share within 1.35 (training) or 1.3 times (decode)."""
    covered: float
    """Share whose interval, at most 4 times wide, holds the measurement."""


def score_rows(rows: Sequence[Mapping[str, Any]]) -> list[GroupScore]:
    """Errors by kind of figure: training tokens, decode, samples, and all training together."""
    scored = [(row, truth) for row in rows if (truth := truth_of(row)) is not None]

    def is_training(row: Mapping[str, Any], _: str) -> bool:
        return "engine" not in row

    kinds: list[tuple[str, Callable[[Mapping[str, Any], str], bool]]] = [
        ("training, all", is_training),
        ("training, tokens", lambda r, key: key == "tokens_per_s_per_gpu"),
        ("training, samples", lambda r, key: is_training(r, key) and key == "samples_per_s"),
        ("decode", lambda r, key: key == "decode_tokens_per_s"),
        ("inference, samples", lambda r, key: not is_training(r, key) and key == "samples_per_s"),
    ]
    found = []
    for name, wanted in kinds:
        chosen = [(row, truth) for row, truth in scored if wanted(row, truth[0])]
        if chosen:
            found.append(_score(name, chosen))
    return found


class LeftOutScore(NamedTuple):
    """Errors of the core rows of one kind when all rows like them were left out of the learning."""

    name: str
    way: str
    """source, card, family or fold (a random fifth)."""
    rows: int
    median_error: float
    within: float
    """Share within 1.35 times."""
    covered: float
    """Share inside the interval."""


def left_out_scores() -> tuple[LeftOutScore, ...]:
    """How the constants carry over, as the last calibration found (data/*.json, `errors`)."""
    found = []
    for name in ("training", "serving", "vision"):
        for way in ("fold", "source", "card", "family"):
            row = load_data(name)["errors"][f"left_out_{way}"]
            found.append(
                LeftOutScore(
                    name,
                    way,
                    row["rows_core"],
                    row["median_core"],
                    row["close_core"],
                    row["held_core"],
                )  # fmt: skip
            )
    return tuple(found)


def _median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else math.nan


def _score(name: str, rows: Sequence[tuple[Mapping[str, Any], tuple[str, float]]]) -> GroupScore:
    limit = 1.3 if name == "decode" else 1.35
    errors, ours, theirs = [], [], []
    covered = close = 0
    for row, (key, truth) in rows:
        answer = answer_case(cases.without_truth(row))
        value = answer.get(key)
        simple = baseline(row)
        if simple is not None:
            theirs.append(abs(simple / truth - 1))
        if not value:
            continue
        errors.append(abs(value / truth - 1))
        if simple is not None:
            ours.append(errors[-1])
        close += 1 / limit <= value / truth <= limit
        low, high = answer["low"], answer["high"]
        covered += low <= truth <= high <= WIDEST * low
    return GroupScore(
        name, len(rows), len(errors), _median(errors), _median(theirs), _median(ours),
        close / len(rows), covered / len(rows),
    )  # fmt: skip
