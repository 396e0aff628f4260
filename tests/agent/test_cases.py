"""Every answer to the reference questions stands on figures, and is short enough."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from agent import Advisor, Answer, Settings
from agent.grounding import Evidence, orphan_numbers
from knowledge import search
from tests.helpers import shared_rows

LONGEST = 2500


@cache
def rows() -> list[dict[str, Any]]:
    return shared_rows("cases/questions.jsonl")


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[tuple[str, str, Answer]]]:
    """(case id, question, answer) of every turn of every case."""
    settings = Settings(own_machine=True, state_dir=tmp_path_factory.mktemp("state"))
    with Advisor(settings) as advisor:
        yield [
            (row["id"], question, advisor.ask(question, thread=row["id"] if row["turns"] else None))
            for row in rows()
            for question in (row["question"], *row["turns"])
        ]


def test_no_number_is_without_an_origin(answers: list[tuple[str, str, Answer]]) -> None:
    orphans = {}
    for case, question, answer in answers:
        passages = []
        if any(c.id.startswith("guide:") for c in answer.citations):
            passages = [p.text for p in search(question, k=5, language=answer.language)]
        evidence = Evidence.of(answer, question=question, passages=passages)
        found = orphan_numbers(answer.text, evidence)
        if found:
            orphans[case, question] = [problem.text for problem in found]
    assert orphans == {}


def test_answers_are_short_and_in_the_language_of_the_question(
    answers: list[tuple[str, str, Answer]],
) -> None:
    languages = {row["id"]: row["lang"] for row in rows()}
    wrong = [case for case, _, a in answers if a.language != languages[case]]
    long = {case: len(a.text) for case, _, a in answers if len(a.text) > LONGEST}
    assert wrong == []
    assert long == {}


def test_a_question_back_is_one_short_sentence(answers: list[tuple[str, str, Answer]]) -> None:
    asked = [a.clarifying_question for _, _, a in answers if a.clarifying_question]
    assert asked
    assert all(len(question) < 200 for question in asked)


def test_every_figure_has_a_formula_or_a_source(answers: list[tuple[str, str, Answer]]) -> None:
    bare = {f.name for _, _, a in answers for f in a.figures if not f.formula and not f.sources}
    assert bare == set()


def test_offers_carry_a_date_with_their_price(answers: list[tuple[str, str, Answer]]) -> None:
    priced = [o for _, _, a in answers for o in a.offers if o.price is not None]
    assert priced
    assert all(o.currency for o in priced)
