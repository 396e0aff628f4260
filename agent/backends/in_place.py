"""Runs the embedded model's tools inside the model's own step of the graph.

The graph's tool node starts a thread for each call and a step for each round. Calls that are
plain arithmetic take turns on the interpreter's lock anyway, so both cost more than the calls.
Tools that an endpoint asks for go through the graph's node.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import BaseTool

from agent.backends.messages import is_embedded_step

_MOST_ROUNDS = 30


class ToolsInPlace(AgentMiddleware[Any, Any]):
    """Calls the model until it answers; its steps and the answer are the model's result.

    Each step is also written to the stream as it happens, as `{"step": message}`.
    """

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """The steps of a turn and its answer."""
        steps: list[BaseMessage] = []
        for _ in range(_MOST_ROUNDS):
            reply = handler(_after(request, steps)).result[-1]
            if not _asks_for_tools(reply):
                return ModelResponse(result=[*steps, reply])
            steps += _run(reply, request.tools, request.runtime.stream_writer)
        raise AssertionError("the embedded model never answered")

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """`wrap_model_call` for async callers."""
        steps: list[BaseMessage] = []
        for _ in range(_MOST_ROUNDS):
            reply = (await handler(_after(request, steps))).result[-1]
            if not _asks_for_tools(reply):
                return ModelResponse(result=[*steps, reply])
            steps += await asyncio.to_thread(
                _run, reply, request.tools, request.runtime.stream_writer
            )
        raise AssertionError("the embedded model never answered")


def _asks_for_tools(reply: BaseMessage) -> bool:
    return isinstance(reply, AIMessage) and bool(reply.tool_calls) and is_embedded_step(reply)


def _after(request: Any, steps: Sequence[BaseMessage]) -> Any:
    """The request with the steps made since."""
    return request.override(messages=[*request.messages, *steps]) if steps else request


def _run(
    reply: AIMessage, tools: Sequence[BaseTool], write: Callable[[Any], None]
) -> list[BaseMessage]:
    """A message that asks for tools, and what they gave."""
    by_name = {tool.name: tool for tool in tools}
    made: list[BaseMessage] = [reply]
    write({"step": reply})
    for call in reply.tool_calls:
        found = by_name[call["name"]].invoke({**call, "type": "tool_call"})
        made.append(found)
        write({"step": found})
    return made
