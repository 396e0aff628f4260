"""Answers that grow in assistant threads: one message, whatever breaks."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.ui.bot.platforms import Fault, Platforms, Post, slack_event, slack_post, until
from tests.ui.fakes import FakeAdvisor, an_answer
from ui.bot.slack import METADATA
from ui.bot.store import Key, Sqlite, Store

pytestmark = pytest.mark.sockets
WORDS = " ".join(f"word{n}" for n in range(30))


@pytest.fixture
def advisor() -> FakeAdvisor:
    """Slow enough that its words are worth showing: thirty in three seconds."""
    return FakeAdvisor(delay_s=0.4, make=lambda q, t, n: an_answer(text=WORDS))


@pytest.fixture
def direct() -> Post:
    body = slack_event("Ev1", type="message", channel_type="im", channel="D1", text="hello")
    return slack_post(body)


def is_whole(platforms: Platforms) -> bool:
    """True when the message has its blocks and the event's id."""
    found = [m for m in platforms.messages if m.get("metadata")]
    return bool(found) and found[0]["metadata"]["event_payload"]["event_id"] == "Ev1"


def assert_one_whole_answer(platforms: Platforms) -> dict[str, Any]:
    until(lambda: is_whole(platforms), limit_s=60)
    time.sleep(1.0)
    assert len(platforms.messages) == 1
    assert platforms.complaints == []
    message = platforms.messages[0]
    assert message["metadata"]["event_type"] == METADATA
    assert any(block["type"] == "actions" for block in message["blocks"])
    return message


def test_answer_grows_and_ends_as_one_message_with_blocks(
    post: Callable[[Post], Any], direct: Post, platforms: Platforms
) -> None:
    post(direct)
    until(lambda: len(platforms.messages) == 1 and platforms.messages[0].get("grows"), limit_s=30)
    assert "metadata" not in platforms.messages[0]
    assert_one_whole_answer(platforms)
    assert platforms.calls_of("chat.appendStream")
    assert not platforms.calls_of("chat.postMessage")


def test_where_slack_refuses_to_stream_the_answer_is_posted(
    post: Callable[[Post], Any], direct: Post, platforms: Platforms
) -> None:
    platforms.faults.append(Fault("chat.startStream", body={"ok": False, "error": "unknown"}))
    post(direct)
    assert_one_whole_answer(platforms)
    assert len(platforms.calls_of("chat.postMessage")) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "call",
    [
        "chat.startStream",
        "chat.appendStream",
        "chat.stopStream",
        "chat.update",
    ],
)
def test_a_lost_reply_leaves_one_whole_message(
    post: Callable[[Post], Any], direct: Post, platforms: Platforms, call: str
) -> None:
    platforms.faults.append(Fault(call, status=0, is_kept=True))
    post(direct)
    assert_one_whole_answer(platforms)


@pytest.mark.slow
@pytest.mark.parametrize("is_named", [True, False], ids=["named", "unnamed"])
def test_a_stream_that_a_dead_process_began_is_finished_by_the_next(
    service: Callable[..., TestClient], direct: Post, platforms: Platforms, tmp_path: Any,
    is_named: bool,
) -> None:  # fmt: skip
    begun = {"channel": "D1", "thread_ts": "10.0", "ts": "7.0", "text": "half", "grows": True}
    platforms.messages.append(begun)
    store = Store(Sqlite(tmp_path / "bot_events.sqlite"))
    payload = {"text": "hello", "channel": "D1", "is_direct": True, "thread": "10.0",
               "since": "10.0"}  # fmt: skip
    store.take(Key("slack", "Ev1"), payload)
    dead = store.claim(Key("slack", "Ev1"), lease_s=0.1)
    assert dead is not None
    store.remember(dead, {"is_partial": True, "stream": "7.0" if is_named else None})
    with service():
        message = assert_one_whole_answer(platforms)
    assert message["ts"] == "7.0"
