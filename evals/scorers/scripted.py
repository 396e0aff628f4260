"""Judges answers that a scripted endpoint had a hand in: faults, lies, truthful rewordings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from evals.sample import Row, Score

_SLACK_S = 5.0
_HAN = re.compile("[\u4e00-\u9fff]")


def judge_fault(row: Row, output: Mapping[str, Any]) -> list[Score]:
    """A fault ends in the embedded answer with the reason, or, where it mends, in the model's."""
    answer, embedded = output["answer"], output["embedded"]
    scores = [
        Score("verdict", answer["verdict"] == embedded["verdict"], f"{answer['verdict']}"),
        Score("memory", answer["memory"] == embedded["memory"], f"{answer['memory']}"),
        Score("in_time", output["elapsed_s"] <= row["within_s"] + _SLACK_S,
              f"{output['elapsed_s']:.1f} s, at most {row['within_s']} s"),
        Score("requests", output["requests"] <= row["most_requests"],
              f"{output['requests']} requests, at most {row['most_requests']}"),
    ]  # fmt: skip
    if row["ends_in"] == "endpoint":
        return [*scores, *_is_the_models(answer, output["told"])]
    return [*scores, *_is_fallen(answer, embedded, row.get("reason_says") or [])]


def judge_grounding(row: Row, output: Mapping[str, Any]) -> list[Score]:
    """A lie is replaced by the embedded answer, a truth is let through as it was said."""
    answer, embedded = output["answer"], output["embedded"]
    if row["kind"] == "truth":
        return _is_the_models(answer, output["told"])
    is_told = output["sentence"] in answer["text"]
    lie = Score("lie_not_shown", not is_told, f"shows {output['sentence']!r}")
    return [lie, *_is_fallen(answer, embedded, [])]


def _is_the_models(answer: Mapping[str, Any], told: str) -> list[Score]:
    return [
        Score("by_endpoint", answer["backend"] == "openai_compatible", f"{answer['degraded']}"),
        Score("as_told", answer["text"].strip() == told.strip(), "the text was changed"),
        Score("not_degraded", answer["degraded"] is None, f"{answer['degraded']}"),
    ]


def _is_fallen(
    answer: Mapping[str, Any], embedded: Mapping[str, Any], reasons: list[str]
) -> list[Score]:
    why = answer["degraded"] or ""
    is_chinese = _HAN.search(why) is not None
    scores = [
        Score("by_embedded", answer["backend"] == "embedded", f"{answer['backend']}"),
        Score("embedded_text", answer["text"] == embedded["text"], "not the embedded answer"),
        Score("says_why", bool(why), "no reason given"),
        Score("reason_language", is_chinese == (embedded["language"] == "zh"), why),
    ]
    if reasons:
        scores.append(Score("reason", any(r in why for r in reasons), f"{why!r}, wanted {reasons}"))
    return scores
