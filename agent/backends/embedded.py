"""The default backend: a chat model that needs no network and no weights.

It understands the question by rules, asks for tools, and writes the answer from their results.
Each call sees messages only; the plan is run again over the results recorded in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable

from agent.answer import Answer, Language
from agent.answering import compose
from agent.answering.plan import Call, Context, advance
from agent.backends.messages import EMBEDDED_CALL, answer_message, read_turn
from agent.request import Request
from agent.toolbox.simulate import SimulationState


class EmbeddedChatModel(BaseChatModel):
    """Rules in front, tools in the middle, templates at the end."""

    own_machine: bool = False
    simulation: SimulationState = "off"

    @property
    def _llm_type(self) -> str:
        return "xuanka-embedded"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        """Nothing to bind: the plan names its tools itself."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.reply(messages))])

    def reply(self, messages: Sequence[BaseMessage]) -> AIMessage:
        """The next message of the turn: tool calls, or the answer."""
        turn = read_turn(messages)
        request = understand(turn.question, turn.earlier, turn.language)
        context = Context(
            own_machine=self.own_machine, simulation=self.simulation, earlier=turn.earlier
        )
        step = advance(compose(request, context), turn.results)
        if isinstance(step, Answer):
            return answer_message(step, request=request)
        return _call_message(step, first=len(turn.results))


def _call_message(calls: tuple[Call, ...], *, first: int) -> AIMessage:
    return AIMessage(
        "",
        tool_calls=[
            {
                "name": call.name,
                "args": dict(call.arguments),
                "id": f"{EMBEDDED_CALL}_{first + number}",
                "type": "tool_call",
            }
            for number, call in enumerate(calls)
        ],
    )


def understand(question: str, earlier: tuple[Request, ...], language: Language | None) -> Request:
    """The typed request; an answer language that was asked for replaces the text's own."""
    return _understand(question, tuple(r.model_dump_json() for r in earlier), language)


@lru_cache(maxsize=256)
def _understand(question: str, earlier: tuple[str, ...], language: Language | None) -> Request:
    from agent.understanding import parse

    history = [Request.model_validate_json(text) for text in earlier]
    return parse(question, history, language=language)
