"""The façade: one question in, one answer out, or the events on the way to it."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import nullcontext
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from agent.answer import Answer, Language
from agent.events import Answered, Event, TextDelta, ToolFinished, ToolStarted, Withdrawn
from agent.settings import Settings
from agent.tracing import configure_tracing

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage
    from langgraph.graph.state import CompiledStateGraph

MAX_QUESTION_BYTES = 100_000
_STEPS_LIMIT = 60
_PIECE_CHARACTERS = 48
_SUMMARY_CHARACTERS = 200
_SURROGATES = re.compile(r"[\ud800-\udfff]")
"""Halves of characters, as a terminal hands on bytes that are no text: nothing can encode them."""


class Advisor:
    """Answers questions about machines for deep-learning jobs.

    Args:
        settings: How to run; read from environment and file when None.

    An advisor may be shared by threads. Two questions in one conversation take turns.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        configure_tracing(self.settings)
        self._locks: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
        self._locks_guard = threading.Lock()

    def ask(
        self, question: str, *, thread: str | None = None, language: Language | None = None
    ) -> Answer:
        """The answer to one question.

        Args:
            question: Text in Chinese or English; logs, configs and command lines may be pasted.
            thread: Name of a conversation, to continue it or to start it; None keeps nothing.
            language: Language of the answer; None follows the question.
        """
        return _last(self._events(question, thread, language, is_streamed=False))

    def stream(
        self, question: str, *, thread: str | None = None, language: Language | None = None
    ) -> Iterator[Event]:
        """Tool steps and text while the answer is made; the last event is `Answered`."""
        return self._events(question, thread, language, is_streamed=True)

    def _events(
        self, question: str, thread: str | None, language: Language | None, *, is_streamed: bool
    ) -> Iterator[Event]:
        started = time.perf_counter()
        question = _SURROGATES.sub("\ufffd", question)
        refused = _unreadable(question, language or self.settings.language)
        if refused is not None:
            yield from _finish(refused, started, shown="")
            return
        relay = _Relay()
        with self._turn(thread):
            parts = self._graph_for(thread).stream(
                self._input(question, language), **self._run_options(thread, is_streamed)
            )
            for mode, part in parts:
                yield from relay.events(mode, part)
        yield from _finish(relay.answer(), started, shown=relay.shown)

    async def aask(
        self, question: str, *, thread: str | None = None, language: Language | None = None
    ) -> Answer:
        """`ask` for async callers."""
        events = self._aevents(question, thread, language, is_streamed=False)
        return _last([event async for event in events])

    def astream(
        self, question: str, *, thread: str | None = None, language: Language | None = None
    ) -> AsyncIterator[Event]:
        """`stream` for async callers."""
        return self._aevents(question, thread, language, is_streamed=True)

    async def _aevents(
        self, question: str, thread: str | None, language: Language | None, *, is_streamed: bool
    ) -> AsyncIterator[Event]:
        started = time.perf_counter()
        question = _SURROGATES.sub("\ufffd", question)
        refused = _unreadable(question, language or self.settings.language)
        if refused is not None:
            for event in _finish(refused, started, shown=""):
                yield event
            return
        relay = _Relay()
        lock = self._lock(thread)
        if lock is not None:
            await asyncio.to_thread(lock.acquire)
        try:
            graph = await asyncio.to_thread(self._graph_for, thread)
            parts = graph.astream(
                self._input(question, language), **self._run_options(thread, is_streamed)
            )
            async for mode, part in parts:
                for event in relay.events(mode, part):
                    yield event
        finally:
            if lock is not None:
                lock.release()
        for event in _finish(relay.answer(), started, shown=relay.shown):
            yield event

    def export(self, thread: str) -> list[dict[str, Any]]:
        """A conversation as plain data: question and answer of each turn, oldest first."""
        from agent.backends.messages import answer_in

        turns: list[dict[str, Any]] = []
        question = ""
        for message in self._messages(thread):
            answer = answer_in(message)
            if answer is None:
                question = message.text
            else:
                turns.append({"question": question, "answer": answer.model_dump(mode="json")})
        return turns

    def delete(self, thread: str) -> bool:
        """Forgets a conversation; False when there was none."""
        known = bool(self._messages(thread))
        self._checkpointer.delete_thread(thread)
        with self._locks_guard:
            self._locks.pop(thread, None)
        return known

    def warm_up(self) -> None:
        """Does the slow first-time work now: imports, data files, graph."""
        self.ask("A10", language="en")

    def close(self) -> None:
        """Closes the endpoint's connections and the store of conversations."""
        author = self.__dict__.pop("_author", None)
        if author is not None:
            author.close()
        saver = self.__dict__.pop("_checkpointer", None)
        connection = getattr(saver, "conn", None)
        if connection is not None:
            connection.close()
        self.__dict__.pop("_single", None)
        self.__dict__.pop("_kept", None)

    def __enter__(self) -> Advisor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- inside

    @cached_property
    def _author(self) -> Any:
        """The middleware that talks to the endpoint; None without one."""
        if not self.settings.uses_endpoint:
            return None
        from agent.backends.author import EndpointAuthor

        return EndpointAuthor(self.settings)

    @cached_property
    def _checkpointer(self) -> Any:
        from agent.conversations import open_checkpointer

        return open_checkpointer(self.settings)

    @cached_property
    def _single(self) -> CompiledStateGraph[Any, Any, Any, Any]:
        from agent.backends.graph import build_graph

        return build_graph(self.settings, author=self._author)

    @cached_property
    def _kept(self) -> CompiledStateGraph[Any, Any, Any, Any]:
        from agent.backends.graph import build_graph

        return build_graph(self.settings, author=self._author, checkpointer=self._checkpointer)

    def _graph_for(self, thread: str | None) -> CompiledStateGraph[Any, Any, Any, Any]:
        return self._single if thread is None else self._kept

    def _messages(self, thread: str) -> list[BaseMessage]:
        state = self._kept.get_state({"configurable": {"thread_id": thread}})
        found: list[BaseMessage] = state.values.get("messages", [])
        return found

    def _input(self, question: str, language: Language | None) -> dict[str, Any]:
        from agent.backends.messages import question_message

        return {
            "messages": [question_message(question, language=language or self.settings.language)]
        }

    def _run_options(self, thread: str | None, is_streamed: bool) -> dict[str, Any]:
        from agent.backends.author import RunContext

        config: dict[str, Any] = {"recursion_limit": _STEPS_LIMIT}
        options: dict[str, Any] = {
            "config": config,
            "stream_mode": ["updates", "custom"],
            "context": RunContext(is_streamed=is_streamed),
        }
        if thread is not None:
            config["configurable"] = {"thread_id": thread}
            options["durability"] = "exit"
        return options

    def _lock(self, thread: str | None) -> threading.Lock | None:
        if thread is None:
            return None
        with self._locks_guard:
            return self._locks.setdefault(thread, threading.Lock())

    def _turn(self, thread: str | None) -> Any:
        return self._lock(thread) or nullcontext()


class _Relay:
    """Turns the graph's stream into events and keeps what the last one needs."""

    def __init__(self) -> None:
        self.shown = ""
        self._answer: Answer | None = None

    def events(self, mode: str, part: Any) -> Iterator[Event]:
        """Events for one part of the stream; the embedded model's steps come as they happen."""
        from agent.backends.messages import is_embedded_step

        if mode == "custom":
            yield from self._custom(part)
            return
        for update in part.values():
            for message in (update or {}).get("messages", ()):
                if not is_embedded_step(message):
                    yield from self._message(message)

    def answer(self) -> Answer:
        """The answer, once the stream has ended."""
        if self._answer is None:
            raise AssertionError("the graph ended without an answer")
        return self._answer

    def _custom(self, part: Mapping[str, Any]) -> Iterator[Event]:
        if "step" in part:
            yield from self._message(part["step"])
        elif "delta" in part:
            self.shown += part["delta"]
            yield TextDelta(part["delta"])
        elif "withdrawn" in part and self.shown:
            self.shown = ""
            yield Withdrawn(part["withdrawn"])

    def _message(self, message: Any) -> Iterator[Event]:
        from langchain_core.messages import AIMessage, ToolMessage

        from agent.backends.messages import answer_in
        from agent.toolbox import ToolResult

        if isinstance(message, ToolMessage):
            found = message.artifact
            if isinstance(found, ToolResult):
                yield ToolFinished(
                    name=found.name,
                    id=message.tool_call_id,
                    ok=found.ok,
                    elapsed_ms=found.elapsed_ms,
                    summary=found.summary,
                    arguments=found.arguments,
                )
            else:
                yield ToolFinished(
                    name=message.name or "",
                    id=message.tool_call_id,
                    ok=False,
                    elapsed_ms=0.0,
                    summary=message.text[:_SUMMARY_CHARACTERS],
                )
        elif isinstance(message, AIMessage):
            for call in message.tool_calls:
                yield ToolStarted(call["name"], call["args"], call["id"] or "")
            self._answer = answer_in(message) or self._answer


def _last(events: Iterable[Event]) -> Answer:
    """The answer that a stream of events ends with."""
    answer = None
    for event in events:
        if isinstance(event, Answered):
            answer = event.answer
    assert answer is not None, "a stream always ends with an answer"
    return answer


def _finish(answer: Answer, started: float, *, shown: str) -> Iterator[Event]:
    """Text that was not streamed yet, then the answer with its time and version."""
    if not shown:
        for start in range(0, len(answer.text), _PIECE_CHARACTERS):
            yield TextDelta(answer.text[start : start + _PIECE_CHARACTERS])
    elapsed_ms = round((time.perf_counter() - started) * 1000, 1)
    yield Answered(answer.model_copy(update={"elapsed_ms": elapsed_ms, "version": _version()}))


def _unreadable(question: str, language: Language | None) -> Answer | None:
    """The one-sentence answer to an empty or an oversized question."""
    from agent.answering.concepts.refusals import empty_question, oversized_question

    if not question.strip():
        return empty_question(language)
    if len(question.encode()) > MAX_QUESTION_BYTES:
        return oversized_question(question, language, limit=MAX_QUESTION_BYTES)
    return None


@cache
def _version() -> str:
    try:
        return version("xuanka")
    except PackageNotFoundError:
        return "0"
