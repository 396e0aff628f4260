"""Where questions wait for a thread: so many at a time, so many waiting, so long at most."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tools.errors import AdvisorError
from ui.turn import Adviser
from ui.wording import Language

if TYPE_CHECKING:
    from agent import Answer, Event


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
        from agent import Answered

        async for event in self.stream(question, thread=thread, language=language):
            if isinstance(event, Answered):
                return event.answer
        raise TookTooLong(self._timeout_s)

    async def stream(
        self, question: str, *, thread: str | None = None, language: Language | None = None
    ) -> AsyncIterator[Event]:
        """The events of one answer, as they happen; the work stops when nobody listens."""
        if self.taken >= self._places:
            raise Overloaded
        loop = asyncio.get_running_loop()
        events: asyncio.Queue[object] = asyncio.Queue()
        gone = threading.Event()

        def put(item: object) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(events.put_nowait, item)

        def work() -> None:
            try:
                if not gone.is_set():
                    for event in self.advisor.stream(question, thread=thread, language=language):
                        put(event)
                        if gone.is_set():
                            return
                put(_END)
            except Exception as error:
                put(error)

        self.taken += 1
        done = loop.run_in_executor(self._pool, contextvars.copy_context().run, work)
        done.add_done_callback(self._free)
        try:
            async with asyncio.timeout(self._timeout_s):
                while (item := await events.get()) is not _END:
                    if isinstance(item, Exception):
                        raise item
                    yield item  # type: ignore[misc]  # the queue holds events, errors, the end
        except TimeoutError as error:
            raise TookTooLong(self._timeout_s) from error
        finally:
            gone.set()

    def _free(self, _: object) -> None:
        self.taken -= 1

    def close(self) -> None:
        """Lets answers in progress finish, takes no more."""
        self._pool.shutdown(wait=True, cancel_futures=True)
