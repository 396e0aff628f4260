"""Conversations in a file of SQLite, one row each."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from langgraph.checkpoint.sqlite import SqliteSaver

from agent.conversations.ages import Due, first_id_since

log = logging.getLogger("xuanka.conversations")
_INCREMENTAL = 2
_LOG_BYTES = 4 * 1024 * 1024
"""Of the write-ahead log, once what it holds is in the file."""
_OLDER = """checkpoint_id < (
    SELECT max(newest.checkpoint_id) FROM checkpoints AS newest
    WHERE newest.thread_id = {table}.thread_id AND newest.checkpoint_ns = {table}.checkpoint_ns
)"""
_PRUNE = tuple(
    f"DELETE FROM {table} WHERE {_OLDER.format(table=table)}" for table in ("writes", "checkpoints")
)
"""What a newer checkpoint of the same conversation stands in for; the newest is never older."""
_EXPIRE = (
    """DELETE FROM checkpoints WHERE thread_id IN (
        SELECT thread_id FROM checkpoints GROUP BY thread_id HAVING max(checkpoint_id) < :since)""",
    """DELETE FROM writes WHERE checkpoint_id < :since
        AND thread_id NOT IN (SELECT thread_id FROM checkpoints)""",
)


def open_sqlite(path: Path, *, keep_days: int) -> ConversationsInSqlite:
    """The store in this file, made where there is none.

    Args:
        path: The file; its folder exists.
        keep_days: Days after which an idle conversation is removed; 0 keeps all.
    """
    connection = sqlite3.connect(
        path, check_same_thread=False, timeout=30, isolation_level="DEFERRED"
    )
    # With the write-ahead log a commit survives a killed process without waiting for the disk.
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute(f"PRAGMA journal_size_limit={_LOG_BYTES}")
    connection.execute("PRAGMA auto_vacuum=INCREMENTAL")  # before the first table
    store = ConversationsInSqlite(connection, keep_days=keep_days)
    store.setup()
    store.tidy()
    return store


class ConversationsInSqlite(SqliteSaver):
    """`SqliteSaver` that keeps the newest; its async methods run the sync ones in a thread."""

    def __init__(self, connection: sqlite3.Connection, *, keep_days: int) -> None:
        super().__init__(connection)
        self._keep_days = keep_days
        self._due = Due()

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        """Writes a checkpoint, and removes the one that it follows."""
        kept = super().put(config, checkpoint, metadata, new_versions)
        self.prune([str(config["configurable"]["thread_id"])])
        if self._due.is_now():
            self.tidy()
        return kept

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Removes what a newer checkpoint stands in for; with "delete", all of the threads.

        Not for graphs with a DeltaChannel, whose newest checkpoint is not whole.
        """
        for thread_id in thread_ids:
            if strategy == "delete":
                self.delete_thread(thread_id)
                continue
            with self.cursor() as cursor:
                for statement in _PRUNE:
                    cursor.execute(f"{statement} AND thread_id = ?", (thread_id,))

    def tidy(self) -> None:
        """Prunes all, removes idle conversations, and gives freed pages back to the system."""
        try:
            with self.cursor() as cursor:
                for statement in _PRUNE:
                    cursor.execute(statement)
                if self._keep_days > 0:
                    since = {"since": first_id_since(self._keep_days)}
                    for statement in _EXPIRE:
                        cursor.execute(statement, since)
            with self.lock:
                self._shrink()
        except sqlite3.OperationalError as error:  # another process is at it
            log.warning("conversations are tidied later: %s", error)

    def _shrink(self) -> None:
        (mode,) = self.conn.execute("PRAGMA auto_vacuum").fetchone()
        if mode == _INCREMENTAL:
            # As a script: a single `execute` takes one step, which frees one page.
            self.conn.executescript("PRAGMA incremental_vacuum")
            return
        # A file from before this setting; the vacuum changes it, and does not come again.
        self.conn.execute("PRAGMA auto_vacuum=INCREMENTAL")
        self.conn.execute("VACUUM")
        self.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    async def aget_tuple(self, config: Any) -> Any:
        """`get_tuple` in a thread."""
        return await asyncio.to_thread(self.get_tuple, config)

    async def aput(self, *arguments: Any) -> Any:
        """`put` in a thread."""
        return await asyncio.to_thread(self.put, *arguments)

    async def aput_writes(
        self, config: Any, writes: Sequence[Any], task_id: str, task_path: str = ""
    ) -> None:
        """`put_writes` in a thread."""
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def alist(self, config: Any, **keywords: Any) -> AsyncIterator[Any]:
        """`list` in a thread."""
        for item in await asyncio.to_thread(lambda: [*self.list(config, **keywords)]):
            yield item

    async def adelete_thread(self, thread_id: str) -> None:
        """`delete_thread` in a thread."""
        await asyncio.to_thread(self.delete_thread, thread_id)
