"""A turn of the page goes on in a thread of its own, whoever stops listening."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.ui.browser.conftest import Server
from tests.ui.fakes import FakeAdvisor
from tests.ui.test_many_chats import asked_on_the_page

pytestmark = pytest.mark.sockets


class Held(FakeAdvisor):
    """Works on a question that says so until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.holding, self.let_go = threading.Event(), threading.Event()

    def stream(self, question, *, thread=None, language=None):  # type: ignore[no-untyped-def]
        for event in super().stream(question, thread=thread, language=language):
            yield event
            if "hold" in question:
                self.holding.set()
                self.let_go.wait(60)


@pytest.fixture
def held() -> Iterator[Server]:
    running = Server(Held())
    yield running
    running.advisor.let_go.set()
    running.stop()


def stopped(client: httpx.Client, thread: str, holding: threading.Event) -> None:
    """Asks what is worked on for long, and presses Stop."""
    ask = next(d["id"] for d in client.get("/config").json()["dependencies"]
               if d["api_name"] == "ask")  # fmt: skip
    body: dict[str, Any] = {"data": ["hold", thread, "en", "t"], "fn_index": ask,
                            "session_hash": "s1"}  # fmt: skip
    event = client.post("/gradio_api/queue/join", json=body).json()["event_id"]
    with client.stream("GET", "/gradio_api/queue/data", params={"session_hash": "s1"}) as reply:
        lines = reply.iter_lines()  # kept: the connection ends with it
        next(line for line in lines if "process_generating" in line)
        assert holding.wait(10)
        cancel = {"session_hash": "s1", "fn_index": ask, "event_id": event}
        client.post("/gradio_api/cancel", json=cancel).raise_for_status()


def test_who_stops_an_answer_holds_up_nobody(held: Server) -> None:
    with httpx.Client(base_url=held.url, timeout=20) as client:
        stopped(client, str(uuid4()), held.advisor.holding)
        shown = asked_on_the_page(client, "meanwhile", str(uuid4()), "s2")
        assert "You asked: meanwhile" in shown
        assert not held.advisor.let_go.is_set()
