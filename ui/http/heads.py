"""The head of a request (its line and headers), bounded in size and in the time it takes.

The server beneath reads a head as long as it comes: of any size with its faster parser, and as
slowly as the caller likes with both. Nothing behind it sees a request before its head is whole.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

_Parser: Any = AutoHTTPProtocol


class HeadLimits(asyncio.Protocol):
    """Before a protocol of the server: a head too large gets 431, one too slow ends it."""

    most_bytes = 64 * 1024
    limit_s = 20.0
    """From the first byte of a head, or from the connection, to its end."""

    cycle: Any
    transport: asyncio.Transport
    loop: asyncio.AbstractEventLoop
    _read = 0
    _seen: object = None
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """A connection on which nothing is said ends as well."""
        super().connection_made(transport)
        self._begin()

    def data_received(self, data: bytes) -> None:
        """Counts what comes between the end of one request and the head of the next."""
        if self._is_between():
            self._read += len(data)
            if self._timer is None:
                self._begin()
        super().data_received(data)
        if self.cycle is not self._seen:
            self._seen, self._read = self.cycle, 0
            self._end()
        elif self._read > self.most_bytes and not self.transport.is_closing():
            self.transport.write(
                b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
                b"content-length: 0\r\nconnection: close\r\n\r\n"
            )
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any longer."""
        self._end()
        super().connection_lost(exc)

    def _is_between(self) -> bool:
        return self.cycle is None or not self.cycle.more_body

    def _begin(self) -> None:
        self._timer = self.loop.call_later(self.limit_s, self.transport.close)

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class BoundedHeads(HeadLimits, _Parser):  # type: ignore[misc]  # the parser that is installed
    """The server's own protocol, with bounded heads."""
