"""Where conversations are kept: SQLite by default, Postgres by URL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

from agent.settings import Settings
from tools.errors import MissingExtraError

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

_FILE = "conversations.sqlite"
_WAIT_S = 5.0
"""Longest wait for a connection to Postgres."""
_SETUP_LOCK = 7_110_109
"""Any number, the same in all replicas."""


def open_checkpointer(settings: Settings) -> BaseCheckpointSaver[Any]:
    """The store of conversations under these settings, with its tables made.

    Raises:
        MissingExtraError: If a Postgres URL is set and the extra is not installed.
    """
    if settings.checkpoint_url is not None:
        return _postgres(settings.checkpoint_url.get_secret_value())
    return _sqlite(settings)


def _sqlite(settings: Settings) -> BaseCheckpointSaver[Any]:
    import sqlite3

    settings.state_dir.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(
        settings.state_dir / _FILE, check_same_thread=False, timeout=30, isolation_level="DEFERRED"
    )
    # With the write-ahead log a commit survives a killed process without waiting for the disk.
    connection.execute("PRAGMA synchronous=NORMAL")
    saver: BaseCheckpointSaver[Any] = _threaded_sqlite_saver()(connection)
    saver.setup()  # type: ignore[attr-defined]  # every saver with tables has it
    return saver


def _threaded_sqlite_saver() -> type[Any]:
    """`SqliteSaver` whose async methods run the sync ones in a thread."""
    from langgraph.checkpoint.sqlite import SqliteSaver

    class ThreadedSqliteSaver(SqliteSaver):
        async def aget_tuple(self, config: Any) -> Any:
            return await asyncio.to_thread(self.get_tuple, config)

        async def aput(self, *arguments: Any) -> Any:
            return await asyncio.to_thread(self.put, *arguments)

        async def aput_writes(
            self, config: Any, writes: Sequence[Any], task_id: str, task_path: str = ""
        ) -> None:
            await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

        async def alist(self, config: Any, **keywords: Any) -> AsyncIterator[Any]:
            for item in await asyncio.to_thread(lambda: list(self.list(config, **keywords))):
                yield item

        async def adelete_thread(self, thread_id: str) -> None:
            await asyncio.to_thread(self.delete_thread, thread_id)

    return ThreadedSqliteSaver


def _postgres(url: str) -> BaseCheckpointSaver[Any]:
    try:
        from langgraph.checkpoint.postgres import PostgresSaver
        from psycopg.rows import dict_row
        from psycopg_pool import ConnectionPool
    except ImportError as error:
        raise MissingExtraError("conversations in Postgres", extra="postgres") from error
    pool: Any = ConnectionPool(
        url,
        min_size=1,
        max_size=10,
        open=True,
        timeout=_WAIT_S,
        check=ConnectionPool.check_connection,
        kwargs={
            "autocommit": True,
            "prepare_threshold": 0,
            "row_factory": dict_row,
            "connect_timeout": int(_WAIT_S),
        },
    )
    saver: Any = PostgresSaver(pool)
    try:
        with pool.connection() as connection:
            # Replicas start in any order: two that make the tables at once would collide.
            connection.execute("SELECT pg_advisory_lock(%s)", [_SETUP_LOCK])
            try:
                saver.setup()
            finally:
                connection.execute("SELECT pg_advisory_unlock(%s)", [_SETUP_LOCK])
    except BaseException:
        pool.close()
        raise
    checkpointer: BaseCheckpointSaver[Any] = saver
    return checkpointer
