"""What is seen of the service from outside: request ids and metrics, summed over its workers."""

from __future__ import annotations

import logging
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ui.http.logs import request_id
from ui.http.protection import header
from ui.turn import Adviser
from ui.wording import Language
from ui.workers import METRICS_VARIABLE

if TYPE_CHECKING:
    from agent import Answer, Event

log = logging.getLogger("xuanka.http")
_ID = re.compile(r"[A-Za-z0-9_-]{8,64}")


class Metrics:
    """The service's counters, in a registry of their own.

    With several workers the counters lie in files that all of them read: each tells the sum.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._watched: list[tuple[Gauge, Callable[[], float]]] = []
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
            "xuanka_answers_in_progress", "Questions being answered", registry=self.registry,
            multiprocess_mode="livesum",
        )  # fmt: skip
        self.requests = Counter(
            "xuanka_http_requests", "HTTP requests", ["method", "status"], registry=self.registry
        )

    def watch(
        self, name: str, meaning: str, count: Callable[[], float], *, is_shared: bool = False
    ) -> None:
        """A further gauge, set at every `refresh`.

        Args:
            name: Its name.
            meaning: Its help text.
            count: Gives the value.
            is_shared: True when all workers would count the same things.
        """
        mode: Any = "livemostrecent" if is_shared else "livesum"
        gauge = Gauge(name, meaning, registry=self.registry, multiprocess_mode=mode)
        self._watched.append((gauge, count))

    def refresh(self) -> None:
        """Reads what is watched; a value that cannot be had now is left as it was."""
        for gauge, count in self._watched:
            try:
                gauge.set(count())
            except Exception as error:  # a database that does not answer must not hide the rest
                log.warning("a metric cannot be read: %s", type(error).__name__)

    def text(self) -> bytes:
        """Everything in Prometheus' text format."""
        self.refresh()
        if not os.environ.get(METRICS_VARIABLE):
            return generate_latest(self.registry)
        from prometheus_client.multiprocess import MultiProcessCollector

        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]  # prometheus_client's own
        return generate_latest(together)


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
        status: int | None = None

        async def marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message.get("headers", ()), (b"x-request-id", this.encode()),
                ]  # fmt: skip
                status = message["status"]
                self.metrics.requests.labels(scope["method"], str(status)).inc()
            await send(message)

        try:
            await self.app(scope, receive, marked)
        except Exception:
            # The framework raises again what it has answered with 500 and `error_response` logged.
            if status != 500:
                raise
        finally:
            request_id.reset(token)
