"""The shipped half of the reference questions: slots, intents and behaviours of the first turn."""

from __future__ import annotations

import importlib.util
import json
from functools import cache
from types import ModuleType
from typing import Any

import pytest

from agent.request import Request
from agent.understanding import parse
from tests.helpers import shared_file


@cache
def rows() -> tuple[dict[str, Any], ...]:
    text = shared_file("cases/questions.jsonl").read_text(encoding="utf-8")
    return tuple(json.loads(line) for line in text.splitlines())


@cache
def understood() -> dict[str, Request]:
    return {row["id"]: parse(row["question"]) for row in rows()}


def scoring() -> ModuleType:
    path = shared_file("cases/scoring.py")
    spec = importlib.util.spec_from_file_location("reference_scoring", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def with_behaviour(name: str) -> list[dict[str, Any]]:
    return [row for row in rows() if name in row["expected_behavior"]]


def test_slot_f1_is_at_least_the_goal() -> None:
    counts = scoring().slots_counts
    right = given = wanted = 0
    for row in rows():
        answer = {"request": understood()[row["id"]].slots.model_dump(exclude_none=True)}
        found = counts(row, answer)
        right, given, wanted = right + found[0], given + found[1], wanted + found[2]
    assert 2 * right / (given + wanted) >= 0.95


def test_intents_are_accepted_in_at_least_95_percent() -> None:
    accepted = [understood()[row["id"]].intent in row["intent_accept"] for row in rows()]
    assert sum(accepted) / len(accepted) >= 0.95


def test_every_language_is_recognised() -> None:
    assert [row["id"] for row in rows() if understood()[row["id"]].language != row["lang"]] == []


def test_every_false_premise_is_put_right() -> None:
    premises = with_behaviour("correct_premise")
    assert premises
    assert [row["id"] for row in premises if not understood()[row["id"]].corrections] == []


def test_every_impossible_value_is_refused_and_every_absurd_one_flagged() -> None:
    cases = with_behaviour("validate_input")
    assert cases
    for row in cases:
        request = understood()[row["id"]]
        if row["truth"]["verdict_accept"] == ["not_applicable"]:
            assert request.intent == "invalid_input"
            assert request.invalid
        else:
            assert request.intent != "invalid_input"
            assert request.absurd


def test_everything_out_of_scope_is_declined() -> None:
    cases = with_behaviour("refuse_or_redirect")
    assert cases
    assert {understood()[row["id"]].intent for row in cases} == {"out_of_scope"}


def test_nothing_else_is_declined_or_refused() -> None:
    special = {"refuse_or_redirect", "validate_input"}
    for row in rows():
        if not special & set(row["expected_behavior"]):
            assert understood()[row["id"]].intent not in ("out_of_scope", "invalid_input"), row[
                "id"
            ]


def test_orders_in_the_text_are_set_aside() -> None:
    cases = with_behaviour("resist_injection")
    assert cases
    for row in cases:
        request = understood()[row["id"]]
        assert request.ignored
        assert request.intent in row["intent_accept"]


def test_questions_that_must_be_asked_back_are() -> None:
    cases = [row for row in rows() if row["expected_behavior"] == ["ask_one_question"]]
    assert cases
    assert all(understood()[row["id"]].clarifying_question for row in cases)


@pytest.mark.parametrize("part", ["question", "turns"])
def test_spans_are_the_readers_own_words(part: str) -> None:
    for row in rows():
        texts = [row["question"]] if part == "question" else row["turns"]
        for text in texts:
            for span in parse(text).spans.values():
                assert text[span.start : span.end] == span.text
