"""The author: lets an endpoint put the tools' findings into words, and never more than that.

It stands around the graph's model node. The embedded model goes first; when its answer is ready
the endpoint is offered the findings and may call tools of its own. What it writes is checked
against everything that was found; what has no origin is sent back once, then the embedded answer
is given and says why.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass, field
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from agent.answer import Answer
from agent.backends.attempt import Deadline, aattempt, attempt
from agent.backends.breaker import CircuitBreaker, breaker_for
from agent.backends.endpoint import Endpoint, chat_model, endpoint_of, timeout_of
from agent.backends.faults import Fault
from agent.backends.messages import (
    answer_in,
    answer_message,
    last_question_index,
    request_in,
    results_in,
)
from agent.backends.prompt import complaint, prompt_for
from agent.backends.usage import Usage, usage_out
from agent.grounding import Evidence, problems
from agent.grounding.wording import wording_problems
from agent.settings import Settings
from agent.toolbox import ToolResult

_KEPT_AS_WRITTEN = {"invalid_input", "out_of_scope"}
"""Intents whose answer is one fixed sentence: nothing to phrase, and nothing to be talked into."""
_FIRST_PAUSE_S = 0.4


@dataclass
class RunContext:
    """State of one question, shared by the steps of the graph."""

    is_streamed: bool = False
    deadline: Deadline | None = None
    rounds: int = 0
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class _Ask:
    """One call of the endpoint that the procedure wants made."""

    messages: tuple[BaseMessage, ...]
    with_tools: bool


@dataclass(frozen=True, slots=True)
class _Pause:
    seconds: float


_Step = _Ask | _Pause
_Procedure = Generator[_Step, Any, AIMessage]


class EndpointAuthor(AgentMiddleware[Any, RunContext]):
    """Phrases answers through an OpenAI-compatible endpoint."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self._settings = settings
        self._client: Any = None
        self._model: Any = None
        self._endpoint: Endpoint | None = None
        self._tools_refused = False

    # ---- the two faces LangChain calls

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """The embedded reply, or the endpoint's wording of it."""
        response = handler(request)
        procedure = self._procedure(request, response)
        if procedure is None:
            return response
        on_text = self._on_text(request)
        try:
            step = next(procedure)
            while True:
                if isinstance(step, _Pause):
                    time.sleep(step.seconds)
                    step = procedure.send(None)
                    continue
                try:
                    outcome = attempt(
                        self._bound(request, step), step.messages,
                        deadline=self._deadline(request), on_text=on_text,
                    )  # fmt: skip
                except Fault as fault:
                    step = procedure.throw(fault)
                else:
                    step = procedure.send(outcome)
        except StopIteration as finished:
            return _replaced(response, finished.value)

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """`wrap_model_call` for async callers."""
        import httpx2

        response = await handler(request)
        procedure = self._procedure(request, response)
        if procedure is None:
            return response
        on_text = self._on_text(request)
        try:
            step = next(procedure)
            while True:
                if isinstance(step, _Pause):
                    await asyncio.sleep(step.seconds)
                    step = procedure.send(None)
                    continue
                try:
                    async with httpx2.AsyncClient(timeout=timeout_of(self._settings)) as client:
                        outcome = await aattempt(
                            self._bound(request, step, client), step.messages,
                            deadline=self._deadline(request), on_text=on_text,
                        )  # fmt: skip
                except Fault as fault:
                    step = procedure.throw(fault)
                else:
                    step = procedure.send(outcome)
        except StopIteration as finished:
            return _replaced(response, finished.value)

    # ---- the procedure, free of input and output

    def _procedure(self, request: Any, response: Any) -> _Procedure | None:
        *steps, message = response.result
        draft = answer_in(message)
        if draft is None or draft.intent in _KEPT_AS_WRITTEN:
            return None
        seen = request.override(messages=[*request.messages, *steps])
        return self._write(seen, message, draft)

    def _write(self, request: Any, message: AIMessage, draft: Answer) -> _Procedure:
        run = self._run(request)
        if run.deadline is None:
            run.deadline = Deadline.after(self._settings.answer_budget_s)
        breaker: CircuitBreaker | None = None
        try:
            self._prepare()
            breaker = self._breaker()
            if not breaker.allows():
                raise Fault("open_circuit")
            reply = yield from self._converse(request, draft)
            breaker.succeeded()
        except Fault as fault:
            if breaker is not None and fault.kind != "open_circuit":
                (breaker.failed if fault.counts else breaker.released)()
            self._withdraw(request, fault)
            reason = degraded_text(fault, draft)
            usage = usage_out(run.usage, self._settings)
            fallen = draft.model_copy(update={"degraded": reason, "usage": usage})
            return self._message(message, fallen)
        if reply.tool_calls:
            return reply
        return self._message(message, self._merged(request, draft, reply))

    def _converse(self, request: Any, draft: Answer) -> Generator[_Step, Any, AIMessage]:
        """Calls until the reply is a tool call or a grounded text.

        Raises:
            Fault: When that cannot be had.
        """
        run = self._run(request)
        with_tools = run.rounds < self._settings.max_tool_rounds and not self._tools_refused
        prompt = tuple(prompt_for(self._settings, request.messages, draft))
        reply = yield from self._persist(run, prompt, with_tools=with_tools)
        if reply.tool_calls:
            if not with_tools:
                raise Fault("tool_loop")
            self._withdraw(request, None)
            run.rounds += 1
            return reply
        evidence = self._evidence(request, draft)
        found = self._problems(reply.text, draft, evidence)
        if not found:
            return reply
        self._withdraw(request, Fault("ungrounded"))
        again = (*prompt, AIMessage(reply.text), HumanMessage(complaint(found, draft.language)))
        reply = yield from self._persist(run, again, with_tools=False)
        found = self._problems(reply.text, draft, evidence) if not reply.tool_calls else ("call",)
        if found:
            raise Fault("ungrounded", "; ".join(str(p) for p in found))
        return reply

    def _persist(
        self, run: RunContext, messages: tuple[BaseMessage, ...], *, with_tools: bool
    ) -> Generator[_Step, Any, AIMessage]:
        """One reply, with retries where they may help."""
        pause_s = _FIRST_PAUSE_S
        for left in range(self._settings.max_retries, -1, -1):
            try:
                reply: AIMessage = yield _Ask(messages, with_tools)
            except Fault as fault:
                if fault.kind == "no_tools" and with_tools:
                    self._tools_refused, with_tools = True, False
                    return (yield from self._persist(run, messages, with_tools=False))
                if not fault.may_retry or left == 0:
                    raise
                yield _Pause(min(pause_s, run.deadline.left_s if run.deadline else pause_s))
                pause_s *= 2
            else:
                run.usage.add(reply)
                return reply
        raise AssertionError("the last attempt returns or raises")

    # ---- parts

    def _prepare(self) -> None:
        if self._model is None:
            import httpx2

            self._endpoint = endpoint_of(self._settings)
            self._client = httpx2.Client(timeout=timeout_of(self._settings))
            self._model = chat_model(self._settings, self._endpoint, http_client=self._client)

    def close(self) -> None:
        """Closes the connections."""
        if self._client is not None:
            self._client.close()
            self._client, self._model = None, None

    def _breaker(self) -> CircuitBreaker:
        assert self._endpoint is not None
        return breaker_for(
            f"{self._endpoint.base_url} {self._endpoint.model}",
            failures=self._settings.breaker_failures,
            rest_s=self._settings.breaker_rest_s,
        )

    def _bound(self, request: Any, ask: _Ask, client: Any = None) -> Any:
        """The model with its tools; with a client of its own where the caller is async."""
        model = self._model
        if client is not None:
            assert self._endpoint is not None
            model = chat_model(self._settings, self._endpoint, http_async_client=client)
        return model.bind_tools(request.tools) if ask.with_tools else model

    def _run(self, request: Any) -> RunContext:
        run = request.runtime.context
        return run if isinstance(run, RunContext) else RunContext()

    def _deadline(self, request: Any) -> Deadline:
        deadline = self._run(request).deadline
        return deadline or Deadline.after(self._settings.answer_budget_s)

    def _on_text(self, request: Any) -> Callable[[str], None] | None:
        if not self._run(request).is_streamed:
            return None
        write = request.runtime.stream_writer
        return lambda text: write({"delta": text})

    def _withdraw(self, request: Any, fault: Fault | None) -> None:
        request.runtime.stream_writer({"withdrawn": str(fault) if fault else "tool call"})

    def _own_results(self, request: Any) -> list[ToolResult]:
        """Results of the tool calls that the endpoint made in this turn."""
        start = last_question_index(request.messages)
        return results_in(request.messages[start:], embedded=False)

    def _evidence(self, request: Any, draft: Answer) -> Evidence:
        start = last_question_index(request.messages)
        turn = request.messages[start:]
        results = [*results_in(turn, embedded=True), *results_in(turn, embedded=False)]
        return Evidence.of(draft, question=turn[0].text, results=results, passages=(draft.text,))

    def _problems(self, text: str, draft: Answer, evidence: Evidence) -> tuple[Any, ...]:
        return (*problems(text, evidence), *wording_problems(text, draft))

    def _merged(self, request: Any, draft: Answer, reply: AIMessage) -> Answer:
        """The draft with the endpoint's words and whatever its own tool calls found."""
        from agent.answer import ToolCallOut

        figures, citations = list(draft.figures), {c.id: c for c in draft.citations}
        calls = list(draft.tool_calls)
        for result in self._own_results(request):
            calls.append(ToolCallOut(name=result.name, arguments=result.arguments, ok=result.ok,
                                     elapsed_ms=result.elapsed_ms))  # fmt: skip
            if result.report is not None:
                figures += result.report.figures
                citations |= {c.id: c for c in result.report.citations}
        return draft.model_copy(
            update={
                "text": reply.text.strip(),
                "backend": "openai_compatible",
                "figures": tuple(dict.fromkeys(figures)),
                "citations": tuple(citations.values()),
                "tool_calls": tuple(calls),
                "usage": usage_out(self._run(request).usage, self._settings),
            }
        )

    def _message(self, embedded: AIMessage, answer: Answer) -> AIMessage:
        request = request_in(embedded)
        assert request is not None
        return answer_message(answer, request=request)


def degraded_text(fault: Fault, draft: Answer) -> str:
    """Why the embedded backend answered, in the reader's language."""
    if draft.language == "zh":
        return f"{fault.told('zh')}，改由内置后端作答。"
    return f"{fault.told('en').capitalize()}; the embedded backend answered instead."


def _replaced(response: Any, message: AIMessage) -> Any:
    return type(response)(result=[*response.result[:-1], message])
