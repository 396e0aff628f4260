"""Thirty chats at a time over the page's own protocol stay separate and correct."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import httpx
import pytest

from tests.ui.browser.conftest import Server
from tests.ui.fakes import FakeAdvisor

pytestmark = pytest.mark.sockets
CHATS, TURNS = 30, 2


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server(FakeAdvisor(delay_s=0.2))
    yield running
    running.stop()


def chat(url: str, number: int) -> list[str]:
    """The last HTML of each turn of one chat."""
    session, thread = f"session{number}", str(uuid4())
    last: list[str] = []
    with httpx.Client(base_url=url, timeout=60) as client:
        for turn in range(TURNS):
            last.append(asked_on_the_page(client, f"chat {number} turn {turn}", thread, session))
    return last


def asked_on_the_page(client: httpx.Client, question: str, thread: str, session: str) -> str:
    """What the page gets for one question, over its library's own protocol."""
    ask = next(d["id"] for d in client.get("/config").json()["dependencies"]
               if d["api_name"] == "ask")  # fmt: skip
    body = {"data": [question, thread, "en", "t"], "fn_index": ask, "session_hash": session}
    client.post("/gradio_api/queue/join", json=body).raise_for_status()
    return _read(client, session)


def _read(client: httpx.Client, session: str) -> str:
    seen = []
    with client.stream("GET", "/gradio_api/queue/data", params={"session_hash": session}) as reply:
        for line in reply.iter_lines():
            if line.startswith("data:"):
                event = json.loads(line[5:])
                seen.append(json.dumps(event, ensure_ascii=False))
                if event["msg"] == "process_completed":
                    assert event["success"], event
                    break
    return "\n".join(seen)


def test_thirty_chats_stay_apart(server: Server) -> None:
    with ThreadPoolExecutor(CHATS) as pool:
        results = list(pool.map(lambda n: chat(server.url.rstrip("/"), n), range(CHATS)))
    for number, turns in enumerate(results):
        for turn, text in enumerate(turns):
            assert f"Turn {turn + 1} of this conversation." in text
            assert f"chat {number} turn {turn}" in text
            others = {n for n in range(CHATS) if n != number and f"chat {n} turn" in text}
            assert others == set()
    assert len(server.advisor.asked) == CHATS * TURNS
