"""Processes are killed with events in every stage: none is lost, none answered twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.ui.bot.platforms import (
    Platforms,
    Post,
    feishu_event,
    feishu_post,
    sealed,
    slack_event,
    slack_post,
    until,
)
from tests.ui.postgres import PostgresServer, free_port

pytestmark = pytest.mark.sockets
ROOT = Path(__file__).parents[3]


class Replica:
    """A process of the service that can be killed and started again."""

    def __init__(self, settings: dict[str, str]) -> None:
        self.port = free_port()
        self._settings = settings
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.ui.bot.replica", str(self.port)], cwd=ROOT,
            env={**os.environ, **self._settings},
        )  # fmt: skip

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def post(self, request: Post) -> bool:
        url = f"http://127.0.0.1:{self.port}{request.path}"
        try:
            reply = httpx.post(url, content=request.body, headers=request.headers, timeout=10)
        except httpx.HTTPError:
            return False
        return reply.status_code == 200


@pytest.fixture
def start_replica(platforms: Platforms, tmp_path: Path) -> Iterator[Callable[..., Replica]]:
    running: list[Replica] = []

    def start(**more: str) -> Replica:
        values = {**platforms.settings(), "state_dir": tmp_path, "bot_lease_s": 2} | more
        settings = {f"XUANKA_{name.upper()}": str(value) for name, value in values.items()}
        running.append(Replica(settings))
        return running[-1]

    yield start
    for replica in running:
        replica.kill()


def requests(number: int) -> Post:
    """Event `number`, freshly signed: Slack's when even, else Feishu's."""
    if number % 2 == 0:
        body = slack_event(f"Ev{number}", text=f"q{number}", ts=f"{number}.0", channel="C")
        return slack_post(body)
    event = feishu_event(f"fe{number}", message_id=f"om_{number}", chat_id=f"oc_{number}")
    return feishu_post(sealed(json.dumps(event).encode()))


def answered(platforms: Platforms) -> Counter[int]:
    """How often each event was answered, as users see it."""
    found: Counter[int] = Counter()
    for message in list(platforms.messages):
        if "metadata" in message:
            found[int(message["metadata"]["event_payload"]["event_id"].removeprefix("Ev"))] += 1
        else:
            found[int(message["path"].split("/")[-2].removeprefix("om_"))] += 1
    return found


@pytest.mark.chaos
def test_killed_process_loses_nothing_and_its_successor_answers_once(
    start_replica: Callable[..., Replica], platforms: Platforms
) -> None:
    platforms.delay_s = 0.1
    replica = start_replica()
    numbers = range(16)
    for number in numbers:
        until(lambda number=number: replica.post(requests(number)), limit_s=60)  # type: ignore[misc]
    until(lambda: len(platforms.messages) >= 2)
    replica.kill()
    before = len(platforms.messages)
    assert before < len(numbers)
    replica.start()
    until(lambda: len(answered(platforms)) == len(numbers), limit_s=60)
    until(lambda: replica.post(requests(0)), limit_s=60)  # a late retry of the platform
    time.sleep(1)
    assert answered(platforms) == Counter(numbers)


@pytest.fixture
def postgres(postgres_server: PostgresServer) -> str:
    """The URL of a fresh Postgres."""
    return postgres_server.url


def kill_at_random(
    replicas: list[Replica], platforms: Platforms, count: int, *, seed: int, kills: int
) -> int:
    """Posts events while replicas are killed and started again; gives back the kills.

    A kill falls into the time after an event drawn by chance, however fast the machine is.
    """
    dice, done, is_over = random.Random(seed), [0], threading.Event()
    due, points = threading.Semaphore(0), set(dice.sample(range(5, count - 5), kills))
    asked = [0]

    def killer() -> None:
        while not is_over.is_set():
            if not due.acquire(timeout=0.1):
                continue
            time.sleep(dice.uniform(0, 0.3))
            replica = dice.choice(replicas)
            replica.kill()
            done[0] += 1
            is_over.wait(dice.uniform(0, 1))
            replica.start()

    thread = threading.Thread(target=killer)
    thread.start()
    try:
        for number in range(count):
            if number in points:
                until(lambda: asked[0] - done[0] < 2, limit_s=120)
                asked[0] += 1
                due.release()
            # As a platform does: again, to whichever replica, until one has taken it.
            until(lambda n=number: dice.choice(replicas).post(requests(n)), limit_s=120)  # type: ignore[misc]
            if dice.random() < 0.1:
                dice.choice(replicas).post(requests(number))
        until(lambda: len(answered(platforms)) == count, limit_s=240)
    finally:
        is_over.set()
        thread.join()
    time.sleep(3)
    return done[0]


@pytest.mark.chaos
def test_500_events_on_two_replicas_and_postgres_with_kills_at_random(
    start_replica: Callable[..., Replica], platforms: Platforms, postgres: str
) -> None:
    platforms.delay_s = 0.03
    replicas = [start_replica(checkpoint_url=postgres) for _ in range(2)]
    kills = kill_at_random(replicas, platforms, 500, seed=20260101, kills=12)
    print(f"{kills} kills")
    assert kills >= 10
    assert answered(platforms) == Counter(range(500))
    assert platforms.complaints == []


@pytest.mark.chaos
def test_outage_of_postgres_is_survived(
    start_replica: Callable[..., Replica], platforms: Platforms, postgres: str
) -> None:
    import psycopg

    replica = start_replica(checkpoint_url=postgres)
    until(lambda: replica.post(requests(0)), limit_s=60)
    with psycopg.connect(postgres, autocommit=True) as other:
        # Nobody may write: what the service takes in cannot be written down.
        other.execute("ALTER SYSTEM SET default_transaction_read_only = on")
        other.execute("SELECT pg_reload_conf()")
        time.sleep(0.5)
        other.execute("SET default_transaction_read_only = off")
        other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                      " WHERE pid <> pg_backend_pid() AND usename = 'xuanka'")  # fmt: skip
        assert not replica.post(requests(1))
        health = httpx.get(f"http://127.0.0.1:{replica.port}/healthz", timeout=10)
        assert health.status_code == 200
        other.execute("ALTER SYSTEM RESET default_transaction_read_only")
        other.execute("SELECT pg_reload_conf()")
    until(lambda: replica.post(requests(1)), limit_s=60)
    until(lambda: answered(platforms) == Counter([0, 1]), limit_s=60)
