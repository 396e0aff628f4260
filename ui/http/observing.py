"""What is seen of the service from outside: request ids, logs without secrets, metrics."""

from __future__ import annotations

import json
import logging
import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ui.http.protection import header
from ui.turn import Adviser
from ui.wording import Language

if TYPE_CHECKING:
    from agent import Answer, Event

log = logging.getLogger("xuanka.http")
request_id: ContextVar[str] = ContextVar("request_id", default="-")
_ID = re.compile(r"[A-Za-z0-9_-]{8,64}")
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


class Metrics:
    """The service's counters, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        labels = ["face", "intent", "backend", "verdict"]
        self.answers = Counter("xuanka_answers", "Answers given", labels, registry=self.registry)
        self.degraded = Counter(
            "xuanka_degraded", "Answers of the embedded backend in place of an endpoint", ["face"],
            registry=self.registry,
        )  # fmt: skip
        self.failed = Counter(
            "xuanka_failed", "Questions that ended in an error", ["face", "error"],
            registry=self.registry,
        )  # fmt: skip
        self.seconds = Histogram(
            "xuanka_answer_seconds", "From question to answer", ["face"], registry=self.registry,
            buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 1.5, 2.5, 5, 10, 30, 60),
        )  # fmt: skip
        self.working = Gauge(
            "xuanka_answers_in_progress", "Questions being answered", registry=self.registry
        )
        self.queued = Gauge("xuanka_queue_depth", "Questions waiting", registry=self.registry)
        self.requests = Counter(
            "xuanka_http_requests", "HTTP requests", ["method", "status"], registry=self.registry
        )

    def watch(self, name: str, meaning: str, count: Callable[[], float]) -> None:
        """A further gauge, read when the metrics are."""
        Gauge(name, meaning, registry=self.registry).set_function(count)

    def text(self) -> bytes:
        """Everything in Prometheus' text format."""
        return generate_latest(self.registry)


class Measured:
    """An advisor that counts what it answers, under the name of the face that asks."""

    def __init__(self, advisor: Adviser, metrics: Metrics, *, face: str) -> None:
        self._advisor = advisor
        self._metrics = metrics
        self._face = face

    def ask(
        self, question: str, *, thread: str | None = None, language: Language | None = None
    ) -> Answer:
        """One answer."""
        started = time.perf_counter()
        with self._metrics.working.track_inprogress():
            try:
                answer = self._advisor.ask(question, thread=thread, language=language)
            except Exception as error:
                self._metrics.failed.labels(self._face, type(error).__name__).inc()
                raise
        self._count(answer, time.perf_counter() - started)
        return answer

    def stream(
        self, question: str, *, thread: str | None = None, language: Language | None = None
    ) -> Iterator[Event]:
        """The events of one answer."""
        from agent import Answered

        started = time.perf_counter()
        with self._metrics.working.track_inprogress():
            try:
                for event in self._advisor.stream(question, thread=thread, language=language):
                    if isinstance(event, Answered):
                        self._count(event.answer, time.perf_counter() - started)
                    yield event
            except Exception as error:
                self._metrics.failed.labels(self._face, type(error).__name__).inc()
                raise

    def _count(self, answer: Answer, seconds: float) -> None:
        self._metrics.answers.labels(
            self._face, answer.intent, answer.backend, answer.verdict
        ).inc()
        self._metrics.seconds.labels(self._face).observe(seconds)
        if answer.degraded:
            self._metrics.degraded.labels(self._face).inc()
        fields = {"face": self._face, "intent": answer.intent, "verdict": answer.verdict,
                  "backend": answer.backend, "degraded": bool(answer.degraded),
                  "elapsed_ms": round(seconds * 1000)}  # fmt: skip
        log.info("answered", extra={"fields": fields})


class RequestIds:
    """Gives every request an id, sends it back, counts the response."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Takes the caller's X-Request-ID when it is well formed, else makes one."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = header(scope, b"x-request-id")
        this = given if _ID.fullmatch(given) else secrets.token_hex(8)
        scope["request_id"] = this
        token = request_id.set(this)

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message.get("headers", ()), (b"x-request-id", this.encode()),
                ]  # fmt: skip
                self.metrics.requests.labels(scope["method"], str(message["status"])).inc()
            await send(message)

        try:
            await self.app(scope, receive, marked)
        finally:
            request_id.reset(token)
