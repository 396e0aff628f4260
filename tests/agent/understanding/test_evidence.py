"""The learned table: what it is made of, and that its maker learns what the rules miss."""

from __future__ import annotations

import json

from agent.understanding.kinds.evidence import evidence, marks_of, table
from agent.understanding.kinds.learning import Row, learn, written

KINDS = ("cost_estimate", "time_estimate", "out_of_scope")


def test_marks_are_words_pairs_and_up_to_three_characters() -> None:
    assert marks_of("训练 a10 fits?") == {
        "训", "练", "训练", "a", "0", "fits", "?", "a 0", "0 fits", "fits ?",
    }  # fmt: skip


def test_no_mark_of_the_table_is_longer_than_two_words_or_three_characters() -> None:
    for mark in table().words:
        assert len(mark.split()) <= 2
        assert mark.isascii() or len(mark) <= 3 or " " in mark


def test_a_text_too_long_for_a_question_has_no_evidence() -> None:
    assert evidence("多久" * 400, set()) == {}


def test_an_unknown_word_weighs_nothing() -> None:
    assert evidence("zzzz", {"no_such_feature"}) == {}


def _row(kind: str, text: str) -> Row:
    return Row(kind, frozenset(marks_of(text)), frozenset(), dict.fromkeys(KINDS, 0.0))


def test_learning_finds_the_words_that_tell_two_kinds_apart() -> None:
    rows = [_row("cost_estimate", f"价钱{n}") for n in "甲乙丙丁戊"]
    rows += [_row("time_estimate", f"时长{n}") for n in "甲乙丙丁戊"]
    learned = learn(rows)
    cost = str(learned["kinds"].index("cost_estimate"))
    assert learned["words"]["价钱"][cost] > 0
    assert learned["words"]["时长"][cost] < 0
    assert "甲" not in learned["words"]
    assert "out_of_scope" not in learned["kinds"]


def test_the_written_table_is_json_with_one_mark_a_line() -> None:
    learned = learn([_row("cost_estimate", "贵吗")] * 4 + [_row("time_estimate", "久吗")] * 4)
    text = written(learned)
    assert json.loads(text) == learned
    assert len(text.splitlines()) >= len(learned["words"])
