"""Two worker processes with the real advisor: one service to whoever asks."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.ui.bot.platforms import until
from ui.workers import Place, listening_sockets

pytestmark = pytest.mark.sockets
ROOT = Path(__file__).parents[2]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Workers:
    """The service with two workers in processes of their own."""

    def __init__(self, state: Path, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", "ui", "serve", "--port", str(port), "--workers", "2",
                   "--log-level", "error"]  # fmt: skip
        self.process = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, "XUANKA_STATE_DIR": str(state)}
        )
        until(self.are_ready, limit_s=120)

    def are_ready(self) -> bool:
        """Fresh connections until both workers have said so."""
        return all(self._is_ready() for _ in range(12))

    def _is_ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/readyz", timeout=20).status_code == 200
        except httpx.HTTPError:
            return False

    def ask(self, question: str, thread: str) -> dict[str, object]:
        """One answer over a new connection, whichever worker takes it."""
        reply = httpx.post(f"{self.url}/v1/ask", json={"question": question, "thread": thread},
                           timeout=60)  # fmt: skip
        reply.raise_for_status()
        found: dict[str, object] = reply.json()
        return found

    def pids(self) -> list[int]:
        """The workers' processes."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in path.read_text(encoding="ascii").split()]

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    running = Workers(tmp_path_factory.mktemp("state"), free_port())
    yield running
    running.stop()


@pytest.mark.slow
def test_a_conversation_goes_on_whichever_worker_answers(workers: Workers) -> None:
    for number in range(6):
        thread = f"both-{number}"
        workers.ask("Qwen2.5-7B LoRA on an A10, batch 1", thread)
        found = workers.ask("And with QLoRA?", thread)["request"]
        assert isinstance(found, dict)
        assert found["method"] == "qlora"
        assert "7B" in str(found["model"])
        assert "A10" in str(found["gpu"])


@pytest.mark.slow
def test_metrics_are_the_sum_over_workers(workers: Workers) -> None:
    def told() -> float:
        text = httpx.get(f"{workers.url}/metrics").text
        lines = [row for row in text.splitlines() if row.startswith("xuanka_answers_total")]
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines)

    before = told()
    for number in range(8):
        workers.ask("A10", f"count-{number}")
    assert [told() for _ in range(6)] == [before + 8] * 6


@pytest.mark.slow
def test_page_sessions_stay_with_one_worker(workers: Workers) -> None:
    for number in range(6):
        session = f"session{number}"
        asked = {"data": ["A10", f"page-{number}", "en", "t"], "session_hash": session}
        dependencies = httpx.get(f"{workers.url}/config").json()["dependencies"]
        index = next(d["id"] for d in dependencies if d["api_name"] == "ask")
        # Each call opens a connection of its own, so that the kernel may choose either worker.
        httpx.post(f"{workers.url}/gradio_api/queue/join", json=asked | {"fn_index": index},
                   timeout=20).raise_for_status()  # fmt: skip
        seen = []
        with httpx.stream("GET", f"{workers.url}/gradio_api/queue/data",
                          params={"session_hash": session}, timeout=60) as reply:  # fmt: skip
            for line in reply.iter_lines():
                if line.startswith("data:"):
                    seen.append(json.loads(line[5:])["msg"])
                if seen and seen[-1] in ("process_completed", "unexpected_error"):
                    break
        assert seen[-1] == "process_completed"


@pytest.mark.slow
def test_a_killed_worker_is_started_anew_and_nothing_is_refused(workers: Workers) -> None:
    before = workers.pids()
    os.kill(before[0], signal.SIGKILL)
    for number in range(8):
        workers.ask("A10", f"after-{number}")
    until(lambda: len(workers.pids()) == 2 and workers.pids() != before, limit_s=30)


@pytest.mark.slow
def test_sigterm_finishes_what_was_asked_and_leaves_no_process(tmp_path: Path) -> None:
    running = Workers(tmp_path, free_port())
    pids = running.pids()
    with httpx.stream("POST", f"{running.url}/v1/ask", timeout=60,
                      json={"question": "7B LoRA on A10", "stream": True}) as reply:  # fmt: skip
        running.process.terminate()
        assert "event: answer" in reply.read().decode()
    assert running.process.wait(60) == 0
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), limit_s=10)


@pytest.mark.slow
def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    running = Workers(tmp_path, free_port())
    pids = running.pids()
    running.process.kill()
    running.process.wait()
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), limit_s=60)


def test_a_port_in_use_is_said_in_words() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "ui", "serve", "--workers", "2", "--port", str(port)]
        found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert found.returncode == 2
    assert "a free port" in found.stderr


def test_workers_share_one_port_and_no_other_service_joins() -> None:
    first, second = listening_sockets("127.0.0.1", 0, 2)
    try:
        assert first.getsockname() == second.getsockname()
        with pytest.raises(Exception, match="free port"):
            listening_sockets("127.0.0.1", first.getsockname()[1], 2)
    finally:
        first.close()
        second.close()


def test_a_place_reads_as_it_is_written() -> None:
    place = Place(number=1, listening=7, inner=8, alive=9, ports=(4001, 4002, 4003))
    assert Place.read(place.written()) == place
