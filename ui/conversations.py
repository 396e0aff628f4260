"""Conversations over several processes: turns are taken, and an outage of the store is survived.

`agent.Advisor` lets two questions of one conversation wait for each other within a process. Here
the processes do: by a lock on a file of the state folder, or in Postgres where that keeps the
conversations. When Postgres does not answer, questions are answered alone, and the answer says so.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tools.errors import AdvisorError
from ui.turn import Adviser
from ui.wording import Language, say

if TYPE_CHECKING:
    from agent import Answer, Event

log = logging.getLogger("xuanka.conversations")
_REST_S = 5.0
"""After a failure the store is left alone this long; a check meanwhile says how it is."""
_CONNECT_S = 3.0
_WAIT_S = 60.0
_LONGEST_REST_S = 0.1
"""Between two looks at whether another's turn has ended."""


class Turns(Protocol):
    """Lets one holder at a time speak in a conversation, over all processes."""

    def taken(self, thread: str) -> contextlib.AbstractContextManager[None]:
        """Held while a question of the conversation is answered."""

    def is_up(self) -> bool:
        """True when conversations can be read and written."""


class ConversationBusy(AdvisorError):
    """Another question of the conversation has been worked on for long."""

    def __init__(self) -> None:
        super().__init__(
            "Another question of this conversation is still being answered. Ask again when its "
            "answer is there, or in a new conversation."
        )


def _until_given(tried: Callable[[], bool], limit_s: float) -> None:
    """Tries for a turn until it is given.

    Raises:
        ConversationBusy: If it is not given within the limit.
    """
    ends, rest_s = time.monotonic() + limit_s, 0.005
    while not tried():
        if time.monotonic() > ends:
            raise ConversationBusy
        time.sleep(rest_s)
        rest_s = min(_LONGEST_REST_S, 2 * rest_s)


class FileTurns:
    """Locks on files of the state folder; the system frees those of a dead process.

    Conversations are spread over a fixed number of files, so that these do not become many.

    Args:
        folder: Where the files are.
        wait_s: Longest wait for another's turn to end, in seconds.
    """

    def __init__(self, folder: Path, *, wait_s: float = _WAIT_S) -> None:
        self._folder = folder
        self._wait_s = wait_s

    @contextlib.contextmanager
    def taken(self, thread: str) -> Iterator[None]:
        """Waits for the file of the conversation.

        Raises:
            ConversationBusy: If another holds it for too long.
        """
        name = hashlib.blake2s(thread.encode(), digest_size=2).hexdigest()[:3]
        self._folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._folder / f"{name}.lock", os.O_RDWR | os.O_CREAT, 0o600)

        def tried() -> bool:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

        try:
            _until_given(tried, self._wait_s)
            yield
        finally:
            os.close(descriptor)

    def is_up(self) -> bool:
        """A file is always there."""
        return True


class PostgresTurns:
    """Advisory locks of Postgres, each in a connection of its own while it is held.

    Args:
        url: postgresql://...
        wait_s: Longest wait for another's turn to end, in seconds.
    """

    def __init__(self, url: str, *, wait_s: float = _WAIT_S) -> None:
        self._url = url
        self._wait_s = wait_s
        self._lock = threading.Lock()
        self._idle: list[Any] = []

    @contextlib.contextmanager
    def taken(self, thread: str) -> Iterator[None]:
        """Waits for the lock of the conversation.

        Raises:
            psycopg.OperationalError: If Postgres does not answer.
            ConversationBusy: If another holds it for too long.
        """
        digest = hashlib.blake2s(thread.encode(), digest_size=8).digest()
        number = int.from_bytes(digest, signed=True)
        connection = self._connected()

        def tried() -> bool:
            given = connection.execute("SELECT pg_try_advisory_lock(%s)", [number]).fetchone()
            return bool(given[0])

        try:
            _until_given(tried, self._wait_s)
            yield
            connection.execute("SELECT pg_advisory_unlock(%s)", [number])
        except BaseException:
            connection.close()
            raise
        with self._lock:
            self._idle.append(connection)

    def _connected(self) -> Any:
        import psycopg

        with self._lock:
            connection = self._idle.pop() if self._idle else None
        if connection is not None:
            try:
                connection.execute("SELECT 1")
            except psycopg.OperationalError:  # the server was restarted since
                connection.close()
            else:
                return connection
        from agent import LimitedConnection

        options: dict[str, Any] = {"autocommit": True, "connect_timeout": int(_CONNECT_S)}
        return LimitedConnection.connect(self._url, **options)

    def is_up(self) -> bool:
        """True when a statement comes back."""
        import psycopg

        try:
            connection = self._connected()
        except psycopg.OperationalError:
            return False
        with self._lock:
            self._idle.append(connection)
        return True


def open_turns(state_dir: Path, *, url: str | None, wait_s: float) -> Turns:
    """Turns in Postgres where conversations are kept there, else in the state folder."""
    if url is None:
        return FileTurns(state_dir / "turns", wait_s=wait_s)
    return PostgresTurns(url, wait_s=wait_s)


class Conversations:
    """An advisor whose conversations may be continued by any process.

    Args:
        advisor: Answers.
        turns: Keeps two processes from answering in one conversation at a time.
    """

    def __init__(self, advisor: Adviser, turns: Turns) -> None:
        self._advisor = advisor
        self._turns = turns
        self._down_until = 0.0
        self.endpoint_fault: str | None = None
        """Why the last answer was not the endpoint's; None when nothing was wrong."""

    def ask(
        self, question: str, *, thread: str | None = None, language: Language | None = None
    ) -> Answer:
        """One answer."""
        from agent import Answered

        answer: Answer | None = None
        for event in self.stream(question, thread=thread, language=language):
            if isinstance(event, Answered):
                answer = event.answer
        assert answer is not None, "a stream always ends with an answer"
        return answer

    def stream(
        self, question: str, *, thread: str | None = None, language: Language | None = None
    ) -> Iterator[Event]:
        """The events of one answer; of the conversation's, or of a question alone in an outage."""
        if thread is None:
            yield from self._noted(question, None, language)
            return
        if time.monotonic() >= self._down_until:
            try:
                with self._turns.taken(thread):
                    yield from self._noted(question, thread, language)
            except Exception as error:
                if not _is_outage(error):
                    raise
                log.warning("conversations cannot be reached: %s", type(error).__name__)
                self._down_until = time.monotonic() + _REST_S
            else:
                return
        yield from self._alone(question, language)

    def _noted(
        self, question: str, thread: str | None, language: Language | None
    ) -> Iterator[Event]:
        from agent import Answered

        for event in self._advisor.stream(question, thread=thread, language=language):
            if isinstance(event, Answered):
                self.endpoint_fault = event.answer.degraded
            yield event

    def _alone(self, question: str, language: Language | None) -> Iterator[Event]:
        """The answer without what was said before, marked as such."""
        from agent import Answered, Withdrawn

        yield Withdrawn("the store of conversations does not answer")
        for event in self._noted(question, None, language):
            if isinstance(event, Answered):
                note = say("store_down", event.answer.language)
                degraded = f"{event.answer.degraded} {note}" if event.answer.degraded else note
                event = Answered(event.answer.model_copy(update={"degraded": degraded}))
            yield event

    def delete(self, thread: str) -> bool:
        """Forgets a conversation; False when there was none, or it cannot be reached now."""
        forget = getattr(self._advisor, "delete", None)
        if forget is None or time.monotonic() < self._down_until:
            return False
        try:
            return bool(forget(thread))
        except Exception as error:
            if not _is_outage(error):
                raise
            return False

    def are_kept(self) -> bool:
        """True when conversations can be continued now."""
        is_up = self._turns.is_up()
        if is_up:
            self._down_until = 0.0
        return is_up


def _is_outage(error: Exception) -> bool:
    """True for a database that does not answer: of psycopg's own, or its pool's."""
    try:
        import psycopg
        from psycopg_pool import PoolClosed, PoolTimeout
    except ImportError:
        return False
    outages = (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout, PoolClosed)
    return isinstance(error, outages)
