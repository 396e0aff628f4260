"""The suites: where their rows are, how one is run, how it is judged and summed up."""

from __future__ import annotations

import functools
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from evals.sample import CaseResult, Row, Score, read_rows, shipped
from evals.scorers import memory, questions, retrieval, speed
from tools.errors import UserInputError


class Subject(Protocol):
    """What is judged: asks the advisor, the calculators and the index."""

    def converse(self, row: Row) -> list[dict[str, Any]]:
        """Answers (as JSON) to the question and each follow-up of one conversation."""

    def estimate(self, row: Row) -> dict[str, Any]:
        """Memory estimate of a case row."""

    def speed(self, row: Row) -> dict[str, Any]:
        """Speed estimate of a case row."""

    def search(self, row: Row) -> list[dict[str, Any]]:
        """Ranked passages of a query."""


Summary = dict[str, float]


@dataclass(frozen=True, slots=True)
class Suite:
    """One suite, ready to run."""

    name: str
    title: str
    files: tuple[str, ...]
    """Names of the shipped files in evals/suites, without the ending."""
    run: Callable[[Subject, Row], Any]
    judge: Callable[[Row, Any], list[Score]]
    tags: Callable[[Row], dict[str, str]]
    summarize: Callable[[Sequence[Row], Sequence[CaseResult]], Summary]
    goals: Mapping[str, tuple[str, float]]
    """Metric of the summary -> (">=" or "<=", threshold)."""

    def rows(self) -> list[dict[str, Any]]:
        """All shipped rows."""
        return [row for name in self.files for row in read_rows(shipped(name))]


def _values(results: Sequence[CaseResult], name: str) -> list[float]:
    return [float(s.value) for r in results for s in r.scores if s.name == name]


def _mean(values: Sequence[float]) -> float:
    return statistics.fmean(values) if values else 0.0


def _quantile(values: Sequence[float], share: float) -> float:
    if not values:
        return float("nan")
    ordered = sorted(values)
    position = (len(ordered) - 1) * share
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


# ---------------------------------------------------------------- questions


def _registry_key(text: str) -> str:
    return re.sub("[^a-z0-9.+\u4e00-\u9fff]", "", text.casefold())


@functools.cache
def _row_of(slot: str, written: str) -> str | None:
    from tools.gpus import find_gpu
    from tools.models import find_model

    try:
        return find_model(written).spec.name if slot == "model" else find_gpu(written).spec.name
    except UserInputError:
        return None


def same_registry_row(slot: str, written: str, given: str) -> bool:
    """True when two spellings name the same row of the model registry or the GPU table."""
    if _registry_key(written.rpartition("/")[2]) == _registry_key(given.rpartition("/")[2]):
        return True
    left = _row_of(slot, written)
    return left is not None and left == _row_of(slot, given)


def _judge_questions(row: Row, output: Any) -> list[Score]:
    return questions.judge(row, output, same_registry_row)


def _summarize_questions(rows: Sequence[Row], results: Sequence[CaseResult]) -> Summary:
    by_id = {row["id"]: row for row in rows}
    must = [r for r in results if questions.is_must_pass(by_id[r.id])]
    right, given, wanted = (
        sum(_values(results, f"slots_{kind}")) for kind in ("right", "given", "wanted")
    )
    turns = sum(1 + len(row.get("turns_truth") or []) for row in rows)
    best = sum(
        float(score.value) * (1 + len(by_id[r.id].get("turns_truth") or []))
        for r in results
        for score in r.scores
        if score.name == "best_verdict"
    )
    return {
        "cases": len(results),
        "pass_rate": _mean([r.passed for r in results]),
        "must_pass_rate": _mean([r.passed for r in must]) if must else 1.0,
        "best_verdict_rate": best / turns if turns else 0.0,
        "slot_f1": 2 * right / (given + wanted) if given + wanted else 0.0,
        "slowest_ms": max((r.elapsed_ms for r in results), default=0.0),
    }


def _question_tags(row: Row) -> dict[str, str]:
    return {"intent": str(row.get("intent")), "language": str(row.get("lang"))}


# ---------------------------------------------------------------- memory, speed, retrieval


def _summarize_memory(rows: Sequence[Row], results: Sequence[CaseResult]) -> Summary:
    by_id = {row["id"]: row for row in rows}
    language = [r for r in results if memory.is_language_model(by_id[r.id])]
    simulated = [r for r in language if by_id[r.id].get("peak_bytes")]
    published = [r for r in language if not by_id[r.id].get("peak_bytes")]
    numeric = [r for r in published if _values([r], "relative_error")]
    training = [r for r in numeric if "engine" not in by_id[r.id]]
    serving = [r for r in numeric if "engine" in by_id[r.id]]
    points = _values(published, "verdict_points")
    summary: Summary = {
        "cases": len(results),
        "answered_rate": _mean([1.0 - (not s) for s in _values(results, "answered")]),
        "interval_rate": _mean(_values(numeric, "interval")),
        "verdict_rate": _mean(points) if points else 1.0,
    }
    for name, group in (("simulated", simulated), ("training", training), ("serving", serving)):
        errors = _values(group, "relative_error")
        if errors:
            summary[f"{name}_median_error"] = statistics.median(errors)
            summary[f"{name}_p90_error"] = _quantile(errors, 0.9)
    return summary


def _memory_tags(row: Row) -> dict[str, str]:
    source = "simulated" if row.get("peak_bytes") else "published"
    return {"source": source, "task": str(row.get("task")), "counter": str(row.get("counter"))}


def _summarize_speed(rows: Sequence[Row], results: Sequence[CaseResult]) -> Summary:
    by_id = {row["id"]: row for row in rows}
    scored = [r for r in results if speed.truth(by_id[r.id])]
    summary: Summary = {
        "cases": len(scored),
        "answered_rate": _mean(_values(scored, "answered")),
        "interval_rate": _mean(_values(scored, "interval")),
    }
    for key, name in (
        ("tokens_per_s_per_gpu", "training"),
        ("decode_tokens_per_s", "decode"),
        ("samples_per_s", "samples"),
    ):
        group = [r for r in scored if (speed.truth(by_id[r.id]) or ("", 0))[0] == key]
        errors = _values(group, "relative_error")
        if errors:
            summary[f"{name}_median_error"] = statistics.median(errors)
    return summary


def _speed_tags(row: Row) -> dict[str, str]:
    return {"task": str(row.get("task")), "gpu": str(row.get("gpu"))}


def _summarize_retrieval(rows: Sequence[Row], results: Sequence[CaseResult]) -> Summary:
    by_id = {row["id"]: row for row in rows}
    summary: Summary = {"cases": len(results)}
    for language in ("zh", "en"):
        group = [r for r in results if by_id[r.id].get("lang") == language]
        for metric, name in (
            ("hit_at_1", "hit1"),
            ("hit_at_3", "hit3"),
            ("reciprocal_rank", "mrr"),
        ):
            summary[f"{language}_{name}"] = _mean(_values(group, metric))
    off = _values(results, "returns_nothing")
    summary["off_corpus_silent"] = _mean(off) if off else 1.0
    return summary


def _retrieval_tags(row: Row) -> dict[str, str]:
    return {"language": str(row.get("lang")), "kind": str(row.get("kind"))}


SUITES: Mapping[str, Suite] = {
    suite.name: suite
    for suite in (
        Suite(
            name="questions",
            title="Questions and follow-ups, answered end to end",
            files=("questions",),
            run=lambda subject, row: subject.converse(row),
            judge=_judge_questions,
            tags=_question_tags,
            summarize=_summarize_questions,
            goals={
                "pass_rate": (">=", 0.95),
                "must_pass_rate": (">=", 1.0),
                "best_verdict_rate": (">=", 0.70),
                "slot_f1": (">=", 0.95),
            },
        ),
        Suite(
            name="memory",
            title="Published and simulated memory of real runs",
            files=("memory_training", "memory_inference", "simulated"),
            run=lambda subject, row: subject.estimate(memory.without_truth(row)),
            judge=memory.judge,
            tags=_memory_tags,
            summarize=_summarize_memory,
            goals={
                "answered_rate": (">=", 1.0),
                "interval_rate": (">=", 0.80),
                "verdict_rate": (">=", 0.90),
                "simulated_median_error": ("<=", 0.002),
                "training_median_error": ("<=", 0.04),
                "training_p90_error": ("<=", 0.20),
                "serving_median_error": ("<=", 0.025),
                "serving_p90_error": ("<=", 0.16),
            },
        ),
        Suite(
            name="speed",
            title="Measured training and serving speed",
            files=("speed_training", "speed_inference"),
            run=lambda subject, row: subject.speed(speed.without_truth(row)),
            judge=speed.judge,
            tags=_speed_tags,
            summarize=_summarize_speed,
            goals={
                "answered_rate": (">=", 0.90),
                "interval_rate": (">=", 0.80),
                "training_median_error": ("<=", 0.25),
                "decode_median_error": ("<=", 0.20),
            },
        ),
        Suite(
            name="retrieval",
            title="Guidance found by question, in both languages",
            files=("retrieval",),
            run=lambda subject, row: subject.search(row),
            judge=retrieval.judge,
            tags=_retrieval_tags,
            summarize=_summarize_retrieval,
            goals={
                **{f"{lang}_hit1": (">=", 0.85) for lang in ("zh", "en")},
                **{f"{lang}_hit3": (">=", 0.95) for lang in ("zh", "en")},
                **{f"{lang}_mrr": (">=", 0.90) for lang in ("zh", "en")},
                "off_corpus_silent": (">=", 0.90),
            },
        ),
    )
}


def get_suite(name: str) -> Suite:
    """The suite of this name.

    Raises:
        UserInputError: If there is none; names the known ones.
    """
    try:
        return SUITES[name]
    except KeyError:
        raise UserInputError(f"Unknown suite {name!r}. Known: {', '.join(SUITES)}.") from None
