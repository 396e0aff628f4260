from __future__ import annotations

import logging

import pytest

from tests.ui.fakes import FakeAdvisor, an_answer
from ui.turn import draw_turn


def drawn(question: str, language: str = "en") -> list[str]:
    return list(draw_turn(FakeAdvisor(), question, thread="t", language=language))  # type: ignore[arg-type]


def test_steps_are_shown_before_the_answer_with_arguments_and_time() -> None:
    pieces = drawn("hello")
    assert any("estimate_memory" in p and "data-final" not in p for p in pieces)
    assert "2.5 ms" in pieces[-1]
    assert "&lt;b&gt;x&lt;/b&gt;" in pieces[1]
    assert "data-final" in pieces[-1]


def test_withdrawn_text_is_gone() -> None:
    assert "half an ans" not in drawn("withdraw this")[-1]


def test_wrong_input_is_said_in_words_with_candidates() -> None:
    last = drawn("unknown card please")[-1]
    assert "A10O" in last
    assert "A100" in last


def test_dead_backend_is_said_with_what_to_do() -> None:
    assert "20 s" in drawn("backend down")[-1]
    assert "一分钟后再试" in drawn("backend down", "zh")[-1]


def test_bug_shows_a_reference_and_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        last = drawn("bug")[-1]
    assert "/srv/key" not in last
    reference = caplog.records[0].getMessage().split()[-1]
    assert reference in last


def test_degraded_answer_says_why() -> None:
    assert "endpoint timed out after 20 s" in drawn("degraded")[-1]


def test_stream_without_an_answer_becomes_an_error() -> None:
    class Silent(FakeAdvisor):
        def stream(self, question: str, **_: object):  # type: ignore[no-untyped-def,override]
            return iter(())

    last = list(draw_turn(Silent(), "q", thread="t", language="en"))[-1]
    assert "connection was lost" in last


def test_card_is_in_the_answers_language() -> None:
    advisor = FakeAdvisor(make=lambda *_: an_answer(language="zh"))
    last = list(draw_turn(advisor, "q", thread="t", language="en"))[-1]
    assert "放得下" in last
