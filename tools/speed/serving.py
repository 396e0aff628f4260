"""Serving speed of a language model: one stream, many streams, first token, cards for a load."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from tools.errors import BadQuantityError, UnsupportedError
from tools.provenance import Assumption, Figure
from tools.speed.hardware import Card, card, intra_link, processor
from tools.speed.results import (
    Interval,
    constants_of,
    data_source,
    load_data,
    require_positive,
)
from tools.speed.serving_model import (
    Decode,
    decode_parts,
    engine_of,
    prefill_seconds,
    sequences_in_memory,
    weight_bytes,
    weight_format,
)
from tools.speed.shapes import Shape, shape_of
from tools.speed.workload import ServingJob

PREFILL_SPREAD = 1.6
"""Published prefills reach 22 to 50 % of the peak, around the 35 to 40 % taken here."""


@dataclass(frozen=True, slots=True)
class ServingSpeed:
    """Serving speed of one setup."""

    decode_tokens_per_s: Interval
    """Generated tokens per second of ONE sequence while it generates."""
    end_to_end_tokens_per_s: Interval
    """Generated tokens per second of one sequence, the prefill's time included."""
    total_tokens_per_s: Interval
    """Generated tokens per second of all sequences together, prefill included."""
    prefill_tokens_per_s: Interval
    ttft_s: Interval
    """Seconds to the first token of an idle server."""
    concurrency: int
    fitting_sequences: int | None
    """Sequences whose cache fits beside the weights; None when the memory is not known."""
    weight_bytes: float
    bound_by: str
    """Largest part of a decode step: weights, cache, launch, links, host."""
    parts: dict[str, float]
    assumptions: tuple[Assumption, ...]
    notes: tuple[str, ...]
    _figures: tuple[Figure, ...]

    def figures(self) -> tuple[Figure, ...]:
        """Rates (token/s) and time to the first token (s), with intervals."""
        return self._figures


def _host_bandwidth(
    job: ServingJob, device: Card, shape: Shape, assumed: list[Assumption]
) -> float | None:
    """GB/s at which weights outside the cards are used; None when they all fit."""
    if device.is_cpu or device.memory_gb is None:
        return None
    need = weight_bytes(shape, weight_format(job.weight_format))
    if need <= device.memory_gb * 1e9 * max(job.num_gpus, 1):
        return None
    engine = engine_of(_program(job, []))
    if engine.splits_tensors or device.is_apple:
        return None
    if engine.style == "native":
        named = re.search(r"\+.*", job.gpu)
        host = processor(named[0] if named else "")
        assumed.append(Assumption("host", host.bytes_per_s / 1e9, "GB/s", host.notes[0]))
        share = float(constants_of("serving")["bandwidth_cpu"])
        return host.bytes_per_s / 1e9 * share
    assumed.append(Assumption("host", 6.0, "GB/s", "weights copied over PCIe from host memory"))
    return 6.0


_HALF_BITS = 16


def _usual_format(job: ServingJob, engine: str) -> tuple[str, str]:
    """(format, why) where the setup states none: the name's, the program's, or as published."""
    published = None
    if job.model:
        from tools.models import try_find_model

        match = try_find_model(job.model)
        if match is not None and match.quantization:
            return match.quantization, "the name of the model says so"
        published = match.spec.dtype if match is not None else None
    if engine == "llama.cpp":
        return "q4_k_m", "the usual file of llama.cpp and ollama"
    is_one_format = published is not None and "/" not in published
    if is_one_format and weight_format(published).bits < _HALF_BITS:
        return str(published), "weights as published"
    return "bf16", "weights as published"


_GGUF = re.compile(r"gguf|(?<![a-z])i?q\d_(?:k|\d|xx?s|[smn])", re.IGNORECASE)


def _program(job: ServingJob, assumed: list[Assumption]) -> str:
    """The serving program; one that was not said is assumed by the weights' format."""
    if job.engine is not None:
        return job.engine
    if _GGUF.search(f"{job.weight_format or ''} {job.model or ''}"):
        assumed.append(Assumption("engine", "llama.cpp", "", "the program that reads GGUF files"))
        return "llama.cpp"
    assumed.append(Assumption("engine", "vllm", "", "the most used serving program"))
    return "vllm"


def resolve_serving(
    job: ServingJob, device: Card, shape: Shape
) -> tuple[Decode, tuple[Assumption, ...]]:
    """A setup with every open field chosen, and the list of what was chosen."""
    assumed: list[Assumption] = list(shape.assumptions)
    engine = engine_of(_program(job, assumed))
    written = job.weight_format
    if written is None:
        written, why = _usual_format(job, engine.name)
        assumed.append(Assumption("weight_format", written, "", why))
    prompt, output = job.prompt_len, job.output_len
    if prompt is None:
        prompt = 512
        assumed.append(Assumption("prompt_len", prompt, "token", "a short chat turn"))
    if output is None:
        output = 256
        assumed.append(Assumption("output_len", output, "token", "a short answer"))
    step = Decode(
        engine=engine,
        weights=weight_format(written),
        num_gpus=max(1, job.num_gpus),
        concurrency=job.concurrency,
        prompt_len=prompt,
        output_len=output,
        intra=intra_link(device, job.interconnect),
        host_gb_s=_host_bandwidth(replace(job, weight_format=written), device, shape, assumed),
    )
    return step, tuple(assumed)


def serving_speed(job: ServingJob, *, constants: Mapping[str, float] | None = None) -> ServingSpeed:
    """Decode, prefill and first-token speed of a serving setup.

    Args:
        job: The setup; fields that are None are assumed and reported.
        constants: Constants in place of data/serving.json; for calibration.

    Raises:
        BadQuantityError: If a number is not above zero or the model is not given.
        UnknownModelError: If the model's name is not known and no size is given.
        UnknownGpuError: If the card's name is not known.
        UnsupportedError: If the model generates no text, or the card's limits are not known.

    Source: decode reads every active weight and the cache once a token; prefill is 2N FLOPs a
    token; shares learnt from published rows (data/serving.json).
    """
    shape = _checked(job)
    device = card(job.gpu)
    c = constants or constants_of("serving")
    step, assumptions = resolve_serving(job, device, shape)
    fitting = sequences_in_memory(step, device, shape)
    running = replace(step, concurrency=min(step.concurrency, fitting or step.concurrency))
    found = decode_parts(running, device, shape, c)
    factor, spread = _learnt(load_data("serving"), device, running)
    token_s = sum(found.values()) / factor
    prefill_s = prefill_seconds(running, device, shape, c)
    waves = step.concurrency / running.concurrency
    stream = _around(1 / token_s / waves, spread, "token/s")
    whole_s = (running.concurrency * prefill_s + step.output_len * token_s) * waves
    end_to_end = _around(step.output_len / whole_s, spread, "token/s")
    total = end_to_end.scaled(step.concurrency, "token/s")
    prefill = _around(step.prompt_len / prefill_s, PREFILL_SPREAD, "token/s")
    ttft = _around(prefill_s + token_s, PREFILL_SPREAD, "s")
    return ServingSpeed(
        decode_tokens_per_s=stream,
        end_to_end_tokens_per_s=end_to_end,
        total_tokens_per_s=total,
        prefill_tokens_per_s=prefill,
        ttft_s=ttft,
        concurrency=step.concurrency,
        fitting_sequences=fitting,
        weight_bytes=weight_bytes(shape, step.weights),
        bound_by=max(found, key=lambda name: found[name]),
        parts=found,
        assumptions=assumptions,
        notes=_notes(step, fitting, found),
        _figures=_figures(step, shape, device, stream, total, prefill, ttft),
    )


def _checked(job: ServingJob) -> Shape:
    """The dimensions of a job's model, once its numbers and its kind can be served."""
    for name in ("concurrency", "prompt_len", "output_len"):
        require_positive(name, getattr(job, name))
    if job.num_gpus < 0:
        raise BadQuantityError(field="num_gpus", given=job.num_gpus, allowed="0 (a CPU) or more")
    shape = shape_of(job.model, job.params_b)
    if shape.is_encoder:
        raise UnsupportedError(
            shape.name,
            reason="an encoder generates no tokens",
            instead="Ask for its samples per second.",
        )
    return shape


def _around(value: float, spread: float, unit: str) -> Interval:
    """A value with the factor either way that should hold the truth."""
    return Interval(value, value / spread, value * spread, unit)


def _notes(step: Decode, fitting: int | None, found: Mapping[str, float]) -> tuple[str, ...]:
    notes = []
    if fitting is not None and fitting < step.concurrency:
        notes.append(f"The cache holds about {fitting} sequences at a time; the rest waits.")
    if found["host"] > 0:
        notes.append("Part of the weights does not fit the card and is used from host memory.")
    if step.num_gpus > 1 and not step.engine.splits_tensors:
        notes.append(f"{step.engine.name} splits by layers: more cards add memory, not speed.")
    return tuple(notes)


def _learnt(table: Mapping[str, Any], device: Card, step: Decode) -> tuple[float, float]:
    """(correction, half-width factor) of the groups that the setup belongs to."""
    factor = 1.0
    for kind, key in serving_groups(device, step).items():
        row = table["groups"].get(kind, {}).get(key)
        if row:
            factor *= row["factor"]
    spread = table["spread"].get(spread_style(step)) or table["spread"]["default"]
    return factor, float(spread["factor"])


def spread_style(step: Decode) -> str:
    """Group that an interval's width is learnt for."""
    return step.engine.style


def serving_groups(device: Card, step: Decode) -> dict[str, str]:
    """Groups whose rows share a learnt correction."""
    return {
        "engine": step.engine.name,
        "engine-format": f"{step.engine.name}/{step.weights.kind}",
    }


def _figures(
    step: Decode,
    shape: Shape,
    device: Card,
    stream: Interval,
    total: Interval,
    prefill: Interval,
    ttft: Interval,
) -> tuple[Figure, ...]:
    origin = (data_source("serving", "constants"),)
    weights = Figure(
        "weight_bytes", weight_bytes(shape, step.weights), "B", formula="params * bits / 8"
    )
    speed = Figure(
        "memory_bandwidth", device.bytes_per_s / 1e9, "GB/s", (data_source("cards", device.name),)
    )
    formula = "1 / (weights / bandwidth share + cache / bandwidth share + launches + links)"
    return (
        *stream.figures(
            "decode_tokens_per_s", formula=formula, inputs=(weights, speed), sources=origin
        ),
        *total.figures(
            "total_tokens_per_s",
            formula="concurrency * output / (prefill + decode)",
            sources=origin,
        ),
        *prefill.figures(
            "prefill_tokens_per_s", formula="share of peak / (2 N + attention)", sources=origin
        ),
        *ttft.figures("ttft", formula="prompt / prefill rate + one decode step", sources=origin),
    )


@lru_cache(maxsize=1024)
def cached_serving_speed(job: ServingJob) -> ServingSpeed:
    """`serving_speed` of a setup asked before costs a look-up."""
    return serving_speed(job)
