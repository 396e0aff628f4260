"""The events that were taken, in SQLite or Postgres: one row an event, unique by its id.

A row that is worked on is not due before its lease ends; a worker renews the lease while it lives,
so the rows of a dead process become due again and another takes them. The attempt's number is the
worker's claim: who finds a higher one has lost the row and must not send.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tools.errors import MissingExtraError

_TABLE = """CREATE TABLE IF NOT EXISTS bot_events (
    platform TEXT NOT NULL, event_id TEXT NOT NULL,
    payload TEXT NOT NULL, message TEXT,
    state TEXT NOT NULL, sending INTEGER NOT NULL, attempts INTEGER NOT NULL,
    due_at DOUBLE PRECISION NOT NULL, taken_at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (platform, event_id))"""
_INDEX = "CREATE INDEX IF NOT EXISTS bot_events_open ON bot_events (due_at) WHERE state = 'open'"
_SETUP_LOCK = 7_110_110
"""Any number, the same in all replicas."""
_THIS = " WHERE platform = ? AND event_id = ? AND state = 'open' AND attempts = ?"
KEEP_S = 7 * 24 * 3600
"""Ids are remembered this long; no platform accepts a request of ours that is older."""


class Key(NamedTuple):
    """What makes an event one event."""

    platform: str
    event_id: str


@dataclass(frozen=True, slots=True)
class Taken:
    """One event as a worker holds it."""

    key: Key
    payload: dict[str, Any]
    message: dict[str, Any] | None
    """What is to be sent; None until the question was answered."""
    attempt: int
    """From 1; the claim on the row."""
    in_doubt: bool
    """True when an earlier send began and nobody knows whether it arrived."""
    taken_at: float
    """When the event came in, seconds since the epoch."""


class Rows(NamedTuple):
    """What a statement did."""

    touched: int
    rows: Sequence[Sequence[Any]]


class Database(Protocol):
    """Runs one statement, durable when it returns. Parameters are written as `?`."""

    def run(self, statement: str, *values: object) -> Rows:
        """Rows touched and rows given back."""

    def set_up(self, *statements: str) -> None:
        """Runs statements that make tables; several processes may do so at once."""

    def close(self) -> None:
        """Lets go of connections."""


class Sqlite:
    """A file; several processes of one machine may share it."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self.run("PRAGMA journal_mode=WAL")

    def run(self, statement: str, *values: object) -> Rows:
        """One statement in a connection of its own, so that any thread may call."""
        with closing(sqlite3.connect(self._path, timeout=30, isolation_level=None)) as db:
            cursor = db.execute(statement, values)
            rows = cursor.fetchall()
            return Rows(cursor.rowcount, rows)

    def set_up(self, *statements: str) -> None:
        """One after the other; SQLite locks the file for each."""
        for statement in statements:
            self.run(statement)

    def close(self) -> None:
        """Nothing stays open."""


class Postgres:
    """A database that replicas on several machines share.

    Raises:
        MissingExtraError: If the extra `postgres` is not installed.
    """

    def __init__(self, url: str) -> None:
        try:
            from psycopg_pool import ConnectionPool

            from agent import LimitedConnection
        except ImportError as error:
            raise MissingExtraError("bot events in Postgres", extra="postgres") from error
        self._pool: Any = ConnectionPool(
            url, min_size=1, max_size=8, open=True, timeout=10,
            check=ConnectionPool.check_connection, connection_class=LimitedConnection,
            kwargs={"autocommit": True, "prepare_threshold": None, "connect_timeout": 5},
        )  # fmt: skip

    def run(self, statement: str, *values: object) -> Rows:
        """One statement, committed."""
        with self._pool.connection() as connection:
            cursor = connection.execute(statement.replace("?", "%s"), values)
            return Rows(cursor.rowcount, cursor.fetchall() if cursor.description else ())

    def set_up(self, *statements: str) -> None:
        """In one transaction behind a lock: two `IF NOT EXISTS` at once would collide."""
        with self._pool.connection() as connection, connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_SETUP_LOCK,))
            for statement in statements:
                connection.execute(statement)

    def close(self) -> None:
        """Closes the pool."""
        self._pool.close()


def open_store(path: Path, *, url: str | None = None) -> Store:
    """The store at a Postgres URL, else in a SQLite file.

    Raises:
        MissingExtraError: If a URL is given and the extra `postgres` is not installed.
    """
    return Store(Postgres(url) if url else Sqlite(path))


class Store:
    """The table of events."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._db.set_up(_TABLE, _INDEX)

    def take(self, key: Key, payload: dict[str, Any]) -> bool:
        """Writes an event down; False when its id was taken before."""
        now = time.time()
        written = self._db.run(
            "INSERT INTO bot_events VALUES (?, ?, ?, NULL, 'open', 0, 0, ?, ?)"
            " ON CONFLICT DO NOTHING", *key, json.dumps(payload), now, now,
        )  # fmt: skip
        return written.touched == 1

    def claim(self, key: Key, *, lease_s: float) -> Taken | None:
        """The event, for this caller alone while the lease lasts; None when it is not due."""
        now = time.time()
        found = self._db.run(
            "UPDATE bot_events SET attempts = attempts + 1, due_at = ?"
            " WHERE platform = ? AND event_id = ? AND state = 'open' AND due_at <= ?"
            " RETURNING payload, message, attempts, sending, taken_at", now + lease_s, *key, now,
        )  # fmt: skip
        if not found.rows:
            return None
        payload, message, attempts, sending, taken_at = found.rows[0]
        message = json.loads(message) if message is not None else None
        return Taken(key, json.loads(payload), message, attempts, bool(sending), taken_at)

    def renew(self, held: Iterable[Taken], *, lease_s: float) -> None:
        """Puts off the end of the leases of what is being worked on."""
        for taken in held:
            self._db.run("UPDATE bot_events SET due_at = ?" + _THIS,
                         time.time() + lease_s, *taken.key, taken.attempt)  # fmt: skip

    def remember(self, taken: Taken, message: dict[str, Any]) -> None:
        """Keeps what is to be sent, so that a later attempt does not ask again."""
        self._db.run("UPDATE bot_events SET message = ?" + _THIS,
                     json.dumps(message), *taken.key, taken.attempt)  # fmt: skip

    def begin(self, taken: Taken) -> bool:
        """Marks that a send begins; False when the row is no longer this caller's."""
        return self._db.run("UPDATE bot_events SET sending = 1" + _THIS,
                            *taken.key, taken.attempt).touched == 1  # fmt: skip

    def put_off(self, taken: Taken, *, wait_s: float, in_doubt: bool) -> None:
        """Makes the event due again later."""
        self._db.run("UPDATE bot_events SET due_at = ?, sending = ?" + _THIS,
                     time.time() + wait_s, int(in_doubt), *taken.key, taken.attempt)  # fmt: skip

    def finish(self, taken: Taken, state: str) -> None:
        """Ends the event as `done` or `failed`; question and answer are forgotten, the id stays."""
        self._db.run("UPDATE bot_events SET state = ?, payload = '{}', message = NULL" + _THIS,
                     state, *taken.key, taken.attempt)  # fmt: skip

    def due(self, *, limit: int) -> list[Key]:
        """Open events that nobody works on, oldest first."""
        found = self._db.run(
            "SELECT platform, event_id FROM bot_events WHERE state = 'open' AND due_at <= ?"
            " ORDER BY taken_at LIMIT ?", time.time(), limit,
        )  # fmt: skip
        return [Key(*row) for row in found.rows]

    def open_count(self) -> int:
        """Events that wait for an answer (count)."""
        return int(self._db.run("SELECT count(*) FROM bot_events WHERE state = 'open'").rows[0][0])

    def forget_old(self) -> None:
        """Drops the ids of events that ended long ago."""
        self._db.run("DELETE FROM bot_events WHERE state <> 'open' AND taken_at < ?",
                     time.time() - KEEP_S)  # fmt: skip

    def close(self) -> None:
        """Lets go of the database."""
        self._db.close()
