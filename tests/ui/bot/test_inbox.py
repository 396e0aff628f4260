"""The store and its workers, with bots that fail in every way."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ui.bot.platforms import until
from ui.bot.inbox import Inbox, NotDelivered, Undeliverable
from ui.bot.store import Key, Store, Taken, open_store


class Recorder:
    """A bot that notes what it prepares and delivers; its errors are raised one after the other."""

    def __init__(self, *errors: Exception) -> None:
        self.prepared: list[str] = []
        self.delivered: list[tuple[str, bool]] = []
        self.errors = list(errors)
        self.gate: threading.Event | None = None

    def prepare(self, taken: Taken, note: Any = None) -> dict[str, Any]:
        self.prepared.append(taken.key.event_id)
        return {"answer": taken.payload["text"]}

    def deliver(self, taken: Taken, message: dict[str, Any]) -> None:
        assert message == {"answer": taken.payload["text"]}
        if self.gate is not None:
            self.gate.wait(10)
        self.delivered.append((taken.key.event_id, taken.in_doubt))
        if self.errors:
            raise self.errors.pop(0)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Inbox]]:
    """Starts inboxes on one file; all are closed in the end."""
    opened: list[Inbox] = []

    def make(bot: Recorder, **options: Any) -> Inbox:
        inbox = Inbox(open_store(tmp_path / "e.sqlite"), **({"poll_s": 0.05} | options))
        inbox.add("p", bot)
        inbox.start()
        opened.append(inbox)
        return inbox

    yield make
    for inbox in opened:
        inbox.close()


def test_event_is_taken_once_whoever_takes_it(start: Callable[..., Inbox]) -> None:
    bot = Recorder()
    inboxes = [start(bot), start(bot)]
    taken = [inbox.take("p", f"e{i}", {"text": "q"}) for i in range(20) for inbox in inboxes * 2]
    assert sum(taken) == 20
    until(lambda: inboxes[0].open_count() == 0)
    assert sorted(bot.prepared) == sorted(f"e{i}" for i in range(20))
    assert len(bot.delivered) == 20


@pytest.mark.parametrize("stage", ["taken", "claimed", "prepared", "sending"])
def test_event_of_a_dead_process_is_answered_once_by_the_next(
    start: Callable[..., Inbox], tmp_path: Path, stage: str
) -> None:
    dead = open_store(tmp_path / "e.sqlite")
    assert dead.take(Key("p", "e1"), {"text": "q"})
    if stage != "taken":
        held = dead.claim(Key("p", "e1"), lease_s=0.3)
        assert held is not None
        if stage in ("prepared", "sending"):
            dead.remember(held, {"answer": "q"})
        if stage == "sending":
            assert dead.begin(held)
    bot = Recorder()
    inbox = start(bot)
    until(lambda: inbox.open_count() == 0)
    assert bot.prepared == ([] if stage in ("prepared", "sending") else ["e1"])
    assert bot.delivered == [("e1", stage == "sending")]
    assert not inbox.take("p", "e1", {"text": "q"})


def test_living_worker_keeps_its_event_beyond_the_lease(start: Callable[..., Inbox]) -> None:
    slow, other = Recorder(), Recorder()
    slow.gate = threading.Event()
    first = start(slow, lease_s=0.3)
    first.take("p", "e1", {"text": "q"})
    until(lambda: slow.prepared == ["e1"])
    start(other, lease_s=0.3)
    time.sleep(1.0)
    slow.gate.set()
    until(lambda: first.open_count() == 0)
    assert (len(slow.delivered), other.delivered) == (1, [])


def test_worker_that_lost_its_event_does_not_send(tmp_path: Path) -> None:
    store = open_store(tmp_path / "e.sqlite")
    store.take(Key("p", "e"), {"text": "q"})
    stalled = store.claim(Key("p", "e"), lease_s=-1)
    assert stalled is not None
    assert store.claim(Key("p", "e"), lease_s=60) is not None
    assert not store.begin(stalled)
    store.finish(stalled, "done")
    assert store.open_count() == 1


def test_what_is_certain_not_to_have_arrived_is_sent_again_without_doubt(
    start: Callable[..., Inbox],
) -> None:
    bot = Recorder(NotDelivered("busy", wait_s=0.1), TimeoutError("lost"))
    inbox = start(bot)
    inbox.take("p", "e", {"text": "q"})
    until(lambda: inbox.open_count() == 0)
    assert bot.delivered == [("e", False), ("e", False), ("e", True)]
    assert bot.prepared == ["e"]


def test_what_cannot_be_delivered_ends(start: Callable[..., Inbox]) -> None:
    bot = Recorder(Undeliverable("gone"))
    inbox = start(bot)
    inbox.take("p", "e", {"text": "q"})
    until(lambda: inbox.open_count() == 0)
    assert len(bot.delivered) == 1


def test_event_that_cannot_be_prepared_does_not_go_on_for_ever(
    start: Callable[..., Inbox],
) -> None:
    bot = Recorder()
    inbox = start(bot)
    inbox.take("p", "e", {"no": "text"})  # the recorder needs a text
    inbox.take("p", "f", {"text": "q"})
    until(lambda: inbox.open_count() == 0)
    assert sorted(bot.prepared) == ["e", "e", "e", "f"]


def test_closing_finishes_what_is_in_progress_and_leaves_the_rest(
    start: Callable[..., Inbox], tmp_path: Path
) -> None:
    bot = Recorder()
    bot.gate = threading.Event()
    inbox = start(bot, workers=1)
    for number in range(3):
        inbox.take("p", f"e{number}", {"text": "q"})
    until(lambda: bot.prepared != [])
    closer = threading.Thread(target=inbox.close)
    closer.start()
    time.sleep(0.1)
    bot.gate.set()
    closer.join()
    assert len(bot.delivered) == 1
    assert Store.open_count(open_store(tmp_path / "e.sqlite")) == 2


def test_question_and_answer_are_forgotten_when_done_and_the_id_is_not(
    start: Callable[..., Inbox], tmp_path: Path
) -> None:
    inbox = start(Recorder())
    inbox.take("p", "e", {"text": "private question"})
    until(lambda: inbox.open_count() == 0)
    rows = open_store(tmp_path / "e.sqlite")._db.run("SELECT * FROM bot_events").rows
    assert "private" not in str(rows)
    assert ("p", "e") == tuple(rows[0][:2])


@pytest.mark.parametrize("event_id", ["", "a b", "\x00", "é", "x" * 201, "\ud800"])
def test_event_without_a_usable_id_is_left_alone(
    start: Callable[..., Inbox], event_id: str
) -> None:
    assert not start(Recorder()).take("p", event_id, {"text": "q"})
