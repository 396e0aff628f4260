"""Conversations in Postgres, shared by replicas."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import psycopg
from langgraph.checkpoint.postgres import PostgresSaver
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool

from agent.conversations.ages import Due, first_id_since
from agent.conversations.limits import LimitedConnection

if TYPE_CHECKING:
    from psycopg import Connection

_WAIT_S = 5.0
"""Longest wait for a connection."""
_SETUP_LOCK = 7_110_109
"""Any number, the same in all replicas."""
_THREAD_LOCKS = 7_110_110
"""First half of the locks of conversations; the second is a hash of the name."""
_MOST_EXPIRED = 500
"""Conversations removed at a time: each holds a lock until all are gone."""
_IDLE = """
SELECT thread_id FROM (
    SELECT thread_id FROM checkpoints GROUP BY thread_id HAVING max(checkpoint_id) < %s LIMIT %s
) AS idle WHERE pg_try_advisory_xact_lock(%s, hashtext(thread_id))
"""
_STILL_IDLE = """
SELECT thread_id FROM checkpoints WHERE thread_id = ANY(%s)
GROUP BY thread_id HAVING max(checkpoint_id) < %s
"""


def open_postgres(url: str, *, keep_days: int) -> ConversationsInPostgres:
    """The store in this database, its tables made where there are none.

    Args:
        url: postgresql://...
        keep_days: Days after which an idle conversation is removed; 0 keeps all.
    """
    pool: Any = ConnectionPool(
        url,
        min_size=1,
        max_size=10,
        open=True,
        timeout=_WAIT_S,
        check=ConnectionPool.check_connection,
        connection_class=LimitedConnection,
        kwargs={
            "autocommit": True,
            "prepare_threshold": 0,
            "row_factory": dict_row,
            "connect_timeout": int(_WAIT_S),
        },
    )
    store = ConversationsInPostgres(pool, keep_days=keep_days)
    try:
        with pool.connection() as connection:
            # Replicas start in any order: two that make the tables at once would collide.
            connection.execute("SELECT pg_advisory_lock(%s)", [_SETUP_LOCK])
            try:
                store.setup()
            finally:
                connection.execute("SELECT pg_advisory_unlock(%s)", [_SETUP_LOCK])
        store.tidy()
    except BaseException:
        pool.close()
        raise
    return store


class ConversationsInPostgres(PostgresSaver):
    """`PostgresSaver` that keeps the newest checkpoint of a conversation.

    Writing, pruning and removing hold the conversation's lock: a blob is never taken from a
    checkpoint that is being written elsewhere.
    """

    def __init__(self, pool: Any, *, keep_days: int) -> None:
        super().__init__(pool)
        self._pool = pool
        self._keep_days = keep_days
        self._due = Due()

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        """Writes a checkpoint with all of its values, and removes the one that it follows."""
        thread_id = str(config["configurable"]["thread_id"])
        with self._held(thread_id) as connection:
            saver = PostgresSaver(connection, serde=self.serde)
            versions = checkpoint["channel_versions"]
            kept = saver.put(config, checkpoint, metadata, versions)
            with contextlib.suppress(
                psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected
            ):  # a replica without these locks; the next turn prunes
                saver.prune([thread_id])
        if self._due.is_now():
            with contextlib.suppress(psycopg.OperationalError):
                self.tidy()
        return kept

    def delete_thread(self, thread_id: str) -> None:
        """Forgets a conversation."""
        with self._held(thread_id) as connection:
            PostgresSaver(connection).delete_thread(thread_id)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """`PostgresSaver.prune`, one thread after the other, each under its lock."""
        for thread_id in thread_ids:
            with self._held(thread_id) as connection:
                PostgresSaver(connection).prune([thread_id], strategy=strategy)

    def tidy(self) -> None:
        """Removes conversations that nobody continued."""
        if self._keep_days <= 0:
            return
        since, removed = first_id_since(self._keep_days), _MOST_EXPIRED
        while removed == _MOST_EXPIRED:
            with self._pool.connection() as connection:
                removed = _expired(connection, since)

    @contextlib.contextmanager
    def _held(self, thread_id: str) -> Iterator[Connection[Any]]:
        """A connection that holds the lock of a conversation."""
        with self._pool.connection() as connection:
            key = [_THREAD_LOCKS, thread_id]
            connection.execute("SELECT pg_advisory_lock(%s, hashtext(%s))", key)
            try:
                yield connection
            finally:
                if not connection.broken:
                    connection.execute("SELECT pg_advisory_unlock(%s, hashtext(%s))", key)


def _expired(connection: Connection[Any], since: str) -> int:
    """Removes idle conversations; gives their number. One that is being continued is left."""
    with connection.transaction():
        rows = connection.execute(_IDLE, [since, _MOST_EXPIRED, _THREAD_LOCKS]).fetchall()
        names = [row["thread_id"] for row in rows]
        # Looked at again: one may have been continued before its lock was given.
        rows = connection.execute(_STILL_IDLE, [names, since]).fetchall()
        names = [row["thread_id"] for row in rows]
        for table in ("checkpoint_writes", "checkpoint_blobs", "checkpoints"):
            connection.execute(f"DELETE FROM {table} WHERE thread_id = ANY(%s)", [names])
    return len(names)
