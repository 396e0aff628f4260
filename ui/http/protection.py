"""What stands in front of every request: host, size, slowness, token, headers.

Plain ASGI, so that streams pass through untouched.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import re
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ui.config import ApiToken, ServiceSettings
from ui.http.logs import request_id as current_id

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'self'",
        # The page's library builds functions from its configuration and sets inline styles.
        "script-src 'self' 'unsafe-inline' 'unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "worker-src 'self' blob:",
        "frame-ancestors 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "object-src 'none'",
    )
)
HEADERS = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
BOTS = ("/slack/", "/feishu/", "/dingtalk/")
"""Paths of platforms: what they send is taken as it is, and mended where it is read."""
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:@/\s]+)(?::[0-9]{1,5})?")
"""A host name or address, and a port or none."""
GUARDED = ("/v1", "/mcp", "/metrics")


def header(scope: Scope, name: bytes) -> str:
    """A request header as text; empty when it is missing."""
    found = [value for key, value in scope.get("headers", ()) if key == name]
    return found[0].decode("latin-1") if found else ""


async def refuse(
    scope: Scope, send: Send, status: int, kind: str, message: str, *,
    extra: Sequence[tuple[bytes, bytes]] = (),
) -> None:  # fmt: skip
    """Answers with one error in the form of the API."""
    body = json.dumps(error_body(kind, message, scope.get("request_id"))).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": [*headers, *extra]})
    await send({"type": "http.response.body", "body": body})


def _current_id() -> str | None:
    found = current_id.get()
    return None if found == "-" else found


def error_body(kind: str, message: str, request_id: object = None) -> dict[str, Any]:
    """The one form of all errors; its fields are those that OpenAI's clients read too."""
    return {
        "error": {
            "message": message,
            "type": kind,
            "param": None,
            "code": None,
            "request_id": request_id or _current_id(),
        }
    }


class SecurityHeaders:
    """Adds the headers that keep a browser within this host."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on and marks the response."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                named = {key for key, _ in message.get("headers", ())}
                message["headers"] = [
                    *message.get("headers", ()),
                    *((k, v) for k, v in HEADERS if k not in named),
                ]
            await send(message)

        await self.app(scope, receive, marked)


class HostCheck:
    """Serves only the host names it was told: a web page cannot rebind a name to this service."""

    def __init__(self, app: ASGIApp, *, hosts: Sequence[str]) -> None:
        self.app = app
        self.hosts = {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuses a foreign Host header with 421."""
        if scope["type"] == "http" and "*" not in self.hosts:
            found = _HOST.fullmatch(header(scope, b"host").lower())
            if found is None or found[1] not in self.hosts:
                message = "This host name is not served here. Set XUANKA_ALLOWED_HOSTS to add it."
                await refuse(scope, send, 421, "invalid_request_error", message)
                return
        await self.app(scope, receive, send)


class BodyLimit:
    """Bounds a request's body in bytes and in the time it takes to arrive."""

    def __init__(self, app: ASGIApp, *, max_bytes: int, timeout_s: float) -> None:
        self.app = app
        self.max_bytes = max_bytes
        self.timeout_s = timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reads the body first; 413 when it is too large, 408 when it is too slow."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS", "DELETE"):
            await self.app(scope, receive, send)
            return
        told = header(scope, b"content-length")
        if told and (not told.isdigit() or int(told) > self.max_bytes):
            await self._too_large(scope, send)
            return
        try:
            async with asyncio.timeout(self.timeout_s):
                body = await self._read(receive)
        except TimeoutError:
            await refuse(scope, send, 408, "timeout", "The request's body did not arrive in time.")
            return
        if body is None:
            await self._too_large(scope, send)
            return
        if b"\\u" in body and not scope["path"].startswith(BOTS) and has_half_characters(body):
            message = "The text holds half a character (a lone surrogate). Send whole Unicode text."
            await refuse(scope, send, 400, "invalid_request_error", message)
            return
        await self.app(scope, replayed(body, receive), send)

    async def _read(self, receive: Receive) -> bytes | None:
        chunks: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return b"".join(chunks)
            chunks.append(message.get("body", b""))
            size += len(chunks[-1])
            if size > self.max_bytes:
                return None
            if not message.get("more_body", False):
                return b"".join(chunks)

    async def _too_large(self, scope: Scope, send: Send) -> None:
        message = f"The request is too large; at most {self.max_bytes} bytes are read."
        await refuse(scope, send, 413, "invalid_request_error", message,
                     extra=[(b"connection", b"close")])  # fmt: skip


def has_half_characters(body: bytes) -> bool:
    r"""True for JSON whose escapes make text that cannot be written as UTF-8.

    >>> has_half_characters(rb'"\ud83d"'), has_half_characters(rb'"\ud83d\ude00"')
    (True, False)
    """
    try:
        json.dumps(json.loads(body), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    except (ValueError, RecursionError):
        return False
    return False


def replayed(body: bytes, receive: Receive) -> Receive:
    """Gives a body that was read once more, and then what else comes."""
    sent = False

    async def again() -> Message:
        nonlocal sent
        if not sent:
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return again


class Bearer:
    """Asks for a token under the guarded paths, and holds each token to its calls per minute."""

    def __init__(self, app: ASGIApp, *, tokens: Sequence[ApiToken]) -> None:
        self.app = app
        self.tokens = tuple(tokens)
        self._calls: dict[str, deque[float]] = {token.name: deque() for token in tokens}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """401 without a valid token, 429 when the token has used up its minute."""
        guarded = scope["type"] == "http" and is_guarded(scope["path"])
        if not guarded or not self.tokens:
            await self.app(scope, receive, send)
            return
        token = self._match(header(scope, b"authorization"))
        if token is None:
            await refuse(scope, send, 401, "authentication_error",
                         "A valid bearer token is needed.",
                         extra=[(b"www-authenticate", b"Bearer")])  # fmt: skip
            return
        wait_s = self._wait_s(token)
        if wait_s > 0:
            await refuse(scope, send, 429, "rate_limit_error",
                         f"This token may call {token.per_minute} times a minute.",
                         extra=[(b"retry-after", b"%d" % max(1, round(wait_s)))])  # fmt: skip
            return
        scope["token_name"] = token.name
        await self.app(scope, receive, send)

    def _match(self, given: str) -> ApiToken | None:
        kind, _, secret = given.partition(" ")
        found = None
        for token in self.tokens:  # all of them, so that the time taken says nothing
            if hmac.compare_digest(secret.strip().encode(), token.secret.encode()):
                found = token
        return found if kind.lower() == "bearer" else None

    def _wait_s(self, token: ApiToken) -> float:
        if token.per_minute is None:
            return 0.0
        now = time.monotonic()
        calls = self._calls[token.name]
        while calls and now - calls[0] >= 60:
            calls.popleft()
        if len(calls) >= token.per_minute:
            return 60 - (now - calls[0])
        calls.append(now)
        return 0.0


def is_guarded(path: str) -> bool:
    """True for paths that a token guards when tokens are set."""
    return any(path == prefix or path.startswith(prefix + "/") for prefix in GUARDED)


def protect(app: ASGIApp, settings: ServiceSettings) -> ASGIApp:
    """The application behind all of the above, outermost last."""
    guarded: ASGIApp = BodyLimit(
        app, max_bytes=settings.max_body_bytes, timeout_s=settings.body_timeout_s
    )
    guarded = Bearer(guarded, tokens=settings.tokens())
    guarded = HostCheck(guarded, hosts=settings.allowed_hosts)
    if settings.allowed_origins:
        # Outside of all that refuses: a preflight carries no token, and a browser hands a refusal
        # to its script only with these headers.
        guarded = CORSMiddleware(
            guarded, allow_origins=settings.allowed_origins, allow_methods=("GET", "POST"),
            allow_headers=("*",), expose_headers=("X-Request-ID", "Retry-After"),
        )  # fmt: skip
    return SecurityHeaders(guarded)
