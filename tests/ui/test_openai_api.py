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


def completed(**fields: Any) -> Any:
    async def run() -> Any:
        body = {"model": "xuanka", "messages": [USER], **fields}
        made = await client_of(FakeAdvisor()).chat.completions.create(**body)
        return [chunk async for chunk in made] if fields.get("stream") else made

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("fields", "param", "said"),
    [
        ({"n": 3}, "n", "one answer"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools", "Leave them out"),
        ({"response_format": {"type": "json_object"}}, "response_format", "/v1/ask"),
        ({"temperature": 99}, "temperature", "less than or equal to 2"),
        ({"max_tokens": 0}, "max_tokens", "greater than or equal to 1"),
        ({"stop": ["a"] * 5}, "stop", "at most 4"),
        ({"messages": [{"role": "user", "content": None}]}, "messages", "no text"),
        ({"messages": [{"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": "data:,"}}]}]}, "messages", "as text"),
        ({"messages": [{"role": "user", "content": "显" * 33_334}]}, "messages", "100002 bytes"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("stream", [False, True])
def test_what_cannot_be_done_is_refused_in_openais_form(
    fields: dict[str, Any], param: str, said: str, stream: bool
) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        completed(**fields, stream=stream)
    assert refused.value.param == param
    assert said in refused.value.message


def test_fields_that_change_nothing_are_taken() -> None:
    reply = completed(n=1, temperature=0.5, tools=[], response_format={"type": "text"})
    assert reply.choices[0].message.content.endswith("You asked: hello")


@pytest.mark.parametrize(
    ("fields", "text", "finish"),
    [
        ({"max_tokens": 2}, "Turn 1 o", "length"),
        ({"max_completion_tokens": 500}, "Turn 1 of this conversation. You asked: hello", "stop"),
        ({"stop": "conversation. You"}, "Turn 1 of this ", "stop"),
        ({"stop": ["nowhere", "asked"]}, "Turn 1 of this conversation. You ", "stop"),
        ({"stop": "hellos"}, "Turn 1 of this conversation. You asked: hello", "stop"),
    ],
)
def test_the_answer_ends_where_the_client_wants(
    fields: dict[str, Any], text: str, finish: str
) -> None:
    choice = completed(**fields).choices[0]
    assert (choice.message.content, choice.finish_reason) == (text, finish)
    chunks = [c.choices[0] for c in completed(**fields, stream=True)]
    streamed = "".join(c.delta.content or "" for c in chunks)
    assert (
        streamed.rstrip(" ") if finish == "stop" and text.endswith("hello") else streamed
    ) == text
    assert chunks[-1].finish_reason == finish


def test_the_model_is_found_by_its_name() -> None:
    async def run() -> None:
        client = client_of(FakeAdvisor())
        assert (await client.models.retrieve("xuanka")).id == "xuanka"
        with pytest.raises(openai.NotFoundError):
            await client.models.retrieve("gpt-x")

    asyncio.run(run())
