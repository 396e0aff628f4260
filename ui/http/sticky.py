"""With several workers: the page's events of one browser session go to one worker.

The page's library queues an event in the process that received it and sends its results over a
second connection. The worker whose number follows from the session's name owns it; the others pass
its requests on, body and stream, and stay out of the way of everything else.
"""

from __future__ import annotations

import asyncio
import json
import logging
import zlib
from collections.abc import AsyncIterator, Sequence
from urllib.parse import parse_qs

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ui.http.protection import HEADERS, refuse, replayed

log = logging.getLogger("xuanka.workers")
_OF_SESSIONS = "/gradio_api/"
_IN_PATH = "/gradio_api/heartbeat/"
PASSED_ON = b"x-xuanka-worker"
"""Header that marks a request as passed on: it is answered where it arrives."""
FORWARDED = b"x-forwarded-for"
"""Header that tells the owner who asked; the server believes it of requests from loopback."""
_HOP_BY_HOP = frozenset(
    {b"connection", b"keep-alive", b"transfer-encoding", b"te", b"trailer", b"upgrade", PASSED_ON}
)
_OURS = frozenset({b"x-request-id", b"date", b"server", *(name for name, _ in HEADERS)})
"""Added again on the way out."""


class Sticky:
    """Answers the sessions that are this worker's and passes on the others.

    Args:
        app: What answers.
        number: This worker's place among the ports.
        ports: Ports of all workers on loopback.
    """

    def __init__(self, app: ASGIApp, *, number: int, ports: Sequence[int]) -> None:
        self.app = app
        self.number = number
        self.ports = tuple(ports)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Looks for a session's name in path, query or body."""
        is_for_sessions = scope["type"] == "http" and scope["path"].startswith(_OF_SESSIONS)
        if not is_for_sessions or any(key == PASSED_ON for key, _ in scope["headers"]):
            await self.app(scope, receive, send)
            return
        body = await _whole(receive) if scope["method"] == "POST" else b""
        owner = self.owner(_session_of(scope, body))
        if owner is None or owner == self.number:
            await self.app(scope, replayed(body, receive), send)
            return
        await self._pass_on(scope, body, receive, send, port=self.ports[owner])

    def owner(self, session: str | None) -> int | None:
        """Number of the worker that owns a session; None where there is none."""
        return None if session is None else zlib.crc32(session.encode()) % len(self.ports)

    async def _pass_on(
        self, scope: Scope, body: bytes, receive: Receive, send: Send, *, port: int
    ) -> None:
        has_begun = False

        async def noted(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        relay = asyncio.ensure_future(_relay(scope, body, noted, port=port))
        gone = asyncio.ensure_future(_gone(receive))
        try:
            await asyncio.wait({relay, gone}, return_when=asyncio.FIRST_COMPLETED)
            if relay.done():
                relay.result()
        except (OSError, asyncio.IncompleteReadError, ValueError) as error:
            log.warning("a worker could not be reached: %s", type(error).__name__)
            if has_begun:
                raise
            await refuse(scope, send, 503, "overloaded", "This worker is starting. Try again.",
                         extra=[(b"retry-after", b"2")])  # fmt: skip
        finally:
            relay.cancel()
            gone.cancel()


def _session_of(scope: Scope, body: bytes) -> str | None:
    path: str = scope["path"]
    if path.startswith(_IN_PATH):
        return path.removeprefix(_IN_PATH).split("/")[0]
    named: list[str] | None = parse_qs(scope["query_string"].decode("latin-1")).get("session_hash")
    if named:
        return named[0]
    try:
        found = json.loads(body) if body else None
    except (ValueError, RecursionError):
        return None
    session = found.get("session_hash") if isinstance(found, dict) else None
    return session if isinstance(session, str) else None


async def _whole(receive: Receive) -> bytes:
    """The body; its size and slowness were bounded before."""
    chunks: list[bytes] = []
    while True:
        message = await receive()
        chunks.append(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body", False):
            return b"".join(chunks)


async def _gone(receive: Receive) -> None:
    """Returns when the caller has hung up."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _relay(scope: Scope, body: bytes, send: Send, *, port: int) -> None:
    """Sends the request to a worker and its response, as it comes, to the caller."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(_request(scope, body))
        await writer.drain()
        first, *fields = (await reader.readuntil(b"\r\n\r\n")).rstrip(b"\r\n").split(b"\r\n")
        parted = (field.partition(b":") for field in fields)
        headers = [(key.strip().lower(), value.strip()) for key, _, value in parted]
        kept = [(k, v) for k, v in headers if k not in _HOP_BY_HOP and k not in _OURS]
        status = int(first.split(b" ")[1])
        await send({"type": "http.response.start", "status": status, "headers": kept})
        is_chunked = any(key == b"transfer-encoding" for key, _ in headers)
        async for piece in _chunks(reader) if is_chunked else _until_end(reader):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    finally:
        writer.close()


def _request(scope: Scope, body: bytes) -> bytes:
    query = b"?" + scope["query_string"] if scope["query_string"] else b""
    head = [scope["method"].encode() + b" " + scope["raw_path"] + query + b" HTTP/1.1"]
    head += [
        key + b": " + value
        for key, value in scope["headers"]
        if key not in _HOP_BY_HOP and key not in (b"content-length", FORWARDED)
    ]
    if scope.get("client"):
        head.append(FORWARDED + b": " + scope["client"][0].encode("latin-1"))
    head += [b"content-length: %d" % len(body), b"connection: close", PASSED_ON + b": 1"]
    return b"\r\n".join(head) + b"\r\n\r\n" + body


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while size := int((await reader.readline()).split(b";")[0] or b"0", 16):
        yield (await reader.readexactly(size + 2))[:-2]


async def _until_end(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while piece := await reader.read(65536):
        yield piece
