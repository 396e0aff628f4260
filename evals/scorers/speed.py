"""Judges speed estimates against measured runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evals.sample import Row, Score

TRUTH_FIELDS = frozenset(
    "measured tok_s_gpu tok_s_gpu_how mfu_pct hfu_pct tflops_gpu cost_usd decode_tok_s decode_how"
    " total_tok_s ttft_ms req_s figures notes source confidence extra why".split()
)
_SAMPLE_TASKS = ("vision-train", "nlp-train", "vision")
_SAMPLE_UNITS = ("images/s", "sequences/s", "sentences/s")
WIDEST = 4.0


def without_truth(row: Row) -> dict[str, Any]:
    """The row as the calculator sees it."""
    return {k: v for k, v in row.items() if k not in TRUTH_FIELDS}


def truth(row: Row) -> tuple[str, float] | None:
    """(key of the answer, measured value), or None for a row that is not scored."""
    if row.get("confidence") == "low":
        return None
    if row.get("tok_s_gpu") is not None:
        return "tokens_per_s_per_gpu", float(row["tok_s_gpu"])
    if row.get("decode_tok_s") is not None:
        return "decode_tokens_per_s", float(row["decode_tok_s"])
    in_samples = str(row.get("unit") or "").startswith(_SAMPLE_UNITS)
    if in_samples and row.get("task") in _SAMPLE_TASKS and row.get("measured") is not None:
        return "samples_per_s", float(row["measured"])
    return None


def judge(row: Row, output: Mapping[str, Any]) -> list[Score]:
    """Scores of one row: answered, error, interval."""
    wanted = truth(row)
    if wanted is None:
        return [Score("scored", 0.0, "no measured quantity to compare with")]
    key, measured = wanted
    given = output.get(key)
    if output.get("status") != "ok" or not given:
        return [Score("answered", False, str(output.get("reason") or f"no {key}"))]
    error = abs(float(given) - measured) / measured
    low, high = output.get("low"), output.get("high")
    holds = bool(low and high and high <= WIDEST * low and low <= measured <= high)
    return [
        Score("answered", True),
        Score("relative_error", error),
        Score(
            "within_2x", 0.5 <= float(given) / measured <= 2.0, f"{given:.4g} for {measured:.4g}"
        ),
        Score("interval", 1.0 if holds else 0.0),
    ]
