"""An OpenAI-compatible face: /v1/models and /v1/chat/completions, for any chat client."""

from __future__ import annotations

import json
import logging
import secrets
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from agent import Answer, Answered, TextDelta, Withdrawn
from ui.desk import Desk
from ui.http.api import (
    ERRORS,
    EVENT_STREAM,
    SSE_HEADERS,
    error_response,
    length_problem,
    message_of,
    status_of,
)
from ui.http.cutting import BYTES_PER_TOKEN, Cut
from ui.http.protection import error_body

log = logging.getLogger("xuanka.openai")
MODEL = "xuanka"


class Part(BaseModel):
    """A piece of a message; pieces that are not text are passed over."""

    model_config = ConfigDict(extra="allow")

    type: str = "text"
    text: str | None = None


class Message(BaseModel):
    """One message of the conversation as the client holds it."""

    model_config = ConfigDict(extra="allow")

    role: str
    content: str | list[Part] | None = None

    def plain(self) -> str:
        """The text of the message."""
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content if part.text)
        return self.content or ""


class StreamOptions(BaseModel):
    """What else a stream carries."""

    model_config = ConfigDict(extra="allow")

    include_usage: bool | None = None


class ChatBody(BaseModel):
    """A chat request; what changes nothing here (temperature, seed, ...) is checked and ignored."""

    model_config = ConfigDict(extra="allow")

    messages: list[Message] = Field(min_length=1, max_length=400)
    model: str = MODEL
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, ge=0, le=1)
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    stop: str | Annotated[list[str], Field(max_length=4)] | None = None
    n: int | None = Field(None, ge=1)
    tools: list[Any] | None = None
    functions: list[Any] | None = None
    response_format: dict[str, Any] | None = None

    def cut(self) -> Cut:
        """Where the client wants the answer to end."""
        stops = [self.stop] if isinstance(self.stop, str) else self.stop or []
        limits = [most for most in (self.max_completion_tokens, self.max_tokens) if most]
        return Cut(stops, min(limits, default=None))

    def unsupported(self) -> tuple[str, str] | None:
        """A field that asks for what cannot be done, and what to do; None if there is none."""
        if self.n is not None and self.n > 1:
            return "n", f"n is {self.n}; one answer is given. Leave n out or set it to 1."
        for name, given in (("tools", self.tools), ("functions", self.functions)):
            if given:
                return (
                    name,
                    f"{name} cannot be called here; this model has its own. Leave them out.",
                )
        kind = (self.response_format or {}).get("type", "text")
        if kind != "text":
            return "response_format", (
                f"response_format {str(kind)[:40]!r} is not supported; answers are text. "
                "For figures as JSON use POST /v1/ask."
            )
        return None


def _error(request: Request, status: int, kind: str, message: str, **more: str) -> JSONResponse:
    body = error_body(kind, message, request.scope.get("request_id"))
    body["error"].update(more)
    return JSONResponse(body, status)


def _no_model(request: Request, given: str) -> JSONResponse:
    message = f"The model {given[:80]!r} does not exist. Use {MODEL!r}."
    return _error(request, 404, "invalid_request_error", message,
                  code="model_not_found", param="model")  # fmt: skip


def _refusal(request: Request, body: ChatBody, questions: list[str]) -> JSONResponse | None:
    """What cannot be answered as it was asked; None when it can."""
    more = {"param": "messages"}
    if unsupported := body.unsupported():
        param, message = unsupported
        more = {"param": param, "code": "unsupported_value"}
    elif not questions:
        message = "messages holds no message of role 'user'. Add one."
    elif not questions[-1].strip():
        message = "The last message of role 'user' holds no text. Write the question as text."
    elif too_long := length_problem(questions[-1]):
        message, more["code"] = too_long, "context_length_exceeded"
    else:
        return None
    return _error(request, 400, "invalid_request_error", message, **more)


def _usage(prompt: str, reply: str) -> dict[str, int]:
    # Clients show these.
    asked, said = (max(1, len(text.encode()) // BYTES_PER_TOKEN) for text in (prompt, reply))
    return {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}


def build_openai_api(desk: Desk) -> APIRouter:
    """The routes."""
    router = APIRouter(responses=ERRORS, tags=["openai-compatible"])
    row = {"id": MODEL, "object": "model", "created": int(time.time()), "owned_by": "xuanka"}

    @router.get("/v1/models")
    async def models() -> dict[str, Any]:
        """The one model that there is."""
        return {"object": "list", "data": [row]}

    @router.get("/v1/models/{model}")
    async def model(model: str, request: Request) -> Any:
        """The model by its name."""
        return row if model == MODEL else _no_model(request, model)

    @router.post("/v1/chat/completions", responses={200: EVENT_STREAM})
    async def complete(body: ChatBody, request: Request) -> Any:
        """The answer to the last user message; earlier ones are the conversation."""
        if body.model != MODEL:
            return _no_model(request, body.model)
        questions = [m.plain() for m in body.messages if m.role == "user"]
        if refused := _refusal(request, body, questions):
            return refused
        chat = _Chat(desk, questions, body)
        if body.stream:
            return StreamingResponse(
                chat.chunks(request), media_type="text/event-stream", headers=SSE_HEADERS
            )
        try:
            return JSONResponse(await chat.whole())
        except Exception as error:
            return error_response(request, error)

    return router


class _Chat:
    """One request: the client's history is played into a conversation of its own."""

    def __init__(self, desk: Desk, questions: list[str], body: ChatBody) -> None:
        self.desk = desk
        self.earlier, self.question = questions[-6:-1], questions[-1]
        self.thread = f"chat:{secrets.token_hex(16)}" if self.earlier else None
        self.head = {"id": f"chatcmpl-{secrets.token_hex(12)}", "created": int(time.time()),
                     "model": MODEL}  # fmt: skip
        self.cut = body.cut()
        options = body.stream_options
        self.with_usage = bool(options and options.include_usage)

    async def _replay(self) -> None:
        for question in self.earlier:
            await self.desk.ask(question, thread=self.thread)

    async def _forget(self) -> None:
        forget = getattr(self.desk.advisor, "delete", None)
        if self.thread is not None and forget is not None:
            import anyio.to_thread

            await anyio.to_thread.run_sync(forget, self.thread)

    async def whole(self) -> dict[str, Any]:
        """The completion in one piece."""
        await self._replay()
        answer: Answer = await self.desk.ask(self.question, thread=self.thread)
        await self._forget()
        said = self.cut.feed(answer.text) + self.cut.end()
        message = {"role": "assistant", "content": said}
        choice = {"index": 0, "message": message, "finish_reason": self.cut.finish,
                  "logprobs": None}  # fmt: skip
        return {**self.head, "object": "chat.completion", "choices": [choice],
                "usage": _usage(self.question, said)}  # fmt: skip

    def _chunk(self, delta: dict[str, str], finish: str | None = None, **more: Any) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        data = {**self.head, "object": "chat.completion.chunk", "choices": [choice], **more}
        return f"data: {json.dumps(data, ensure_ascii=False)}\n\n"

    async def chunks(self, request: Request) -> AsyncIterator[str]:
        """The completion as SSE chunks.

        Text that was withdrawn cannot be taken back from a client, so text is sent only from
        the finished answer when an attempt failed on the way.
        """
        yield self._chunk({"role": "assistant", "content": ""})
        said = sent = ""
        try:
            await self._replay()
            async for event in self.desk.stream(self.question, thread=self.thread):
                piece = _piece(event, said)
                said += piece
                if passed := self.cut.feed(piece):
                    sent += passed
                    yield self._chunk({"content": passed})
            await self._forget()
        except Exception as error:
            status, kind = status_of(error)
            if status == 500:
                log.error("chat failed", exc_info=error)
            body = error_body(kind, message_of(error), request.scope.get("request_id"))
            yield f"data: {json.dumps(body)}\n\n"
            return
        if rest := self.cut.end():
            sent += rest
            yield self._chunk({"content": rest})
        yield self._chunk({}, self.cut.finish)
        if self.with_usage:
            tail = {**self.head, "object": "chat.completion.chunk", "choices": []}
            yield f"data: {json.dumps({**tail, 'usage': _usage(self.question, sent)})}\n\n"
        yield "data: [DONE]\n\n"


def _piece(event: object, said: str) -> str:
    match event:
        case TextDelta():
            return event.delta
        case Withdrawn():
            return "\n\n---\n\n" if said else ""
        case Answered() if not said or said.endswith("---\n\n"):
            return event.answer.text
    return ""
