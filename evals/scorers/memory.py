"""Judges memory estimates against published and simulated measurements."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from evals.sample import Row, Score

_GIB, _GB = 2**30, 10**9
TRUTH_FIELDS = frozenset(
    "measured_gb verdict notes source figures quote_of_numbers confidence why peak_bytes peak_phase"
    " parts layer_saved_bytes kv_bytes".split()
)
TRUTH_EXTRAS = frozenset(
    "reserved_gib process_gib cuda_context_mib weight_breakdown_mib reserved_before_training_gib"
    " reserved_99th_gib trainable_params".split()
)
_COUNTERS: Mapping[str, tuple[str, ...]] = {
    "allocated": ("allocated_bytes",),
    "reserved": ("reserved_bytes",),
    "process": ("process_bytes",),
    "weights": ("weights_bytes",),
    "kv_cache": ("kv_cache_bytes",),
}
_ANY_COUNTER = ("allocated_bytes", "reserved_bytes", "process_bytes")
_TRAINING_FIELDS = (
    "precision", "quantization", "optimizer", "micro_batch_size", "seq_len",
    "gradient_checkpointing",
)  # fmt: skip
_SERVING_FIELDS = ("engine", "weight_format", "batch", "context_len", "kv_dtype", "num_gpus")
_NOT_LANGUAGE = re.compile(
    r"bert|whisper|diffusion|sdxl|flux|cogvideo|consisid|pixart|controlnet|r-?cnn|segformer|yolo"
    r"|resnet|timm/"
)


def without_truth(row: Row) -> dict[str, Any]:
    """The row as the calculator sees it."""
    asked = {k: v for k, v in row.items() if k not in TRUTH_FIELDS}
    extra = asked.get("extra")
    if isinstance(extra, Mapping):
        asked["extra"] = {k: v for k, v in extra.items() if k not in TRUTH_EXTRAS} or None
    return asked


def truths(row: Row) -> list[float]:
    """Accepted values in bytes; both readings where the source does not say GiB or GB."""
    if row.get("peak_bytes"):
        return [float(row["peak_bytes"])]
    measured = row.get("measured_gb")
    if measured is None:
        return []
    unit = row.get("unit")
    widths = [_GIB] if unit == "GiB" else [_GB] if unit == "GB" else [_GIB, _GB]
    return [float(measured) * width for width in widths]


def is_complete(row: Row) -> bool:
    """True when no field that moves the number is missing."""
    fields = _SERVING_FIELDS if "engine" in row else _TRAINING_FIELDS
    return all(row.get(name) is not None for name in fields)


def is_language_model(row: Row) -> bool:
    """Simulated rows say their kind; published rows are judged by the model's name."""
    if "kind" in row:
        return row["kind"] in (None, "decoder")
    return _NOT_LANGUAGE.search(str(row.get("model")).casefold()) is None


def relative_error(row: Row, output: Row) -> float | None:
    """|estimate - truth| / truth for the row's counter; None where nothing was given."""
    fields = _COUNTERS.get(row.get("counter") or "allocated", _ANY_COUNTER)
    cards = _cards(row)
    given = [float(output[name]) * cards for name in fields if output.get(name)]
    return min((abs(g - t) / t for g in given for t in truths(row)), default=None)


def interval_holds(row: Row, output: Row) -> bool:
    """True when low..high holds a truth and is no wider than the row's completeness allows."""
    low, high = output.get("low_bytes"), output.get("high_bytes")
    widest = 1.25 if is_complete(row) else 2.0
    if not low or not high or high > widest * low:
        return False
    cards = _cards(row)
    return any(low * cards <= truth <= high * cards for truth in truths(row))


def verdict_points(row: Row, output: Row) -> float | None:
    """1 right side, 0.5 `tight` where it ran out of memory, 0 wrong; None without an answer."""
    verdict, truth = output.get("verdict"), row.get("verdict")
    if truth is None or verdict in (None, "depends", "not_applicable"):
        return None
    if truth == "fits":
        return 1.0 if verdict in ("fits", "tight") else 0.0
    return {"does_not_fit": 1.0, "tight": 0.5}.get(str(verdict), 0.0)


def judge(row: Row, output: Row) -> list[Score]:
    """Scores of one row: answered, error, interval, verdict."""
    status = output.get("status")
    scores = [Score("answered", status == "ok", str(output.get("reason") or ""))]
    if status != "ok":
        return scores
    error = relative_error(row, output) if row.get("counter") != "other" else None
    if truths(row) and error is not None:
        scores.append(Score("relative_error", error))
        limit = 0.03 if "peak_bytes" in row and is_language_model(row) else 0.25
        scores.append(Score("near", error <= limit, f"{error:.1%} off, at most {limit:.0%}"))
        scores.append(Score("interval", 1.0 if interval_holds(row, output) else 0.0))
    points = verdict_points(row, output)
    if row.get("verdict") is not None:
        scores.append(Score("verdict_points", points if points is not None else 0.0))
        scores.append(Score("side", points is None or points > 0, f"{output.get('verdict')}"))
    return scores


def _cards(row: Row) -> int:
    is_sum = row.get("measured_scope") == "sum_over_gpus"
    return int(row.get("num_gpus") or 1) if is_sum else 1
