"""Lines of one composer in front of another's answer."""

from __future__ import annotations

from typing import Any

import pytest

from agent.answer import Answer, AssumptionOut, CitationOut, FigureOut
from agent.answering.telling.joining import in_front


def _answer(text: str, **changes: Any) -> Answer:
    fields: dict[str, Any] = {"language": "en", "intent": "concept", "verdict": "depends"}
    return Answer(text=text, **{**fields, **changes})


def _figure(name: str, value: float) -> FigureOut:
    return FigureOut(name=name, value=value, unit="h")


def test_the_lines_lead_and_the_other_fields_stay() -> None:
    told = _answer("Lines.", verdict="not_applicable")
    answer = _answer("One.\n\nTwo.", intent="fit_check", verdict="fits", request={"gpu": "A10"})
    found = in_front(told, answer)
    assert found.text == "Lines.\n\nOne.\n\nTwo."
    assert (found.intent, found.verdict, found.request) == ("fit_check", "fits", {"gpu": "A10"})


def test_the_lines_go_behind_the_first_paragraph_where_it_is_the_answer() -> None:
    found = in_front(_answer("Lines."), _answer("One.\n\nTwo."), behind_first=True)
    assert found.text == "One.\n\nLines.\n\nTwo."
    assert in_front(_answer("Lines."), _answer("One."), behind_first=True).text == "One.\n\nLines."


def test_nothing_told_adds_no_blank_lines() -> None:
    assert in_front(_answer(""), _answer("One.")).text == "One."


@pytest.mark.parametrize(("most", "kept"), [(14, "Lines.\n\nOne."), (19, "Lines.\n\nOne.\n\nTwo.")])
def test_paragraphs_of_the_answer_are_left_out_from_its_end(most: int, kept: str) -> None:
    assert in_front(_answer("Lines."), _answer("One.\n\nTwo."), most=most).text == kept


def test_what_both_rest_on_is_kept_once() -> None:
    source = CitationOut(id="x", title="X", locator="")
    assumed = [AssumptionOut(name="m", value=1, unit="1", why=why) for why in ("lines", "answer")]
    told = _answer("L", figures=(_figure("a", 1), _figure("b", 2)), citations=(source,),
                   assumptions=(assumed[0],))  # fmt: skip
    answer = _answer("A", figures=(_figure("b", 2), _figure("b", 3)), citations=(source,),
                     assumptions=(assumed[1],))  # fmt: skip
    found = in_front(told, answer)
    assert [(f.name, f.value) for f in found.figures] == [("a", 1), ("b", 2), ("b", 3)]
    assert [c.id for c in found.citations] == ["x"]
    assert [a.why for a in found.assumptions] == ["lines"]


def test_fields_are_set_by_name() -> None:
    found = in_front(_answer("L"), _answer("A"), verdict="fits", clarifying_question="Which?")
    assert (found.verdict, found.clarifying_question) == ("fits", "Which?")
