"""The real service while its database or its endpoint is away: it answers, says so, recovers."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.ui.bot.platforms import until
from tests.ui.postgres import PostgresServer, free_port

pytestmark = [pytest.mark.sockets, pytest.mark.chaos]
ROOT = Path(__file__).parents[2]
OUTAGE_S = 30.0
TEXT = "It depends on the method; the table of the calculator says what is needed."


ENDPOINT = """
import sys, time
from tests.agent.scripted_endpoint import Step, scripted_endpoint
with scripted_endpoint(Step(sys.argv[2]), port=int(sys.argv[1])):
    time.sleep(600)
"""


@contextmanager
def an_endpoint(port: int) -> Iterator[None]:
    """A language-model endpoint in a process of its own, killed at the end."""
    process = subprocess.Popen([sys.executable, "-c", ENDPOINT, str(port), TEXT], cwd=ROOT)
    yield
    process.kill()
    process.wait()


class Service:
    """The service in a process of its own, with the real advisor."""

    def __init__(self, state: Path, **settings: str) -> None:
        self.url = f"http://127.0.0.1:{(port := free_port())}"
        values = {"state_dir": str(state), **settings}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ui", "serve", "--port", str(port), "--log-level", "error"],
            cwd=ROOT,
            env={**os.environ, **{f"XUANKA_{k.upper()}": v for k, v in values.items()}},
        )

    def ready(self) -> dict[str, Any]:
        """What /readyz says; empty while there is no reply."""
        try:
            found: dict[str, Any] = httpx.get(f"{self.url}/readyz", timeout=20).json()
        except httpx.HTTPError:
            return {}
        return found

    def ask(self, question: str, thread: str | None = None) -> dict[str, Any]:
        """One answer."""
        body = {"question": question, "thread": thread}
        reply = httpx.post(f"{self.url}/v1/ask", json=body, timeout=60)
        assert reply.status_code == 200, reply.text
        found: dict[str, Any] = reply.json()
        return found


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    running: list[Service] = []

    def begin(**settings: str) -> Service:
        running.append(Service(tmp_path / f"state{len(running)}", **settings))
        return running[-1]

    yield begin
    for service in running:
        service.process.terminate()
        service.process.wait(60)


def are_ready(*services: Service) -> None:
    """Waits for all of them."""
    for service in services:
        until(lambda s=service: s.ready().get("status") == "ready", limit_s=120)  # type: ignore[misc]


def method_and_card(answer: dict[str, Any]) -> tuple[str, bool]:
    """What the answer was understood to be about."""
    request = answer["request"]
    return str(request["method"]), "A10" in str(request["gpu"])


def test_a_conversation_goes_on_over_two_replicas_on_postgres(
    start: Callable[..., Service], postgres_server: PostgresServer
) -> None:
    replicas = [start(checkpoint_url=postgres_server.url) for _ in range(2)]
    are_ready(*replicas)  # started at once: both make the tables
    replicas[0].ask("Qwen2.5-7B LoRA on an A10, batch 1", "t")
    assert method_and_card(replicas[1].ask("And with QLoRA?", "t")) == ("qlora", True)
    assert method_and_card(replicas[0].ask("And full fine-tuning?", "t")) == ("full", True)
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda n: replicas[n % 2].ask(f"batch {n + 2}?", "t"), range(6)))
    from agent import Advisor, Settings

    with Advisor(Settings(checkpoint_url=postgres_server.url)) as reader:
        kept = reader.export("api:open:t")
    asked = {turn["question"] for turn in kept}
    assert {f"batch {n + 2}?" for n in range(6)} <= asked, "a turn was overwritten by another's"


def alone_for(service: Service, seconds: float) -> float:
    """Asks for so long; every answer must say that it stands alone. The longest wait, in s."""
    ends, slowest = time.monotonic() + seconds, 0.0
    while time.monotonic() < ends:
        started = time.monotonic()
        answer = service.ask("Qwen2.5-7B LoRA on an A10", "t")
        slowest = max(slowest, time.monotonic() - started)
        assert "alone" in answer["degraded"]
        time.sleep(1)
    return slowest


@pytest.mark.parametrize("outage", ["down", "hanging"])
def test_in_an_outage_of_postgres_questions_are_answered_alone_and_then_conversations_go_on(
    start: Callable[..., Service], postgres_server: PostgresServer, outage: str
) -> None:
    service = start(checkpoint_url=postgres_server.url)
    are_ready(service)
    service.ask("Qwen2.5-7B LoRA on an A10, batch 1", "t")
    server = postgres_server
    begin, end = (server.stop, server.start) if outage == "down" else (server.hang, server.go_on)
    begin()
    assert alone_for(service, OUTAGE_S) < 30
    assert any("database" in note for note in service.ready()["degraded"])
    end()
    until(lambda: service.ready()["degraded"] == [], limit_s=60)
    answer = service.ask("And with QLoRA?", "t")
    assert answer["degraded"] is None
    assert method_and_card(answer) == ("qlora", True)


def test_while_the_endpoint_is_down_the_embedded_backend_answers_and_says_why(
    start: Callable[..., Service],
) -> None:
    port = free_port()
    service = start(
        base_url=f"http://127.0.0.1:{port}/v1", api_key="k", model="m", breaker_rest_s="3"
    )
    question = "Qwen2.5-7B LoRA on an A10"
    with an_endpoint(port):
        are_ready(service)
        until(lambda: service.ask(question)["backend"] == "openai_compatible", limit_s=60)
    ends = time.monotonic() + OUTAGE_S
    while time.monotonic() < ends:
        answer = service.ask(question)
        assert answer["backend"] == "embedded"
        assert answer["degraded"]
        time.sleep(1)
    assert service.ready()["status"] == "ready"
    assert service.ready()["degraded"]
    with an_endpoint(port):
        until(lambda: service.ask(question)["degraded"] is None, limit_s=60)
        assert service.ready()["degraded"] == []
