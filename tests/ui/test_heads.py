"""The head of a request is bounded, whichever parser the server has."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ui.http.heads import HeadLimits

pytestmark = pytest.mark.sockets
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Says how long the body was."""
    size, more = 0, True
    while more:
        message = await receive()
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    body = b"%d bytes" % size
    head = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture(params=[H11Protocol, HttpToolsProtocol], ids=["h11", "httptools"])
def port(request: pytest.FixtureRequest) -> Iterator[int]:
    parser: Any = request.param

    class Quick(HeadLimits, parser):  # type: ignore[misc]
        limit_s = 0.5

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        config = uvicorn.Config(echo, http=Quick, lifespan="off", log_level="critical")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield listening.getsockname()[1]
        server.should_exit = True
        thread.join(10)


def said(port: int, *pieces: bytes, rest_s: float = 0.0) -> bytes:
    """What comes back until the server ends the connection."""
    got = b""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as caller:
        with suppress(ConnectionError):
            for piece in pieces:
                caller.sendall(piece)
                time.sleep(rest_s)
        with suppress(ConnectionError):
            while piece := caller.recv(65536):
                got += piece
    return got


def test_a_head_without_end_is_refused_before_it_is_held(port: int) -> None:
    field = b"X: " + b"a" * 1000 + b"\r\n"
    sent = [GET[:-2], *[field] * 2000]
    got = said(port, *sent)
    assert got.split(b"\r\n")[0] in (b"HTTP/1.1 431 Request Header Fields Too Large",
                                     b"HTTP/1.1 400 Bad Request", b"")  # fmt: skip
    assert b"bytes" not in got


@pytest.mark.parametrize("began", [b"", b"GET / HT", GET[:-2], GET + GET[:-2]])
def test_a_head_that_never_ends_ends_its_connection(port: int, began: bytes) -> None:
    got = said(port, began)
    assert got.count(b"0 bytes") == (1 if began.startswith(GET) else 0)


def test_a_head_that_drips_ends_its_connection(port: int) -> None:
    got = said(port, *[bytes([byte]) for byte in GET[:-2]], rest_s=0.05)
    assert b"bytes" not in got


def test_bodies_are_not_counted_as_heads(port: int) -> None:
    body = b"x" * 1_000_000
    post = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n" + body
    last = GET.replace(b"Host", b"Connection: close\r\nHost")
    got = said(port, post, post[:500_000], post[500_000:], last)
    assert got.count(b"1000000 bytes") == 2
    assert got.count(b"0 bytes") == 3


def test_a_body_may_take_longer_than_a_head(port: int) -> None:
    post = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 4\r\n\r\n"
    assert b"4 bytes" in said(port, post, b"a", b"b", b"c", b"d", rest_s=0.25)
