"""The page asks for no token: its visitors reach their own conversations and nobody else's."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import httpx
import pytest
from starlette.testclient import TestClient

from agent import Settings
from tests.ui.browser.conftest import Server
from tests.ui.fakes import FakeAdvisor
from tests.ui.test_many_chats import asked_on_the_page
from tools.errors import BadQuantityError
from ui.config import ServiceSettings
from ui.desk import Desk
from ui.service import create_app
from ui.visitors import Visitors, own_conversation


@pytest.mark.parametrize(
    "given",
    ["api:al:secret1", "slack:C1:171.5", "page:0b8f3c1e6d2a4c579d0e8a4f5b6c7d8e", "1", "", None,
     "0B8F3C1E6D2A4C579D0E8A4F5B6C7D8E", "0b8f3c1e6d2a4c579d0e8a4f5b6c7d8e\n", "a" * 5000],
)  # fmt: skip
def test_only_names_drawn_by_the_page_are_taken(given: str | None) -> None:
    with pytest.raises(BadQuantityError, match="drew at random"):
        own_conversation(given)


@pytest.mark.sockets
def test_the_page_can_neither_read_nor_go_on_with_another_faces_conversation() -> None:
    server = Server(FakeAdvisor())
    try:
        with httpx.Client(base_url=server.url, timeout=60) as client:
            body = {"question": "mine", "thread": "secret1"}
            client.post("/v1/ask", json=body).raise_for_status()
            inside = server.advisor.asked[-1][1]
            shown = asked_on_the_page(client, "and with QLoRA?", inside, "s1")
            assert "of this conversation" not in shown
            assert "drew at random" in shown
            name = str(uuid4())
            assert "Turn 1 of this" in asked_on_the_page(client, "and then?", name, "s2")
            again = client.post("/v1/ask", json=body).json()["text"]
            assert again.startswith("Turn 2 ")
    finally:
        server.stop()
    assert {thread for _, thread in server.advisor.asked} == {inside, f"page:{name}"}


def asked(visitors: Visitors, address: str) -> str:
    async def last() -> str:
        turn = visitors.turn("q", conversation=str(uuid4()), language="en", address=address)
        return [piece async for piece in turn][-1]

    return asyncio.run(last())


def test_an_address_asks_so_often_a_minute_and_others_go_on() -> None:
    advisor = FakeAdvisor()
    desk = Desk(advisor, simultaneous=1, waiting=1, timeout_s=60)
    visitors = Visitors(advisor, desk, per_minute=2)
    cards = [asked(visitors, "10.0.0.1") for _ in range(3)]
    assert [("You asked" in card) for card in cards] == [True, True, False]
    assert "2 questions a minute" in cards[-1]
    assert "data-final" in cards[-1]
    assert "You asked" in asked(visitors, "10.0.0.2")
    assert len(advisor.asked) == 3


def test_the_page_can_be_left_out() -> None:
    config = ServiceSettings.model_validate({"page": "off"})
    with TestClient(create_app(Settings(), config=config, advisor=FakeAdvisor())) as client:
        assert client.get("/").status_code == 404
        assert client.post("/gradio_api/queue/join", json={}).status_code == 404
        assert client.post("/v1/ask", json={"question": "q"}).status_code == 200
