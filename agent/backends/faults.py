"""What can go wrong with an endpoint, told apart: from an exception to one named fault."""

from __future__ import annotations

import re
import socket
import ssl
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from agent.answer import Language
from tools.errors import BackendError

_NO_TOOLS = re.compile(
    r"(does not|doesn.t|not) support (tool|function)|tool.{0,20}not supported|"
    r"(tools?|tool_choice|functions?).{0,40}(unsupported|not allowed|unrecognized|unknown|extra)|"
    r"enable-auto-tool-choice",
    re.IGNORECASE,
)
_OVERFLOW = re.compile(
    r"context.{0,20}(length|window|size)|maximum context|too many tokens|prompt is too long|"
    r"exceeds? the (maximum|context)|context_length_exceeded|input.{0,30}too long",
    re.IGNORECASE,
)
_BY_STATUS = {401: "unauthorized", 403: "forbidden", 404: "not_found", 408: "timeout",
              413: "context_overflow", 429: "rate_limited"}  # fmt: skip


class Fault(BackendError):
    """One way in which an endpoint failed.

    Args:
        kind: Row of data/faults.toml.
        detail: What the endpoint said, short; for logs and `--check-backend`.
    """

    def __init__(self, kind: str, detail: str = "") -> None:
        self.kind = kind
        self.detail = detail[:300]
        row = _rows()[kind]
        self.counts: bool = row["counts"]
        self.may_retry: bool = row["retry"]
        super().__init__(f"{row['en']}: {self.detail}" if self.detail else str(row["en"]))

    def told(self, language: Language) -> str:
        """The fault in the reader's language, without the endpoint's own words."""
        text: str = _rows()[self.kind][language]
        return text


@cache
def _rows() -> dict[str, dict[str, Any]]:
    return tomllib.loads(files("agent.backends").joinpath("data/faults.toml").read_text("utf-8"))


def fault_of(error: Exception) -> Fault:
    """The fault that an exception of the client stands for."""
    import openai

    if isinstance(error, Fault):
        return error
    text = str(error)
    if isinstance(error, openai.APITimeoutError | TimeoutError):
        return Fault("timeout", text)
    if isinstance(error, openai.APIConnectionError):
        return Fault(_connection_kind(error), _root(error))
    if isinstance(error, openai.APIStatusError):
        return Fault(_status_kind(error.status_code, text), text)
    if isinstance(error, openai.APIError) and _OVERFLOW.search(text):
        return Fault("context_overflow", text)
    if isinstance(error, openai.APIError):
        return Fault("bad_format" if "json" in text.lower() else "server_error", text)
    return Fault(_transport_kind(error) or "bad_format", f"{type(error).__name__}: {text}")


def _transport_kind(error: Exception) -> str | None:
    """A fault of the transport that the client let through, as it does in mid-stream."""
    import httpx2

    if isinstance(error, httpx2.TimeoutException):
        return "timeout"
    if isinstance(error, httpx2.TransportError | ConnectionError | OSError):
        return "cut"
    return None


def _status_kind(status: int, text: str) -> str:
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500:
        return "server_error"
    if _NO_TOOLS.search(text):
        return "no_tools"
    return "context_overflow" if _OVERFLOW.search(text) else "bad_request"


def _chain(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    step: BaseException | None = error
    while step is not None and step not in found:
        found.append(step)
        step = step.__cause__ or step.__context__
    return found


def _connection_kind(error: Exception) -> str:
    chain = _chain(error)
    if any(isinstance(step, ssl.SSLError) for step in chain):
        return "tls"
    if any(isinstance(step, socket.gaierror) for step in chain):
        return "dns"
    text = " ".join(str(step) for step in chain).lower()
    if "certificate" in text or "ssl" in text:
        return "tls"
    names = ("name or service not known", "nodename nor servname", "getaddrinfo", "name resolution")
    return "dns" if any(name in text for name in names) else "connection"


def _root(error: Exception) -> str:
    return str(_chain(error)[-1])
