"""The page's own head: our style and script come first, the library's sharing tags go.

The library adds a `head` of ours by script after it has started; the chosen language and theme
must be known before that.
"""

from __future__ import annotations

import re

from starlette.types import ASGIApp, Message, Receive, Scope, Send

OURS = (
    b"<title>Xuanka</title>"
    b'<link rel="icon" href="/static-xuanka/icon.svg" type="image/svg+xml">'
    b'<link rel="stylesheet" href="/static-xuanka/xuanka.css">'
    b'<script src="/static-xuanka/xuanka.js"></script>'
)
_SHARING = re.compile(rb'<meta\s+(?:property="og:|name="twitter:)[^>]*>')


class PageHead:
    """Rewrites the head of the page as it is sent; every other response passes untouched."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on; only the page itself is held back and rewritten."""
        if scope["type"] != "http" or scope["method"] != "GET" or scope["path"] != "/":
            await self.app(scope, receive, send)
            return
        # Uncompressed, so that it can be read.
        headers = [(k, v) for k, v in scope["headers"] if k != b"accept-encoding"]
        scope = {**scope, "headers": headers}
        start: Message = {}
        body = b""

        async def rewritten(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start":
                start = message
                return
            if message["type"] != "http.response.body":
                return
            body += message.get("body", b"")
            if message.get("more_body", False):
                return
            page = with_head(body)
            kept = [(k, v) for k, v in start["headers"] if k.lower() != b"content-length"]
            start["headers"] = [*kept, (b"content-length", b"%d" % len(page))]
            await send(start)
            await send({"type": "http.response.body", "body": page})

        await self.app(scope, receive, rewritten)


def with_head(page: bytes) -> bytes:
    """The page with our head first and without the tags that name other hosts."""
    return _SHARING.sub(b"", page).replace(b"<head>", b"<head>" + OURS, 1)
