"""Judges whole answers: verdict, memory interval, facts, false claims, behaviour, slots."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evals.sample import Row, Score
from evals.scorers.text import claims, says_any

MAX_CHARACTERS = 2500
MUST_PASS_BEHAVIOURS = {
    "validate_input",
    "resist_injection",
    "refuse_or_redirect",
    "correct_premise",
}
CORE_SLOTS = frozenset(
    "model params_b task method precision quantization gpu gpu_count gpu_mem_gb batch seq_len"
    " concurrency provider instance framework".split()
)
MAY_BE_INFERRED = frozenset("params_b task gpu_count gpu_mem_gb precision method".split())

_NAMED_SOURCE = re.compile(r"\[((?:guide|vendor|paper|hf|data|rule|doc|user):[^\]\s]+)\]")
_HAN = re.compile("[\u4e00-\u9fff]")
_NO_WORDS = re.compile(r"`[^`]*`|\[[a-z]+:[^\]\s]*\]|[\s\d|*_.,:;()\-]")
_LEAST_HAN, _MOST_HAN = 0.12, 0.05
"""Share of Han characters in a Chinese and in an English text: names of models, cards and types
are Latin in both, and a Chinese note may be quoted in neither."""

JsonAnswer = Mapping[str, Any]
SameName = Callable[[str, str, str], bool]
"""(slot, written, given) -> both name the same row of a registry."""


def judge(row: Row, answers: Sequence[JsonAnswer | None], same_name: SameName) -> list[Score]:
    """Scores of one conversation: the question and its follow-ups.

    Args:
        row: A case of the `questions` suite.
        answers: Answers as JSON, the question's first; None where nothing was answered.
        same_name: Decides whether two spellings of a model or card are the same row.
    """
    scores: list[Score] = []
    truths = [row["truth"], *(row.get("turns_truth") or [])]
    best = 0
    for turn, truth in enumerate(truths):
        answer = answers[turn] if turn < len(answers) else None
        where = "" if turn == 0 else f"turn {turn}: "
        if not answer:
            scores.append(Score("answered", False, f"{where}no answer"))
            continue
        scores += _judge_turn(row, truth, answer, where)
        best += answer.get("verdict") == truth["verdict_accept"][0]
    scores += _judge_time(row, answers)
    if answers and answers[0]:
        scores += _judge_behaviour(row, answers[0])
        if "slots" in row:
            scores += _slot_scores(row, answers[0], same_name)
    scores.append(Score("best_verdict", best / len(truths)))
    return scores


def _judge_time(row: Row, answers: Sequence[JsonAnswer | None]) -> list[Score]:
    """The slowest turn in milliseconds; a failure only where the row sets a limit."""
    times = [float(a["elapsed_ms"]) for a in answers if a and a.get("elapsed_ms")]
    if not times:
        return []
    scores = [Score("elapsed_ms", max(times))]
    limit = row.get("within_ms")
    if limit is not None:
        scores.append(Score("in_time", max(times) <= limit, f"{max(times):.0f} of {limit} ms"))
    return scores


def _judge_turn(row: Row, truth: Row, answer: JsonAnswer, where: str) -> list[Score]:
    text = str(answer.get("text") or "")
    accepted = set(truth["verdict_accept"])
    if accepted == {"not_applicable"}:
        accepted.add("depends")
    verdict = answer.get("verdict")
    missing = [f for f in truth.get("must_mention") or [] if not says_any(text, f)]
    claimed = [c for c in truth.get("must_not_claim") or [] if claims(text, c)]
    orphans = answer.get("_orphan_numbers") or []
    return [
        Score("length", len(text) <= MAX_CHARACTERS, f"{where}{len(text)} characters"),
        Score(
            "language", answer.get("language") == row["lang"], f"{where}{answer.get('language')}"
        ),
        Score("verdict", verdict in accepted, f"{where}{verdict}, accepted {sorted(accepted)}"),
        judge_memory(truth, answer, where),
        Score("mentions", not missing, f"{where}misses {missing}"),
        Score("claims", not claimed, f"{where}claims {claimed}"),
        Score("no_orphan_numbers", not orphans, f"{where}without origin: {orphans}"),
        judge_text_language(row["lang"], text, where),
        judge_citations(row, answer, where),
    ]


def judge_text_language(language: str, text: str, where: str = "") -> Score:
    """The text itself is in the language, whatever the field says; names and units are in none."""
    letters = _NO_WORDS.sub("", text)
    share = len(_HAN.findall(letters)) / max(len(letters), 1)
    holds = not text or (share >= _LEAST_HAN if language == "zh" else share <= _MOST_HAN)
    return Score("text_language", holds, f"{where}{share:.0%} Han characters")


def judge_citations(row: Row, answer: JsonAnswer, where: str = "") -> Score:
    """Each source named in the text is among the citations; `must_cite` asks for one at least."""
    listed = {str(c["id"]) for c in answer.get("citations") or []}
    named = set(_NAMED_SOURCE.findall(str(answer.get("text") or "")))
    unknown = sorted(named - listed)
    if unknown:
        return Score("citations", False, f"{where}names {unknown}, which it does not list")
    if row.get("must_cite") and not where and not listed:
        return Score("citations", False, "cites nothing")
    return Score("citations", True)


def judge_memory(truth: Row, answer: JsonAnswer, where: str = "") -> Score:
    """The answer's interval overlaps the truth's, in its scope, and is narrow enough to use."""
    wanted = truth.get("memory_range_gb")
    if not wanted:
        return Score("memory", True, "no figure asked for")
    given = answer.get("memory")
    if not isinstance(given, Mapping):
        return Score("memory", False, f"{where}no memory figure")
    low, high = float(given["low_bytes"]) / 1e9, float(given["high_bytes"]) / 1e9
    scope, wanted_scope = given.get("scope"), truth.get("memory_scope")
    cards = _card_count(answer)
    if (wanted_scope, scope) == ("total", "per_gpu"):
        low, high = low * cards, high * cards
    elif (wanted_scope, scope) == ("per_gpu", "total"):
        low, high = low / cards, high / cards
    elif wanted_scope and scope != wanted_scope:
        return Score("memory", False, f"{where}is {scope}, asked for {wanted_scope}")
    if not 0 < low <= high:
        return Score("memory", False, f"{where}the interval is empty")
    if high > low * max(3.0, 1.5 * wanted[1] / wanted[0]):
        return Score("memory", False, f"{where}{low:.3g} to {high:.3g} GB is no answer")
    is_near = high >= wanted[0] * 0.93 and low <= wanted[1] * 1.08
    return Score("memory", is_near, f"{where}{low:.3g} to {high:.3g} GB, truth {wanted}")


def _card_count(answer: JsonAnswer) -> float:
    count = (answer.get("request") or {}).get("gpu_count")
    return float(count) if isinstance(count, int | float) and count > 0 else 1.0


def _judge_behaviour(row: Row, answer: JsonAnswer) -> list[Score]:
    wanted = set(row.get("expected_behavior") or [])
    intent = answer.get("intent")
    scores = []
    if "correct_premise" in wanted:
        scores.append(Score("corrects", bool(answer.get("corrections")), "premise not corrected"))
    if wanted == {"ask_one_question"}:
        asked = bool(answer.get("clarifying_question"))
        scores.append(Score("asks", asked, "did not ask"))
    if "validate_input" in wanted:
        accepted = {*(row.get("intent_accept") or []), "invalid_input"}
        built = row["truth"]["verdict_accept"] == ["not_applicable"] and answer.get("memory")
        scores.append(Score("validates", intent in accepted and not built, f"intent {intent}"))
    if "refuse_or_redirect" in wanted:
        scores.append(Score("declines", intent == "out_of_scope", f"intent {intent}"))
    called = {c["name"] for c in answer.get("tool_calls") or [] if c.get("ok")}
    missing = sorted(set(row.get("must_call") or []) - called)
    if row.get("must_call"):
        scores.append(Score("tools", not missing, f"did not call {missing}"))
    return scores


def _slot_scores(row: Row, answer: JsonAnswer, same_name: SameName) -> list[Score]:
    right, given, wanted = slot_counts(row, answer, same_name)
    return [
        Score("slots_right", float(right)),
        Score("slots_given", float(given)),
        Score("slots_wanted", float(wanted)),
    ]


def slot_counts(row: Row, answer: JsonAnswer, same_name: SameName) -> tuple[int, int, int]:
    """(right, given, wanted) pairs over the core slots of the first question."""
    wanted = _core(row.get("slots") or {})
    given = _core(answer.get("request") or {})
    right = sum(k in given and same_value(k, v, given[k], same_name) for k, v in wanted.items())
    counted = [k for k in given if k in wanted or k not in MAY_BE_INFERRED]
    return right, len(counted), len(wanted)


def _core(slots: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in slots.items() if k in CORE_SLOTS and v not in (None, [], "", ())}


def same_value(slot: str, wanted: Any, given: Any, same_name: SameName) -> bool:
    """True when a slot's value agrees with the case's, by the slot's own rule."""
    if isinstance(wanted, list | tuple) or isinstance(given, list | tuple):
        left = list(wanted) if isinstance(wanted, list | tuple) else [wanted]
        right = list(given) if isinstance(given, list | tuple) else [given]
        return len(left) == len(right) and all(
            any(same_value(slot, x, y, same_name) for y in right) for x in left
        )
    if isinstance(wanted, int | float) and isinstance(given, int | float):
        tolerance = 0.15 * abs(wanted) if slot == "params_b" else 1e-6 * max(1.0, abs(wanted))
        return abs(wanted - given) <= tolerance
    a, b = _plain(wanted), _plain(given)
    if a == b:
        return True
    if slot in ("model", "gpu"):
        return same_name(slot, str(wanted), str(given))
    if slot == "instance":
        return re.sub(r"^(ecs|ml)\.", "", a) == re.sub(r"^(ecs|ml)\.", "", b)
    if slot == "provider":
        return {a, b} <= {"alibaba", "aliyun", "\u963f\u91cc\u4e91", "\u963f\u91cc"}
    return slot == "quantization" and a == "q4" and b.startswith("q4")


def _plain(value: Any) -> str:
    return re.sub("[^a-z0-9.+\u4e00-\u9fff]", "", str(value).casefold())


def is_must_pass(row: Row) -> bool:
    """Traps, refusals, validations and injections: every one of them has to pass."""
    return row.get("intent") == "trap" or bool(
        MUST_PASS_BEHAVIOURS & set(row.get("expected_behavior") or [])
    )
