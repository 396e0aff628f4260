"""What our messages carry beside text, and how a turn is read back from them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from agent.answer import Answer, Language
from agent.request import Request
from agent.toolbox import ToolResult

EMBEDDED_CALL = "xk"
"""Prefix of the ids of tool calls made by the embedded backend."""
_REQUEST, _ANSWER, _LANGUAGE = "xuanka_request", "xuanka_answer", "xuanka_language"
_PACKED = "xuanka_packed"


@dataclass(frozen=True, slots=True)
class Turn:
    """The question being answered and what is known so far."""

    question: str
    language: Language | None
    earlier: tuple[Request, ...]
    results: tuple[ToolResult, ...]
    """Results of the embedded backend's own calls, in order."""


def question_message(question: str, *, language: Language | None) -> HumanMessage:
    """The message that opens a turn."""
    return HumanMessage(question, additional_kwargs={_LANGUAGE: language})


def answer_message(answer: Answer, *, request: Request) -> AIMessage:
    """The message that closes a turn; it keeps the request for the turns that follow."""
    return AIMessage(
        answer.text,
        additional_kwargs={
            _REQUEST: request.model_dump(mode="json", exclude_defaults=True)
            | {"language": request.language, "intent": request.intent},
            _ANSWER: answer.model_dump(mode="json"),
        },
    )


def packed(message: AIMessage) -> AIMessage:
    """A message that closes a turn in a fifth of its size, for keeping; it stands for the first.

    Follow-ups need its request alone; the whole answer is for whoever takes the conversation along.
    """
    kwargs = dict(message.additional_kwargs)
    answer = Answer.model_validate(kwargs.pop(_ANSWER))
    rest = answer.model_dump_json(exclude={"text"}, exclude_defaults=True)
    kwargs[_PACKED] = zlib.compress(rest.encode(), 9)
    return AIMessage(message.content, additional_kwargs=kwargs, id=message.id)


def is_unpacked(message: BaseMessage) -> bool:
    """True for a message that closes a turn and holds its answer at full length."""
    return _ANSWER in message.additional_kwargs


def answer_in(message: BaseMessage) -> Answer | None:
    """The answer that a message carries, if it closes a turn."""
    kept = message.additional_kwargs.get(_ANSWER)
    if kept is not None:
        return Answer.model_validate(kept)
    rest = message.additional_kwargs.get(_PACKED)
    if rest is None:
        return None
    values = json.loads(zlib.decompress(rest))
    return Answer.model_validate({**values, "text": message.text})


def request_in(message: BaseMessage) -> Request | None:
    """The request that a message answers, if it closes a turn."""
    kept: dict[str, Any] | None = message.additional_kwargs.get(_REQUEST)
    return None if kept is None else Request.model_validate(kept)


def is_embedded_step(message: BaseMessage) -> bool:
    """True for a tool call that the embedded backend made, and for its result."""
    if isinstance(message, ToolMessage):
        return message.tool_call_id.startswith(EMBEDDED_CALL)
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return bool(calls) and (calls[0]["id"] or "").startswith(EMBEDDED_CALL)


def last_question_index(messages: Sequence[BaseMessage]) -> int:
    """Position of the message that opened the current turn."""
    return max(i for i, message in enumerate(messages) if _LANGUAGE in message.additional_kwargs)


def read_turn(messages: Sequence[BaseMessage]) -> Turn:
    """The current turn of a conversation."""
    start = last_question_index(messages)
    question = messages[start]
    earlier = (request_in(m) for m in messages[:start] if isinstance(m, AIMessage))
    return Turn(
        question=question.text,
        language=question.additional_kwargs[_LANGUAGE],
        earlier=tuple(request for request in earlier if request is not None),
        results=tuple(results_in(messages[start:], embedded=True)),
    )


def results_in(messages: Sequence[BaseMessage], *, embedded: bool) -> list[ToolResult]:
    """Results of the embedded backend's own tool calls, or of the endpoint's."""
    return [
        m.artifact
        for m in messages
        if isinstance(m, ToolMessage)
        and isinstance(m.artifact, ToolResult)
        and m.tool_call_id.startswith(EMBEDDED_CALL) is embedded
    ]
