"""Reply URLs that come with a message: called only at the platform's own origins."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit

from ui.bot.inbox import NotDelivered, Undeliverable


def is_of(url: str, origins: Collection[str]) -> bool:
    r"""True when the URL's scheme, host and port are those of one of the origins.

    >>> is_of("https://hooks.slack.com/commands/1", ["https://hooks.slack.com"])
    True
    >>> is_of("https://hooks.slack.com@10.0.0.1/", ["https://hooks.slack.com"])
    False
    """
    if not url.isascii() or any(c <= " " or c in "\\\x7f" for c in url):
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    origin = f"{parts.scheme}://{parts.netloc}".lower()
    return origin in {allowed.rstrip("/").lower() for allowed in origins}


def send(url: str, body: dict[str, Any], *, origins: Collection[str]) -> dict[str, Any]:
    """Posts JSON to a reply URL, without following redirects; gives back the reply's JSON.

    Raises:
        Undeliverable: If the URL is not the platform's, or the platform refuses for good.
        NotDelivered: If the platform could not be reached, or asks to wait.
        httpx.HTTPError: If it is not known whether the message arrived.
    """
    import httpx

    if not is_of(url, origins):
        raise Undeliverable("the message's reply URL is not one of the platform's")
    try:
        reply = httpx.post(url, json=body, timeout=15, follow_redirects=False)
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise NotDelivered(type(error).__name__) from None
    if reply.status_code == 429:
        raise NotDelivered("asked to wait", wait_s=wait_of(reply.headers.get("retry-after")))
    if 300 <= reply.status_code < 500:
        raise Undeliverable(f"HTTP {reply.status_code}")
    reply.raise_for_status()
    try:
        found = reply.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def wait_of(header: str | None) -> float | None:
    """Seconds of a Retry-After header, at most an hour; None when it says none."""
    is_number = header is not None and header.isascii() and header.isdigit()
    return float(min(int(header[:6]), 3600)) if header is not None and is_number else None
