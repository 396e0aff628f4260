"""What a suite's results add up to, and the groups its report shows."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from evals.sample import CaseResult, Row
from evals.scorers import memory, questions, speed

Summary = dict[str, float]


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


def questions_summary(rows: Sequence[Row], results: Sequence[CaseResult]) -> Summary:
    """Rates over whole answers, slots F1, the slowest case."""
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
        **({"slot_f1": 2 * right / (given + wanted)} if given + wanted else {}),
        "slowest_ms": max((r.elapsed_ms for r in results), default=0.0),
    }


def question_tags(row: Row) -> dict[str, str]:
    """Intent and language."""
    return {"intent": str(row.get("intent")), "language": str(row.get("lang"))}


def memory_summary(rows: Sequence[Row], results: Sequence[CaseResult]) -> Summary:
    """Errors, intervals and verdicts, simulated and published rows apart."""
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


def memory_tags(row: Row) -> dict[str, str]:
    """Origin, task and counter."""
    source = "simulated" if row.get("peak_bytes") else "published"
    return {"source": source, "task": str(row.get("task")), "counter": str(row.get("counter"))}


def speed_summary(rows: Sequence[Row], results: Sequence[CaseResult]) -> Summary:
    """Errors and intervals by measured quantity."""
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


def speed_tags(row: Row) -> dict[str, str]:
    """Task and card."""
    return {"task": str(row.get("task")), "gpu": str(row.get("gpu"))}


def retrieval_summary(rows: Sequence[Row], results: Sequence[CaseResult]) -> Summary:
    """Hits and ranks by language; silence off the corpus."""
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


def retrieval_tags(row: Row) -> dict[str, str]:
    """Language and kind."""
    return {"language": str(row.get("lang")), "kind": str(row.get("kind"))}


def conversation_summary(rows: Sequence[Row], results: Sequence[CaseResult]) -> Summary:
    """Whole conversations and single turns that are right."""
    turns = sum(1 + len(row["turns_truth"]) for row in rows)
    failed = sum(len(_failed_turns(result)) for result in results)
    return {
        "cases": len(results),
        "pass_rate": _mean([r.passed for r in results]),
        "turns": turns,
        "turn_rate": 1 - failed / turns if turns else 0.0,
    }


def _failed_turns(result: CaseResult) -> set[str]:
    """Turns with a failure, by the prefix of its reason; all turns of one that raised."""
    if result.error:
        return {str(n) for n in range(len(result.output or []) or 1)}
    said = [s.reason for s in result.scores if s.is_failure]
    return {s.split(":")[0] if s.startswith("turn ") else "turn 0" for s in said}


def plain_summary(rows: Sequence[Row], results: Sequence[CaseResult]) -> Summary:
    """Cases and the share that passes."""
    return {"cases": len(results), "pass_rate": _mean([r.passed for r in results])}


def grounding_summary(rows: Sequence[Row], results: Sequence[CaseResult]) -> Summary:
    """Lies caught and truths let through."""
    kind = {row["id"]: row["kind"] for row in rows}
    lies = [r.passed for r in results if kind[r.id] == "lie"]
    truths = [r.passed for r in results if kind[r.id] == "truth"]
    return {
        "cases": len(results),
        "lies_caught": _mean(lies) if lies else 1.0,
        "truths_passed": _mean(truths) if truths else 1.0,
    }


def catalog_tags(row: Row) -> dict[str, str]:
    """What is looked up."""
    return {"what": str(row["what"])}


def fault_tags(row: Row) -> dict[str, str]:
    """Language and how it ends."""
    return {"language": str(row["lang"]), "ends_in": str(row["ends_in"])}


def grounding_tags(row: Row) -> dict[str, str]:
    """Language, lie or truth, what it is about."""
    return {"language": str(row["lang"]), "kind": str(row["kind"]), "topic": str(row["topic"])}
