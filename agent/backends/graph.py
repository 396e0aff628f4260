"""The one graph: a model node and a tool node, with or without a language model in the loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage, ToolMessage

from agent.backends.author import EndpointAuthor, RunContext
from agent.backends.embedded import EmbeddedChatModel
from agent.backends.in_place import ToolsInPlace
from agent.backends.messages import is_unpacked, packed, request_in
from agent.settings import Settings
from agent.toolbox import build_toolbox
from agent.toolbox.simulate import simulation_state

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph

_CHARACTERS_PER_TOKEN = 3.0


class TidyConversation(AgentMiddleware[Any, Any]):
    """Keeps a conversation small: questions and packed answers stay, steps and old turns go.

    The newest answer keeps its request with every slot inherited so far, so that cutting old
    turns loses nothing that was said.
    """

    def __init__(self, *, history_tokens: int) -> None:
        super().__init__()
        self._history_tokens = history_tokens

    def after_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
        """Messages to drop when a turn is finished, and answers to keep in a smaller form."""
        messages: list[BaseMessage] = state["messages"]
        turns = [m for m in messages if not _is_step(m)]
        old = _beyond(turns, self._history_tokens)
        gone = {m.id for m in (*(m for m in messages if _is_step(m)), *old)}
        removed = [RemoveMessage(id=id_) for id_ in gone if id_]
        smaller = [
            packed(m)
            for m in turns
            if isinstance(m, AIMessage) and is_unpacked(m) and m.id not in gone
        ]
        return {"messages": [*removed, *smaller]}


def _is_step(message: BaseMessage) -> bool:
    return isinstance(message, ToolMessage) or (
        isinstance(message, AIMessage) and request_in(message) is None
    )


def _beyond(messages: Sequence[BaseMessage], budget_tokens: int) -> list[BaseMessage]:
    """Messages older than the budget reaches; the last question and answer always stay."""
    used = 0.0
    for position in range(len(messages) - 1, -1, -1):
        used += len(messages[position].text) / _CHARACTERS_PER_TOKEN
        if used > budget_tokens and position < len(messages) - 2:
            cut = position + 1
            return list(messages[: cut + cut % 2])
    return []


def build_graph(
    settings: Settings,
    *,
    author: EndpointAuthor | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """The compiled graph.

    Args:
        settings: What the tools and the embedded model may do.
        author: Lets an endpoint phrase the answer, where one is configured.
        checkpointer: Where conversations are kept; None for single questions.
    """
    authors = [author] if author is not None else []
    tidying = [TidyConversation(history_tokens=settings.history_tokens)] if checkpointer else []
    return create_agent(
        EmbeddedChatModel(own_machine=settings.own_machine, simulation=simulation_state(settings)),
        [tool.langchain for tool in build_toolbox(settings)],
        middleware=[*authors, ToolsInPlace(settings), *tidying],
        context_schema=RunContext,
        checkpointer=checkpointer,
        name="xuanka",
    )
