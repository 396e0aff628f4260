"""Events are taken once, answered by workers, and sent until the platform has the answer.

An event is written down before the platform is told that it was taken. Its id is the key, so a
retry of the platform finds it there and is dropped; a process that starts finds what a dead one
left.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Protocol

import anyio.to_thread

from ui.bot.store import Key, Store, Taken

log = logging.getLogger("xuanka.bot")
_GIVE_UP_S = 1800.0
"""Within Feishu's hour for repeated sends, and the 30 minutes of Slack's response URLs."""
_LONGEST_WAIT_S = 60.0
_TIDY_S = 3600.0
_MOST_PREPARED = 3
"""Attempts at making a message; a fault of ours does not go away by itself."""
_ID = re.compile(r"[!-~]{1,200}")


Note = Callable[[dict[str, Any]], None]
"""Keeps unfinished work in the event's row."""


class NotDelivered(Exception):
    """The platform certainly did not take the message; it may be sent again."""

    def __init__(self, reason: str, *, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


class Undeliverable(Exception):
    """The message cannot be delivered, now or later."""


class Bot(Protocol):
    """One platform: what to say, and how it is sent."""

    def prepare(self, taken: Taken, note: Note) -> dict[str, Any]:
        """The message that answers an event, as JSON.

        Args:
            taken: The event; its message is what an earlier process noted of unfinished work.
            note: Keeps unfinished work, marked `is_partial`.
        """

    def deliver(self, taken: Taken, message: dict[str, Any]) -> None:
        """Sends it. Where `taken.in_doubt`, only if that cannot send it twice.

        Raises:
            NotDelivered: If the platform did not take it.
            Undeliverable: If it never will. Any other error leaves the event in doubt.
        """


class Inbox:
    """Takes events in and works on them.

    Args:
        store: Where events are kept.
        workers: Events answered at a time (count).
        lease_s: How long after its last sign of life a worker's event is given to another.
        poll_s: How often leases are renewed and due events looked for.
    """

    def __init__(
        self, store: Store, *, workers: int = 8, lease_s: float = 20.0, poll_s: float = 0.5
    ) -> None:
        self._store = store
        self._bots: dict[str, Bot] = {}
        self._lease_s, self._poll_s, self._workers = lease_s, poll_s, workers
        self._lock = threading.Lock()
        self._queued: set[Key] = set()
        self._held: dict[Key, Taken] = {}
        self._held_lock = threading.Lock()
        """Kept while leases are renewed: what was let go must not be renewed after."""
        self._pool: ThreadPoolExecutor | None = None
        self._poller: threading.Thread | None = None
        self._is_drained = threading.Event()

    def add(self, platform: str, bot: Bot) -> None:
        """Names who answers a platform's events."""
        self._bots[platform] = bot

    def take(self, platform: str, event_id: str, payload: dict[str, Any]) -> bool:
        """Writes an event down and queues it; False when it was taken before, or has no good id."""
        if not _ID.fullmatch(event_id):
            log.warning("an event of %s without a usable id is left alone", platform)
            return False
        key = Key(platform, event_id)
        is_new = self._store.take(key, payload)
        if is_new:
            self._submit(key)
        return is_new

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Works while the context is open; on leaving, answers in progress are finished."""
        self.start()
        try:
            yield
        finally:
            await anyio.to_thread.run_sync(self.close)

    def start(self) -> None:
        """Starts the workers, which begin with what an earlier process left."""
        self._store.forget_old()
        self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="bot")
        self._poller = threading.Thread(target=self._poll, name="bot-poll", daemon=True)
        self._poller.start()

    def close(self) -> None:
        """Finishes the answers in progress; what waits is answered after the next start."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)
        self._is_drained.set()
        if self._poller is not None:
            self._poller.join()
        self._store.close()

    def open_count(self) -> int:
        """Events that wait for an answer (count)."""
        return self._store.open_count()

    def _submit(self, key: Key) -> None:
        with self._lock:
            if self._pool is None or key in self._queued or key.platform not in self._bots:
                return
            self._queued.add(key)
            self._pool.submit(self._work, key)

    def _poll(self) -> None:
        tidied_at = time.monotonic()
        while not self._is_drained.wait(self._poll_s):
            try:
                with self._held_lock:
                    self._store.renew(self._held.values(), lease_s=self._lease_s)
                for key in self._store.due(limit=10 * self._workers):
                    self._submit(key)
                if time.monotonic() - tidied_at > _TIDY_S:
                    tidied_at = time.monotonic()
                    self._store.forget_old()
            except Exception as error:  # the database may be back at the next round
                log.warning("the store of events cannot be reached: %s", type(error).__name__)

    def _work(self, key: Key) -> None:
        try:
            taken = self._store.claim(key, lease_s=self._lease_s)
            if taken is None:
                return
            with self._held_lock:
                self._held[key] = taken
            settle = self._answer(taken)
            self._let_go(key)
            settle()
        except Exception as error:  # of the store: the event is due again when its lease ends
            log.warning("event of %s left for later: %s", key.platform, type(error).__name__)
        finally:
            self._let_go(key)
            with self._lock:
                self._queued.discard(key)

    def _let_go(self, key: Key) -> None:
        with self._held_lock:
            self._held.pop(key, None)

    def _answer(self, taken: Taken) -> Callable[[], None]:
        """Works on an event; gives back what is to be written of it once it is let go."""
        bot, platform = self._bots[taken.key.platform], taken.key.platform
        if time.time() - taken.taken_at > _GIVE_UP_S:
            log.error("event of %s given up after %d attempts", platform, taken.attempt - 1)
            return partial(self._store.finish, taken, "failed")
        message = taken.message
        if message is None or message.get("is_partial"):
            try:
                message = bot.prepare(taken, partial(self._store.remember, taken))
            except Exception:
                log.exception("no message could be made for an event of %s", platform)
                if taken.attempt >= _MOST_PREPARED:
                    return partial(self._store.finish, taken, "failed")
                return self._later(taken, in_doubt=False)
            self._store.remember(taken, message)
        if not self._store.begin(taken):
            return lambda: None
        return self._deliver(bot, taken, message)

    def _deliver(self, bot: Bot, taken: Taken, message: dict[str, Any]) -> Callable[[], None]:
        platform = taken.key.platform
        try:
            bot.deliver(taken, message)
        except Undeliverable as error:
            log.error("answer to %s cannot be delivered: %s", platform, error)
            return partial(self._store.finish, taken, "failed")
        except NotDelivered as error:
            log.warning("%s did not take an answer: %s", platform, error)
            return self._later(taken, in_doubt=False, wait_s=error.wait_s)
        except Exception as error:  # the words of an error may hold a secret URL
            log.warning("sending to %s failed: %s", platform, type(error).__name__)
            return self._later(taken, in_doubt=True)
        return partial(self._store.finish, taken, "done")

    def _later(
        self, taken: Taken, *, in_doubt: bool, wait_s: float | None = None
    ) -> Callable[[], None]:
        if wait_s is None:
            wait_s = min(_LONGEST_WAIT_S, 2.0 ** min(taken.attempt, 10) / 2)
        return partial(self._store.put_off, taken, wait_s=wait_s, in_doubt=in_doubt)
