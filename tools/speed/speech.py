"""Hours of audio that a speech model transcribes in an hour."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tools.errors import BadQuantityError
from tools.provenance import Assumption, Figure
from tools.speed.hardware import Card, card
from tools.speed.results import (
    Interval,
    Worked,
    constants_of,
    data_source,
    load_data,
    require_positive,
)
from tools.speed.serving_model import weight_format
from tools.speed.shapes import SpeechShape, speech_shape


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechJob:
    """Transcription of speech; None = not said, assumed and reported."""

    gpu: str
    model: str
    engine: str | None = None
    """faster-whisper, openai/whisper, whisper.cpp, transformers, ... as written."""
    weight_format: str | None = None
    batch: int | None = None
    """Windows of 30 s that are decoded at the same time; None = 1, one after the other."""
    beams: int | None = None
    num_gpus: int = 1
    tokens_per_window: float | None = None


@dataclass(frozen=True, slots=True)
class SpeechSpeed(Worked):
    """Speed of transcription; parts are seconds of one batch of windows."""

    hours_per_hour: Interval
    """Hours of audio in an hour, all GPUs together; 1 is real time."""
    real_time_factor: Interval
    """Seconds of computing per second of audio on one GPU."""

    def seconds_for(self, audio_s: float) -> Interval:
        """Seconds of computing for that much audio, s.

        Raises:
            BadQuantityError: If the amount is not above zero.
        """
        require_positive("audio_s", audio_s)
        return self.hours_per_hour.inverse(audio_s, "s")


def speech_work(model: str) -> tuple[float, float]:
    """(FLOP of one window, seconds of a window) of a speech model.

    Raises:
        UnknownModelError: If the model's name is not known.
        UnsupportedError: If it is not a speech model with known dimensions.
    """
    net = speech_shape(model)
    decoded = 2 * net.decoder_params() * _constant("tokens_per_window")
    work = net.window_flops(_constant("positions")) + (decoded if net.decoder_layers else 0.0)
    return work, _constant("window_s")


def _constant(name: str) -> float:
    return float(load_data("speech")["constants"][name]["value"])


def _engine(text: str | None) -> dict[str, Any]:
    rows: list[dict[str, Any]] = load_data("speech")["engines"]
    return next(row for row in rows if re.search(row["pattern"], (text or "").casefold()))


def _stated_batch(job: SpeechJob) -> int | None:
    """The batch of the job, or of the program's name: `faster-whisper batch 8`."""
    if job.batch is not None and job.batch > 1:
        return job.batch
    found = re.search(r"batch(?:\s*size)?\s*[=:]?\s*(\d+)", job.engine or "", re.IGNORECASE)
    return int(found[1]) if found else job.batch


def speech_parts(
    net: SpeechShape, device: Card, job: SpeechJob, engine: dict[str, Any], batch: int, beams: int,
) -> dict[str, float]:  # fmt: skip
    """Seconds of one batch of windows, by part.

    Source: one encoder pass is arithmetic (2 FLOP a weight and position, and the attention sums);
    a decoded token reads the decoder's weights and the audio's keys and values, and pays the
    launches of its layers. Constants: data/speech.json.
    """
    stored = weight_format(job.weight_format or ("fp32" if device.is_cpu else "fp16"))
    positions, tokens = _constant("positions"), job.tokens_per_window
    tokens = tokens or _constant("tokens_per_window")
    if device.is_cpu:
        rate = device.fp32_flops * _constant("encoder_share_cpu")
        rate *= _constant("int8_gain_cpu") if stored.bits <= 8 else 1.0
        rate /= _constant("python_cpu") if engine.get("python") else 1.0
        bandwidth = device.bytes_per_s * _constant("bandwidth_share_cpu")
    else:
        kind = "fp32" if stored.kind == "fp32" else "16"
        rate = device.powered_rate(kind, _constant("encoder_share"), constants_of("training"))
        bandwidth = device.bytes_per_s * _constant("bandwidth_share")
    rows = batch * beams
    steps = tokens * (_constant("longest_of_batch") if batch > 1 else 1.0)
    if not net.decoder_layers:
        steps = 0.0
    work = 2 * net.decoder_params() * rows / rate
    read = net.decoder_params() * stored.bits / 8 / bandwidth
    width = 4.0 if stored.kind == "fp32" else 2.0
    audio = net.cross_elements(positions) * width * rows / bandwidth
    launch_ms = engine["token_ms"] + engine["layer_ms"] * net.decoder_layers
    launch = launch_ms * 1e-3 * (0.3 if device.is_cpu else 1.0)
    return {
        "encoder": batch * net.window_flops(positions) / rate,
        "decoder": steps * max(read, work),
        "audio_cache": steps * audio,
        "launch": steps * launch,
    }


def speech_speed(job: SpeechJob) -> SpeechSpeed:
    """Hours of audio per hour of a speech model.

    Args:
        job: The run; fields that are None are assumed and reported.

    Raises:
        BadQuantityError: If a number is not above zero.
        UnknownModelError: If the model's name is not known.
        UnknownGpuError: If the card is not known.
        UnsupportedError: If it is not a speech model with known dimensions.

    Assumes: speech without long pauses; silence that is cut away beforehand costs nothing.
    """
    for name in ("batch", "beams", "tokens_per_window"):
        require_positive(name, getattr(job, name))
    if job.num_gpus < 0:
        raise BadQuantityError(field="num_gpus", given=job.num_gpus, allowed="0 (a CPU) or more")
    device, net, engine = card(job.gpu), speech_shape(job.model), _engine(job.engine)
    assumed: list[Assumption] = []
    if job.engine is None:
        assumed.append(Assumption("engine", engine["name"], "", engine["origin"]))
    batch = _stated_batch(job)
    if batch is None:
        batch = 1
        assumed.append(Assumption("batch", 1, "window", "windows one after the other"))
    beams = job.beams or (1 if batch > 1 else int(engine["beams"]))
    if job.beams is None:
        assumed.append(Assumption("beams", beams, "1", "the program's default"))
    if job.tokens_per_window is None and net.decoder_layers:
        row = load_data("speech")["constants"]["tokens_per_window"]
        assumed.append(Assumption("tokens_per_window", row["value"], "token", row["origin"]))
    found = speech_parts(net, device, job, engine, batch, beams)
    speed = batch * _constant("window_s") / sum(found.values())
    spread = float(load_data("speech")["spread"]["cpu" if device.is_cpu else "gpu"])
    one = Interval(speed, speed / spread, speed * spread, "h/h")
    together = one.scaled(max(1, job.num_gpus), "h/h")
    return SpeechSpeed(
        hours_per_hour=together,
        real_time_factor=one.inverse(1.0, "s/s"),
        parts=found,
        assumptions=tuple(assumed),
        _figures=_figures(together, net, device),
    )


def _figures(speed: Interval, net: SpeechShape, device: Card) -> tuple[Figure, ...]:
    work = Figure(
        "window_tflop", net.window_flops(_constant("positions")) / 1e12, "TFLOP",
        formula="positions * (2 * weights + attention sums)",
    )  # fmt: skip
    token = Figure("decoder_params", net.decoder_params(), "param", formula="14 layers h^2 + V h")
    bandwidth = Figure(
        "memory_bandwidth", device.bytes_per_s / 1e9, "GB/s", (data_source("cards", device.name),)
    )
    formula = "30 s * batch / (encoder + tokens * (weights / bandwidth + launches)) * GPUs"
    return (
        *speed.figures(
            "audio_hours_per_hour",
            formula=formula,
            inputs=(work, token, bandwidth),
            sources=(data_source("speech", "constants"),),
        ),
    )


@lru_cache(maxsize=256)
def cached_speech_speed(job: SpeechJob) -> SpeechSpeed:
    """`speech_speed` of a run asked before costs a look-up."""
    return speech_speed(job)
