"""One attempt at a reply from the endpoint, streamed or not, inside its time budget."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, message_chunk_to_message

from agent.backends.faults import Fault, fault_of

if TYPE_CHECKING:
    from langchain_core.runnables import Runnable

_END = object()
_FINISHED = {"stop", "tool_calls", "function_call", "end_turn", "eos"}


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment of the monotonic clock."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """The moment this many seconds from now."""
        return cls(time.monotonic() + seconds)

    @property
    def left_s(self) -> float:
        """Seconds left; never negative.

        Raises:
            Fault: budget, when none are left.
        """
        left = self.at - time.monotonic()
        if left <= 0:
            raise Fault("budget")
        return left


def attempt(
    model: Runnable[Any, AIMessage],
    messages: Sequence[BaseMessage],
    *,
    deadline: Deadline,
    on_text: Callable[[str], None] | None,
) -> AIMessage:
    """The endpoint's reply.

    Args:
        model: The client, tools bound.
        messages: The whole prompt.
        deadline: When the attempt is given up, whatever the endpoint is doing.
        on_text: Receives the text as it streams; None asks for the reply in one piece.

    Raises:
        Fault: Any way in which the endpoint failed, told apart.
    """
    pieces: queue.Queue[Any] = queue.Queue()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            if on_text is None:
                pieces.put(model.invoke(list(messages)))
            else:
                for chunk in model.stream(list(messages)):
                    pieces.put(chunk)
            pieces.put(_END)
        except Exception as error:  # handed to the caller's thread and told apart there
            pieces.put(error)

    threading.Thread(target=context.run, args=(work,), daemon=True, name="xuanka-endpoint").start()
    gathered: AIMessage | None = None
    while True:
        try:
            piece = pieces.get(timeout=deadline.left_s)
        except queue.Empty:
            raise Fault("budget") from None
        if piece is _END:
            return checked(gathered, is_streamed=on_text is not None)
        if isinstance(piece, Exception):
            raise _told_apart(piece, gathered) from piece
        gathered = _joined(gathered, piece, on_text)


async def aattempt(
    model: Runnable[Any, AIMessage],
    messages: Sequence[BaseMessage],
    *,
    deadline: Deadline,
    on_text: Callable[[str], None] | None,
) -> AIMessage:
    """`attempt` for async callers."""
    gathered: AIMessage | None = None
    try:
        async with asyncio.timeout(deadline.left_s):
            if on_text is None:
                gathered = await model.ainvoke(list(messages))
            else:
                async for chunk in model.astream(list(messages)):
                    gathered = _joined(gathered, chunk, on_text)
    except Exception as error:
        if isinstance(error, TimeoutError) and deadline.at <= time.monotonic():
            raise Fault("budget") from error
        raise _told_apart(error, gathered) from error
    return checked(gathered, is_streamed=on_text is not None)


def _told_apart(error: Exception, gathered: AIMessage | None) -> Fault:
    fault = fault_of(error)
    broke_off = gathered is not None and fault.kind in ("connection", "bad_format", "server_error")
    return Fault("cut", fault.detail) if broke_off else fault


def _joined(
    gathered: AIMessage | None, piece: AIMessage, on_text: Callable[[str], None] | None
) -> AIMessage:
    if on_text is not None and piece.text:
        on_text(piece.text)
    if isinstance(gathered, AIMessageChunk) and isinstance(piece, AIMessageChunk):
        return gathered + piece
    return piece


def checked(reply: AIMessage | None, *, is_streamed: bool) -> AIMessage:
    """The reply, when it is whole.

    Raises:
        Fault: empty, cut, length, filtered or bad_tool_call.
    """
    if reply is None:
        raise Fault("empty")
    if isinstance(reply, AIMessageChunk):
        whole = message_chunk_to_message(reply)
        assert isinstance(whole, AIMessage)
        reply = whole
    reason = reply.response_metadata.get("finish_reason")
    if reply.invalid_tool_calls:
        raise Fault("bad_tool_call", str(reply.invalid_tool_calls[0].get("error") or ""))
    if reason == "length":
        raise Fault("length")
    if reason == "content_filter":
        raise Fault("filtered")
    if is_streamed and reason not in _FINISHED:
        raise Fault("cut" if reply.text or reply.tool_calls else "empty")
    if not reply.text.strip() and not reply.tool_calls:
        raise Fault("empty")
    return reply
