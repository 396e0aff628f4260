from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent import Answered
from tests.ui.fakes import FakeAdvisor
from ui.conversations import ConversationBusy, Conversations, FileTurns


class Overlap(FakeAdvisor):
    """Notes how many questions of one conversation are worked on at a time."""

    def __init__(self) -> None:
        super().__init__(delay_s=0.05)
        self.now: dict[str | None, int] = {}
        self.most = 0

    def stream(self, question, *, thread=None, language=None):  # type: ignore[no-untyped-def]
        self.now[thread] = self.now.get(thread, 0) + 1
        self.most = max(self.most, self.now[thread])
        try:
            yield from super().stream(question, thread=thread, language=language)
        finally:
            self.now[thread] -= 1


def test_two_holders_of_one_folder_take_turns_in_a_conversation(tmp_path: Path) -> None:
    advisor = Overlap()
    faces = [Conversations(advisor, FileTurns(tmp_path)) for _ in range(2)]
    threads = [
        threading.Thread(target=faces[n % 2].ask, args=(f"q{n}",), kwargs={"thread": "t"})
        for n in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(advisor.asked), advisor.most) == (6, 1)


def test_questions_of_different_conversations_do_not_wait(tmp_path: Path) -> None:
    turns = FileTurns(tmp_path)
    with turns.taken("a"):
        started = time.monotonic()
        with turns.taken("b"):
            assert time.monotonic() - started < 5


def test_a_turn_that_does_not_end_is_waited_for_so_long_and_told(tmp_path: Path) -> None:
    face = Conversations(FakeAdvisor(), FileTurns(tmp_path, wait_s=0.05))
    with FileTurns(tmp_path).taken("t"), pytest.raises(ConversationBusy, match="still being"):
        face.ask("hello", thread="t")
    assert "hello" in face.ask("hello", thread="t").text


class Down:
    """A database that does not answer."""

    def __init__(self) -> None:
        self.is_down = True
        self.tried = 0

    @contextmanager
    def taken(self, thread: str) -> Iterator[None]:
        psycopg = pytest.importorskip("psycopg")
        self.tried += 1
        if self.is_down:
            raise psycopg.OperationalError("secret host")
        yield

    def is_up(self) -> bool:
        return not self.is_down


def test_in_an_outage_the_question_is_answered_alone_and_says_so() -> None:
    down = Down()
    face = Conversations(FakeAdvisor(), down)
    answer = face.ask("hello", thread="t")
    assert answer.text.endswith("You asked: hello")
    assert answer.degraded is not None
    assert "alone" in answer.degraded
    assert "secret" not in answer.degraded
    assert not face.are_kept()


def test_an_outage_is_noticed_once_not_by_every_question() -> None:
    down = Down()
    face = Conversations(FakeAdvisor(), down)
    for _ in range(5):
        face.ask("hello", thread="t")
    assert down.tried == 1


def test_after_an_outage_conversations_go_on() -> None:
    down = Down()
    face = Conversations(FakeAdvisor(), down)
    face.ask("hello", thread="t")
    down.is_down = False
    assert face.are_kept()
    answer = face.ask("hello", thread="t")
    assert (answer.degraded, down.tried) == (None, 2)


def test_text_of_a_broken_attempt_is_withdrawn() -> None:
    face = Conversations(FakeAdvisor(), Down())
    names = [type(event).__name__ for event in face.stream("hello", thread="t")]
    assert names[0] == "Withdrawn"
    assert names.count(Answered.__name__) == 1


def test_other_faults_are_not_taken_for_an_outage() -> None:
    down = Down()
    down.is_down = False
    with pytest.raises(RuntimeError):
        Conversations(FakeAdvisor(), down).ask("bug", thread="t")
