"""Runs the embedded model's tools inside the model's own step of the graph.

The graph's tool node starts a thread for each call and a step for each round. Calls that are
plain arithmetic take turns on the interpreter's lock anyway, so both cost more than the calls.
Tools that an endpoint asks for go through the graph's node. Where traces are on, ours are called
as LangChain's tools, which reports them; else directly, which takes a tenth of the answer less.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.messages.tool import ToolCall

from agent.backends.messages import is_embedded_step
from agent.settings import Settings
from agent.toolbox import build_toolbox

_MOST_ROUNDS = 30


class ToolsInPlace(AgentMiddleware[Any, Any]):
    """Calls the model until it answers; its steps and the answer are the model's result.

    Each step is also written to the stream as it happens, as `{"step": message}`.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self._tools = {tool.name: tool for tool in build_toolbox(settings)}
        self._is_traced = settings.tracing != "off"

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """The steps of a turn and its answer."""
        steps: list[BaseMessage] = []
        for _ in range(_MOST_ROUNDS):
            reply = handler(_after(request, steps)).result[-1]
            if not _asks_for_tools(reply):
                return ModelResponse(result=[*steps, reply])
            steps += self._run(reply, request.runtime.stream_writer)
        raise AssertionError("the embedded model never answered")

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """`wrap_model_call` for async callers."""
        steps: list[BaseMessage] = []
        for _ in range(_MOST_ROUNDS):
            reply = (await handler(_after(request, steps))).result[-1]
            if not _asks_for_tools(reply):
                return ModelResponse(result=[*steps, reply])
            steps += await asyncio.to_thread(self._run, reply, request.runtime.stream_writer)
        raise AssertionError("the embedded model never answered")

    def _run(self, reply: AIMessage, write: Callable[[Any], None]) -> list[BaseMessage]:
        """A message that asks for tools, and what they gave."""
        made: list[BaseMessage] = [reply]
        write({"step": reply})
        for call in reply.tool_calls:
            found = self._result(call)
            made.append(found)
            write({"step": found})
        return made

    def _result(self, call: ToolCall) -> BaseMessage:
        tool = self._tools[call["name"]]
        if self._is_traced:
            traced: BaseMessage = tool.langchain.invoke({**call, "type": "tool_call"})
            return traced
        result = tool.call(call["args"])
        return ToolMessage(
            result.summary, artifact=result, tool_call_id=call["id"] or "", name=tool.name
        )


def _asks_for_tools(reply: BaseMessage) -> bool:
    return isinstance(reply, AIMessage) and bool(reply.tool_calls) and is_embedded_step(reply)


def _after(request: Any, steps: Sequence[BaseMessage]) -> Any:
    """The request with the steps made since."""
    return request.override(messages=[*request.messages, *steps]) if steps else request
