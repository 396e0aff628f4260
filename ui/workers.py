"""Several processes behind one port: `xuanka serve --workers N`.

The parent holds one listening socket a worker (SO_REUSEPORT: the kernel spreads connections over
them) and starts the workers; it answers nothing itself. A worker that dies is started anew and
finds its socket, and what waits in it, where it was. Each worker has a second socket on loopback,
through which the others hand over requests that belong to it (`ui/http/sticky.py`).
"""

from __future__ import annotations

import errno
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from tools.errors import BadQuantityError

log = logging.getLogger("xuanka.workers")
_BACKLOG = 2048
_SPREAD_S = 0.1
_SHORT_LIFE_S = 20.0
_MOST_SHORT_LIVES = 5
_DRAIN_S = 60.0
"""Longest time for the workers to finish what they are at; then they are killed."""
METRICS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""Where the workers' counters meet; prometheus_client reads it when it is imported."""


@dataclass(frozen=True, slots=True)
class Place:
    """Which worker a process is, as the parent tells it by argument.

    >>> Place.read("1/2:7,8,9:4001,4002")
    Place(number=1, listening=7, inner=8, alive=9, ports=(4001, 4002))
    """

    number: int
    listening: int
    """File descriptor of the shared port's socket."""
    inner: int
    """File descriptor of the worker's own socket on loopback."""
    alive: int
    """File descriptor of a pipe that ends when the parent does."""
    ports: tuple[int, ...]
    """Ports of all workers' own sockets."""

    @classmethod
    def read(cls, text: str) -> Place:
        """From the argument's text."""
        number, descriptors, ports = text.split(":")
        listening, inner, alive = (int(part) for part in descriptors.split(","))
        of = tuple(int(port) for port in ports.split(","))
        return cls(int(number.split("/")[0]), listening, inner, alive, of)

    def written(self) -> str:
        """As argument."""
        ports = ",".join(str(port) for port in self.ports)
        return f"{self.number}/{len(self.ports)}:{self.listening},{self.inner},{self.alive}:{ports}"

    def sockets(self) -> list[socket.socket]:
        """The worker's sockets, opened from their descriptors."""
        return [socket.socket(fileno=fd) for fd in (self.listening, self.inner)]

    def end_with_parent(self) -> None:
        """Drains this process when the parent is gone, however it went."""

        def watch() -> None:
            os.read(self.alive, 1)
            os.kill(os.getpid(), signal.SIGTERM)

        threading.Thread(target=watch, name="parent-watch", daemon=True).start()


@dataclass
class _Worker:
    place: Place
    process: subprocess.Popen[bytes]
    started: float = field(default_factory=time.monotonic)


def listening_sockets(host: str, port: int, count: int) -> list[socket.socket]:
    """One listening socket a worker, all on one port.

    Raises:
        BadQuantityError: If the host is not this machine's or the port cannot be had.
    """
    opened: list[socket.socket] = []
    try:
        family, *_, found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, UnicodeError) as error:
        raise _foreign(host) from error
    try:
        # Without SO_REUSEPORT first: another service there must not share its port with us.
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((found[0], port))
            port = probe.getsockname()[1]
        for _ in range(count):
            opened.append(socket.socket(family))
            opened[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            opened[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            opened[-1].bind((found[0], port))
            opened[-1].listen(_BACKLOG)
    except OSError as error:
        for sock in opened:
            sock.close()
        if error.errno == errno.EADDRNOTAVAIL:
            raise _foreign(host) from error
        allowed = f"a free port ({error.strerror}); --port 0 takes any"
        raise BadQuantityError(field="--port", given=f"{host}:{port}", allowed=allowed) from error
    return opened


def _foreign(host: str) -> BadQuantityError:
    allowed = "an address or name of this machine"
    return BadQuantityError(field="--host", given=host, allowed=allowed)


def url_of(host: str, port: int) -> str:
    """Where a browser finds the service.

    >>> url_of("::1", 80)
    'http://[::1]:80'
    """
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Supervisor:
    """Starts the workers, starts dead ones anew, drains all on SIGTERM.

    Args:
        command: What starts one worker; `--worker PLACE` is added.
        host: Address to listen on.
        port: Port to listen on.
        count: Workers.
    """

    def __init__(self, command: Sequence[str], *, host: str, port: int, count: int) -> None:
        self._command = list(command)
        self._listening = listening_sockets(host, port, count)
        self._inner = [
            socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG) for _ in range(count)
        ]
        self._ports = tuple(sock.getsockname()[1] for sock in self._inner)
        self._alive, self._held = os.pipe()
        self._counters = Path(tempfile.mkdtemp(prefix="xuanka-metrics-"))
        self._workers: list[_Worker] = []
        self._is_ending = threading.Event()
        self.port = int(self._listening[0].getsockname()[1])
        self._short_lives = 0

    def run(self) -> int:
        """Until a signal ends it; exit status 1 when workers die again and again."""
        for which in (signal.SIGTERM, signal.SIGINT):
            signal.signal(which, self._end)
        try:
            for number in range(len(self._listening)):
                self._workers.append(self._start(number))
            while not self._is_ending.wait(_SPREAD_S):
                self._look_after()
            return 1 if self._short_lives >= _MOST_SHORT_LIVES else 0
        finally:
            self._drain()
            shutil.rmtree(self._counters, ignore_errors=True)

    def _end(self, number: int, frame: FrameType | None) -> None:
        self._is_ending.set()

    def _start(self, number: int) -> _Worker:
        listening, inner = self._listening[number].fileno(), self._inner[number].fileno()
        place = Place(number, listening, inner, self._alive, self._ports)
        process = subprocess.Popen(
            [*self._command, "--worker", place.written()],
            pass_fds=(listening, inner, self._alive),
            env={"MALLOC_ARENA_MAX": "2", **os.environ, METRICS_VARIABLE: str(self._counters)},
            start_new_session=True,  # Ctrl-C reaches the parent, which tells them
        )
        return _Worker(place, process)

    def _look_after(self) -> None:
        for at, worker in enumerate(self._workers):
            if worker.process.poll() is None:
                continue
            self._forget(worker)
            is_short = time.monotonic() - worker.started < _SHORT_LIFE_S
            self._short_lives = self._short_lives + 1 if is_short else 0
            log.error("worker %d ended with status %d", at, worker.process.returncode)
            if self._short_lives >= _MOST_SHORT_LIVES:
                log.error("workers end soon after their start, again and again: given up")
                self._is_ending.set()
                return
            self._workers[at] = self._start(worker.place.number)

    def _forget(self, worker: _Worker) -> None:
        """Its gauges go; its counters stay, so that totals do not fall."""
        from prometheus_client.multiprocess import mark_process_dead

        mark_process_dead(worker.process.pid, path=str(self._counters))  # type: ignore[no-untyped-call]  # prometheus_client's own

    def _drain(self) -> None:
        until = time.monotonic() + _DRAIN_S
        for sock in (*self._listening, *self._inner):
            sock.close()
        for worker in self._workers:
            worker.process.terminate()
        for worker in self._workers:
            try:
                worker.process.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.process.kill()
                worker.process.wait()
        os.close(self._alive)
        os.close(self._held)


def serve_command(arguments: Sequence[str]) -> list[str]:
    """What starts one worker with the same arguments as this process."""
    return [sys.executable, "-m", "ui", "serve", *arguments]
