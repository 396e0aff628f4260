"""Connections to Postgres that wait so long for a reply and no longer.

A server that is refused or gone says so at once. One that hangs (a stopped machine, a cut cable)
says nothing, and the system waits for it for hours.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any, TypeVar

import psycopg

Given = TypeVar("Given")
REPLY_S = 5.0
"""Longest wait for the reply to one statement, in seconds. Nothing here works longer: locks that
may be held for long are asked for again and again instead of waited for."""


class LimitedConnection(psycopg.Connection[Any]):
    """A connection that is broken once a statement had no reply in time.

    Every statement may raise `psycopg.OperationalError` for that, as for a lost connection.
    """

    reply_s = REPLY_S

    def wait(self, gen: Generator[Any, Any, Given], *args: Any, **options: Any) -> Given:
        """Waits for what the library reads of the server, or breaks the connection."""
        given: Given = super().wait(self._limited(gen), *args, **options)
        return given

    def _limited(self, gen: Generator[Any, Any, Given]) -> Generator[Any, Any, Given]:
        ends = time.monotonic() + self.reply_s
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                # Nothing is ready: a turn in which the library looks around.
                if not ready and time.monotonic() > ends:
                    self.pgconn.finish()
                    raise psycopg.OperationalError(f"no reply within {self.reply_s:g} s")
                wanted = gen.send(ready)
        except StopIteration as end:
            result: Given = end.value
            return result
