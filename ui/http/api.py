"""The HTTP API: /v1/ask, /v1/estimate, /v1/recommend, /v1/catalog and every tool by its name."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict
from decimal import InvalidOperation
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import anyio.to_thread
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model

from agent import (
    MAX_QUESTION_BYTES,
    Answer,
    Answered,
    TextDelta,
    Tool,
    ToolFinished,
    ToolStarted,
    Withdrawn,
)
from tools.arguments import LARGEST
from tools.errors import AdvisorError, BackendError, UserInputError
from ui.conversations import ConversationBusy
from ui.desk import Desk, Overloaded, TookTooLong
from ui.hints import for_a_client
from ui.http.protection import error_body

if TYPE_CHECKING:
    from agent import Event

log = logging.getLogger("xuanka.api")
_JSON = "application/json"
SHORT_PATHS = {
    "/v1/estimate": "estimate_memory",
    "/v1/recommend": "recommend",
    "/v1/catalog": "find_instances",
}
"""Paths of their own, and the tool behind each."""


class ErrorDetail(BaseModel):
    """What went wrong, in one or two sentences."""

    message: str
    type: str
    param: str | None = None
    code: str | None = None
    request_id: str | None = None


class ErrorReply(BaseModel):
    """The one form of all errors."""

    error: ErrorDetail


EVENT_STREAM: dict[str, Any] = {
    "description": "The answer; as server-sent events where a stream was asked for",
    "content": {"text/event-stream": {}},
}


def length_problem(question: str) -> str | None:
    """What is wrong with the length of a question; None when nothing is.

    >>> length_problem("é" * 50_001)
    'The question has 100002 bytes; at most 100000 are read. Send the part that matters.'
    """
    size = len(question.encode())
    if size <= MAX_QUESTION_BYTES:
        return None
    most = f"at most {MAX_QUESTION_BYTES} are read"
    return f"The question has {size} bytes; {most}. Send the part that matters."


def _short_enough(question: str) -> str:
    if problem := length_problem(question):
        raise ValueError(problem)
    return question


class AskBody(BaseModel):
    """A question."""

    model_config = ConfigDict(extra="forbid")

    question: Annotated[str, AfterValidator(_short_enough)] = Field(
        json_schema_extra={"maxLength": MAX_QUESTION_BYTES},
        description="Chinese or English; logs and configs may be pasted; at most "
        f"{MAX_QUESTION_BYTES} bytes of UTF-8",
        examples=["7B 微调能在 A10 上跑吗?"],
    )
    thread: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:-]{1,128}$")] | None = Field(
        None, description="Name of a conversation to continue; yours alone under your token"
    )
    language: Literal["zh", "en"] | None = Field(None, description="null follows the question")
    stream: bool = Field(False, description="true sends the events of the answer as SSE")


ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorReply, "description": text}
    for status, text in {
        400: "The input cannot be used; the message says what can",
        401: "A bearer token is needed",
        404: "There is no such path or model",
        408: "The request's body did not arrive in time",
        409: "Another question of the conversation is still being answered",
        413: "The request is too large",
        422: "The request does not have the described form",
        429: "This token has used up its calls for now",
        500: "A fault on our side, with the id to report",
        502: "The language-model endpoint failed and nothing could be answered",
        503: "Too many questions are waiting",
        504: "The answer was not ready in time",
    }.items()
}


def status_of(error: Exception) -> tuple[int, str]:
    """HTTP status and kind of an error."""
    if isinstance(error, ConversationBusy):
        return 409, "conversation_busy"
    if isinstance(error, Overloaded):
        return 503, "overloaded"
    if isinstance(error, TookTooLong):
        return 504, "timeout"
    if isinstance(error, UserInputError | UnicodeError | OverflowError | InvalidOperation):
        return 400, "invalid_request_error"
    if isinstance(error, BackendError):
        return 502, "backend_error"
    return 500, "internal_error"


def message_of(error: Exception) -> str:
    """What a caller is told; never a path or a trace."""
    if isinstance(error, UnicodeError):
        return "The text holds half a character (a lone surrogate). Send whole Unicode text."
    if isinstance(error, OverflowError | InvalidOperation):
        return "A number is too large or too small to calculate with. Check its unit."
    if isinstance(error, AdvisorError) and status_of(error)[0] != 500:
        return str(error)
    return "Something went wrong on our side. Send the request id to whoever runs this service."


def error_response(request: Request, error: Exception) -> JSONResponse:
    """An error as response; faults of ours are logged."""
    status, kind = status_of(error)
    if status == 500:
        log.error("request failed", exc_info=error)
    body = error_body(kind, message_of(error), request.scope.get("request_id"))
    headers = {"Retry-After": "3"} if status == 503 else None
    return JSONResponse(body, status, headers=headers)


def own_thread(request: Request, thread: str | None, *, face: str = "api") -> str | None:
    """A conversation's name inside the service: callers cannot name each other's."""
    if thread is None:
        return None
    return f"{face}:{request.scope.get('token_name', 'open')}:{thread}"


def event_json(event: Event) -> tuple[str, dict[str, Any]]:
    """An event's SSE name and its data."""
    match event:
        case ToolStarted():
            return "tool_started", asdict(event)
        case ToolFinished():
            return "tool_finished", asdict(event)
        case TextDelta():
            return "text", asdict(event)
        case Withdrawn():
            return "withdrawn", asdict(event)
        case Answered():
            return "answer", event.answer.model_dump(mode="json")


def sse(name: str, data: Mapping[str, Any]) -> str:
    """One server-sent event."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False, default=str)}\n\n"


def _as_json(answer: Answer) -> bytes:
    return answer.model_dump_json().encode()


SSE_HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


def build_api(desk: Desk, tools: Mapping[str, Tool[Any]]) -> APIRouter:
    """All routes under /v1 that are ours."""
    router = APIRouter(responses=ERRORS, tags=["advisor"])

    async def events(body: AskBody, request: Request) -> AsyncIterator[str]:
        thread = own_thread(request, body.thread)
        try:
            async for event in desk.stream(body.question, thread=thread, language=body.language):
                yield sse(*event_json(event))
        except Exception as error:
            status, kind = status_of(error)
            if status == 500:
                log.error("stream failed", exc_info=error)
            yield sse("error", error_body(kind, message_of(error), request.scope["request_id"]))

    @router.post("/v1/ask", response_model=Answer, responses={200: EVENT_STREAM})
    async def ask(body: AskBody, request: Request) -> Any:
        """One question, one answer; with `stream` or `Accept: text/event-stream` as SSE."""
        wants_stream = "text/event-stream" in request.headers.get("accept", "")
        if body.stream or wants_stream:
            return StreamingResponse(
                events(body, request), media_type="text/event-stream", headers=SSE_HEADERS
            )
        thread = own_thread(request, body.thread)
        made = await desk.made(body.question, _as_json, thread=thread, language=body.language)
        return Response(made, media_type=_JSON)

    for path, name in SHORT_PATHS.items():
        if name in tools:
            _add_tool(router, path, tools[name])
    for name, tool in tools.items():
        _add_tool(router, f"/v1/tools/{name}", tool)
    return router


_SMALLEST = 1e-12
"""Bounds of numbers that tools are asked with; sums and products of them stay finite."""


def _is_sane(value: object) -> bool:
    is_number = isinstance(value, int | float) and value != 0
    return not is_number or _SMALLEST <= abs(cast(float, value)) <= LARGEST


def _add_tool(router: APIRouter, path: str, tool: Tool[Any]) -> None:
    reply: Any = create_model(
        f"{tool.report.__name__}Reply", __base__=tool.report, ok=(Literal[True], True)
    )

    async def call(body: Any, request: Request) -> Any:
        values = body.model_dump(exclude_none=True)
        if not all(map(_is_sane, values.values())):
            raise OverflowError
        result = await anyio.to_thread.run_sync(tool.call, values)
        if result.report is not None:
            return Response(reply(**dict(result.report)).model_dump_json(), media_type=_JSON)
        body_ = error_body(
            "invalid_request_error", for_a_client(result.hint or ""), request.scope["request_id"]
        )
        body_["error"]["details"] = result.fields
        return JSONResponse(body_, 400)

    call.__annotations__ = {"body": tool.arguments, "request": Request, "return": Any}
    router.add_api_route(
        path, call, methods=["POST"], response_model=reply, description=tool.described(),
        name=path.rsplit("/", 1)[-1], operation_id=path.strip("/").replace("/", "_"),
    )  # fmt: skip
