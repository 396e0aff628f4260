"""A Postgres of the tests' own, from Debian's package, that can be stopped and started again."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.ui.bot.platforms import until


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class PostgresServer:
    """One server with a fresh data folder; skips where no Postgres is installed."""

    def __init__(self) -> None:
        pytest.importorskip("psycopg")
        homes = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        found = homes[-1] if homes else shutil.which("initdb")
        if found is None:
            pytest.skip("Postgres is not installed (Debian: apt-get install postgresql)")
        self._home, self._port = Path(found).parent, free_port()
        self._user: dict[str, Any] = {}
        self._folder = Path(tempfile.mkdtemp(prefix="xuanka-pg-"))
        if os.getuid() == 0:  # Postgres refuses to run as root
            name = next((p.pw_name for p in pwd.getpwall() if p.pw_name == "postgres"), "nobody")
            shutil.chown(self._folder, name)
            self._user = {"user": name}
        options = ["-N", "-A", "trust", "-U", "xuanka", "-D", str(self._data)]
        command = [str(self._home / "initdb"), *options]
        subprocess.run(
            command, check=True, stdout=subprocess.DEVNULL, cwd=self._folder, **self._user
        )
        self.url = f"postgresql://xuanka@127.0.0.1:{self._port}/postgres"
        self.start()

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    def start(self) -> None:
        """Starts it on its port and waits until it answers."""
        options = ["-F", "-p", str(self._port), "-h", "127.0.0.1", "-k", str(self._folder)]
        self._server = subprocess.Popen(
            [self._home / "postgres", "-D", self._data, *options],
            cwd=self._folder, stderr=subprocess.DEVNULL, **self._user,
        )  # fmt: skip
        until(self._is_up, limit_s=60)

    def stop(self) -> None:
        """Ends it and every connection."""
        self._server.send_signal(signal.SIGINT)
        self._server.wait(30)

    def hang(self) -> None:
        """Stops its processes as they are: connections are accepted and nothing is said."""
        for process in self._processes():
            process.suspend()

    def go_on(self) -> None:
        """Lets them go on."""
        for process in self._processes():
            process.resume()

    def _processes(self) -> list[psutil.Process]:
        server = psutil.Process(self._server.pid)
        return [server, *server.children(recursive=True)]

    def remove(self) -> None:
        """Ends it for good."""
        if self._server.poll() is None:
            self.stop()
        shutil.rmtree(self._folder)

    def _is_up(self) -> bool:
        import psycopg

        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True
