"""Events that were accepted and not yet answered, in SQLite: a restart loses none.

An event is written down before the platform is told that it was taken. Its id is the key, so a
retry of the platform finds it there and is dropped.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

log = logging.getLogger("xuanka.bot")
_KEEP_S = 7 * 24 * 3600
_MOST_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Taken:
    """One event as accepted."""

    platform: str
    event_id: str
    payload: dict[str, Any]
    attempt: int
    """1 at first; more when the process died, or the platform failed, before the answer."""


Handler = Callable[[Taken], None]
"""Answers an event; raises to have it tried again."""


class Inbox:
    """Takes events in once, hands each to its platform's handler until that succeeds.

    Args:
        path: The database file; its folder is made.
        workers: Events answered at a time (count).
    """

    def __init__(self, path: Path, *, workers: int = 8) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="bot")
        self._handlers: dict[str, Handler] = {}
        self._closing = threading.Event()
        with self._open() as db:
            db.execute(
                "CREATE TABLE IF NOT EXISTS events (platform TEXT, event_id TEXT, payload TEXT,"
                " state TEXT NOT NULL, attempts INTEGER NOT NULL, taken_at REAL NOT NULL,"
                " PRIMARY KEY (platform, event_id))"
            )

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        db = sqlite3.connect(self._path, timeout=10, isolation_level=None)
        try:
            db.execute("PRAGMA journal_mode=WAL")
            yield db
        finally:
            db.close()

    def handle(self, platform: str, handler: Handler) -> None:
        """Names the handler of a platform, and answers what was left from before."""
        self._handlers[platform] = handler
        with self._open() as db:
            db.execute("DELETE FROM events WHERE taken_at < ?", (time.time() - _KEEP_S,))
            left = db.execute(
                "SELECT event_id FROM events WHERE platform = ? AND state = 'open'", (platform,)
            ).fetchall()
        for (event_id,) in left:
            self._pool.submit(self._work, platform, event_id)

    def take(self, platform: str, event_id: str, payload: dict[str, Any]) -> bool:
        """Writes an event down and queues it; False when it was taken before."""
        with self._open() as db:
            written = db.execute(
                "INSERT OR IGNORE INTO events VALUES (?, ?, ?, 'open', 0, ?)",
                (platform, event_id, json.dumps(payload), time.time()),
            ).rowcount
        if written:
            self._pool.submit(self._work, platform, event_id)
        return bool(written)

    def _work(self, platform: str, event_id: str) -> None:
        while not self._closing.is_set():
            taken = self._next_attempt(platform, event_id)
            if taken is None:
                return
            try:
                self._handlers[platform](taken)
            except Exception:
                log.exception("event of %s failed, attempt %d", platform, taken.attempt)
                self._closing.wait(min(30, 2**taken.attempt))
                continue
            self._finish(platform, event_id, "done")
            return

    def _next_attempt(self, platform: str, event_id: str) -> Taken | None:
        key = (platform, event_id)
        with self._open() as db:
            row = db.execute(
                "SELECT payload, attempts FROM events"
                " WHERE platform = ? AND event_id = ? AND state = 'open'", key,
            ).fetchone()  # fmt: skip
            if row is None:
                return None
            if row[1] >= _MOST_ATTEMPTS:
                self._finish(*key, "failed")
                return None
            db.execute(
                "UPDATE events SET attempts = attempts + 1 WHERE platform = ? AND event_id = ?", key
            )
        return Taken(platform, event_id, json.loads(row[0]), row[1] + 1)

    def _finish(self, platform: str, event_id: str, state: str) -> None:
        with self._open() as db:
            db.execute(
                "UPDATE events SET state = ?, payload = '{}' WHERE platform = ? AND event_id = ?",
                (state, platform, event_id),
            )

    def open_count(self) -> int:
        """Events that wait for an answer."""
        with self._open() as db:
            row = db.execute("SELECT count(*) FROM events WHERE state = 'open'").fetchone()
        return int(row[0])

    def close(self) -> None:
        """Finishes the answers in progress; what waits is answered after the next start."""
        self._closing.set()
        self._pool.shutdown(wait=True, cancel_futures=True)
