from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import openai
import pytest
from openai import AsyncOpenAI

from agent import Settings
from tests.ui.fakes import FakeAdvisor
from ui.config import ServiceSettings
from ui.service import create_app


def client_of(advisor: FakeAdvisor, **config: Any) -> AsyncOpenAI:
    app = create_app(Settings(), config=ServiceSettings(**config), advisor=advisor, page=False)
    transport = httpx2.ASGITransport(app=app)
    return AsyncOpenAI(
        api_key="k" * 20,
        base_url="http://testserver/v1",
        max_retries=0,
        http_client=httpx2.AsyncClient(transport=transport),
    )


USER = {"role": "user", "content": "hello"}


def test_official_client_lists_models_and_completes() -> None:
    async def run() -> None:
        client = client_of(FakeAdvisor())
        assert [model.id async for model in client.models.list()] == ["xuanka"]
        reply = await client.chat.completions.create(model="xuanka", messages=[USER])  # type: ignore[list-item]
        assert reply.choices[0].message.content == "Turn 1 of this conversation. You asked: hello"
        assert reply.choices[0].finish_reason == "stop"

    asyncio.run(run())


def test_official_client_streams_with_usage_last() -> None:
    async def run() -> None:
        stream = await client_of(FakeAdvisor()).chat.completions.create(
            model="xuanka", messages=[USER], stream=True, stream_options={"include_usage": True},  # type: ignore[list-item]
        )  # fmt: skip
        chunks = [chunk async for chunk in stream]
        text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
        assert text.strip() == "Turn 1 of this conversation. You asked: hello"
        assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
        assert chunks[-1].choices == []
        assert chunks[-1].usage is not None

    asyncio.run(run())


def test_history_of_the_client_is_the_conversation() -> None:
    messages = [USER, {"role": "assistant", "content": "…"}, {"role": "user", "content": [
        {"type": "text", "text": "and"}, {"type": "text", "text": "then"}]}]  # fmt: skip

    async def run() -> str:
        reply = await client_of(FakeAdvisor()).chat.completions.create(
            model="xuanka", messages=messages,  # type: ignore[arg-type]
        )  # fmt: skip
        return reply.choices[0].message.content or ""

    assert asyncio.run(run()) == "Turn 2 of this conversation. You asked: and\nthen"


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"model": "gpt-x", "messages": [USER]}, openai.NotFoundError),
        ({"model": "xuanka", "messages": []}, openai.BadRequestError),
        ({"model": "xuanka", "messages": [{"role": "system", "content": "s"}]},
         openai.BadRequestError),
        ({"model": "xuanka", "messages": [{"role": "user", "content": "unknown card"}]},
         openai.BadRequestError),
        ({"model": "xuanka", "messages": [{"role": "user", "content": "bug"}]},
         openai.InternalServerError),
    ],
)  # fmt: skip
def test_errors_are_those_the_client_knows(body: Any, error: type[Exception]) -> None:
    async def run() -> None:
        await client_of(FakeAdvisor()).chat.completions.create(**body)

    with pytest.raises(error):
        asyncio.run(run())


def test_missing_token_is_an_authentication_error() -> None:
    async def run() -> None:
        await client_of(FakeAdvisor(), api_tokens="a:" + "z" * 20).models.list()

    with pytest.raises(openai.AuthenticationError):
        asyncio.run(run())
