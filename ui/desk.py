"""Where questions wait for a thread: so many at a time, so many waiting, so long at most."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar, cast

from tools.errors import AdvisorError
from ui.turn import Adviser
from ui.wording import Language

if TYPE_CHECKING:
    from agent import Answer, Event

Made = TypeVar("Made")


class Overloaded(AdvisorError):
    """More questions are waiting than the service takes on."""

    def __init__(self) -> None:
        super().__init__("The service has too many questions waiting. Try again in a few seconds.")


class TookTooLong(AdvisorError):
    """The answer was not ready in time."""

    def __init__(self, limit_s: float) -> None:
        super().__init__(f"The answer was not ready within {limit_s:g} s. Try again.")


_END = object()


class Desk:
    """Runs an advisor's answers in threads of its own, from async code.

    Args:
        advisor: Answers; safe to use from several threads.
        simultaneous: Answers worked on at a time (count).
        waiting: Answers that may wait for a thread (count); more raise `Overloaded`.
        timeout_s: Longest time from question to answer, in seconds.
    """

    def __init__(
        self, advisor: Adviser, *, simultaneous: int, waiting: int, timeout_s: float
    ) -> None:
        self.advisor = advisor
        self._pool = ThreadPoolExecutor(simultaneous, thread_name_prefix="answer")
        self._places = simultaneous + waiting
        self._simultaneous = simultaneous
        self._timeout_s = timeout_s
        self.taken = 0

    @property
    def queued(self) -> int:
        """Questions that wait for a thread."""
        return max(0, self.taken - self._simultaneous)

    async def ask(
        self, question: str, *, thread: str | None = None, language: Language | None = None
    ) -> Answer:
        """One answer.

        Raises:
            Overloaded, TookTooLong, AdvisorError: As said there.
        """
        answer: Answer = await self.made(question, lambda a: a, thread=thread, language=language)
        return answer

    async def made(
        self, question: str, make: Callable[[Answer], Made], *, thread: str | None = None,
        language: Language | None = None,
    ) -> Made:  # fmt: skip
        """What `make` turns the answer into, in the answer's thread.

        Raises:
            Overloaded, TookTooLong, AdvisorError: As said there.
        """
        from agent import Answered

        def last() -> Iterator[Made]:
            for event in self.advisor.stream(question, thread=thread, language=language):
                if isinstance(event, Answered):
                    yield make(event.answer)

        async with contextlib.aclosing(self.run(last)) as found:
            async for made in found:
                return made
        raise TookTooLong(self._timeout_s)

    async def stream(
        self, question: str, *, thread: str | None = None, language: Language | None = None
    ) -> AsyncIterator[Event]:
        """The events of one answer, as they happen; the work stops when nobody listens."""

        def work() -> Iterator[Event]:
            return self.advisor.stream(question, thread=thread, language=language)

        async with contextlib.aclosing(self.run(work)) as found:
            async for event in found:
                yield event

    async def run(self, work: Callable[[], Iterator[Made]]) -> AsyncGenerator[Made, None]:
        """What `work` gives, one after the other, made in a thread of the desk.

        The thread does not wait for who reads: what it holds, such as a conversation's turn, is
        free when the work is done, or at its next step after the reader has gone.

        Raises:
            Overloaded, TookTooLong: As said there; and what the work raises.
        """
        if self.taken >= self._places:
            raise Overloaded
        loop = asyncio.get_running_loop()
        made: asyncio.Queue[object] = asyncio.Queue()
        gone = threading.Event()

        def put(item: object) -> None:
            with contextlib.suppress(RuntimeError):  # the loop was closed, and nobody reads
                loop.call_soon_threadsafe(made.put_nowait, item)

        def thread() -> None:
            try:
                if not gone.is_set():
                    _hand_over(work(), put, gone)
                put(_END)
            except Exception as error:
                put(error)

        self.taken += 1
        done = loop.run_in_executor(self._pool, contextvars.copy_context().run, thread)
        done.add_done_callback(self._free)
        try:
            async with asyncio.timeout(self._timeout_s):
                while (item := await made.get()) is not _END:
                    if isinstance(item, Exception):
                        raise item
                    yield cast(Made, item)
        except TimeoutError as error:
            raise TookTooLong(self._timeout_s) from error
        finally:
            gone.set()

    def _free(self, _: object) -> None:
        self.taken -= 1

    def close(self) -> None:
        """Lets answers in progress finish, takes no more."""
        self._pool.shutdown(wait=True, cancel_futures=True)


def _hand_over(items: Iterator[Any], put: Callable[[object], None], gone: threading.Event) -> None:
    for item in items:
        put(item)
        if gone.is_set():
            return
