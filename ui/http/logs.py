"""Logs: one line a record with the request's id, and no secret in it."""

from __future__ import annotations

import json
import logging
import re
from contextvars import ContextVar
from datetime import UTC, datetime

request_id: ContextVar[str] = ContextVar("request_id", default="-")
_SECRETS = re.compile(
    r"(?i)(bearer\s+)[^\s\"',;]+|((?:token|secret|api[_-]?key|password|signature)[\"']?\s*[=:]\s*"
    r"[\"']?)[^\s\"',;&]+|\b(xox[a-z]-)[\w-]+|\b(sk-)[\w-]{8,}|(://[^/\s:@]+:)[^@\s]+(?=@)"
)


def redacted(text: str) -> str:
    """A log line without tokens, keys, passwords and signatures.

    >>> redacted("Authorization: Bearer abc.def, api_key=sk-12345678")
    'Authorization: Bearer ***, api_key=***'
    """
    return _SECRETS.sub(lambda m: "".join(g or "" for g in m.groups()) + "***", text)


class Formatter(logging.Formatter):
    """One line a record, with the request's id; JSON when asked."""

    def __init__(self, *, as_json: bool) -> None:
        super().__init__()
        self.as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        message = redacted(record.getMessage())
        if record.exc_info:
            message += "\n" + redacted(self.formatException(record.exc_info))
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        fields = getattr(record, "fields", {})
        if not self.as_json:
            extra = "".join(f" {key}={value}" for key, value in fields.items())
            return f"{at} {record.levelname} {record.name} [{request_id.get()}] {message}{extra}"
        line = {"at": at, "level": record.levelname, "logger": record.name,
                "request_id": request_id.get(), "message": message, **fields}  # fmt: skip
        return json.dumps(line, ensure_ascii=False, default=str)


def set_up_logs(level: str, *, as_json: bool) -> None:
    """Sends all logs through the formatter above."""
    handler = logging.StreamHandler()
    handler.setFormatter(Formatter(as_json=as_json))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for noisy in ("httpx", "httpx2", "httpcore", "markdown_it", "urllib3", "asyncio"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
