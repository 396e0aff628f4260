"""Where a probe looks: the folders of the system and the programs on PATH.

Tests put a folder of their own in the place of `/`, and stub programs on PATH; nothing else of
the probe touches the outside.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

LIMIT_S = 2.0
"""Seconds that a tool gets before the next source is tried."""
_MAX_OUTPUT = 4_000_000


class Output(NamedTuple):
    """What a program gave."""

    text: str
    error: str
    """Empty when it exited with 0 in time."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The root of the file system and the platform."""

    root: Path = Path("/")
    platform: str = sys.platform

    def read(self, path: str, *, limit: int = 200_000) -> str:
        """Text of a system file, or empty when it is not there."""
        try:
            with (self.root / path.lstrip("/")).open("rb") as stream:
                return stream.read(limit).decode("utf-8", errors="replace")
        except OSError:
            return ""

    def exists(self, path: str) -> bool:
        """Whether a system file or folder is there."""
        try:
            return (self.root / path.lstrip("/")).exists()
        except OSError:
            return False

    def names(self, path: str) -> list[str]:
        """Names in a system folder, sorted; empty when it is not there."""
        try:
            return sorted(entry.name for entry in (self.root / path.lstrip("/")).iterdir())
        except OSError:
            return []

    def has_program(self, name: str) -> bool:
        """Whether a program is on PATH."""
        return shutil.which(name) is not None

    def run(self, *command: str, limit_s: float = LIMIT_S) -> Output:
        """Output of a program that gets `limit_s` seconds; never raises.

        The program runs in a process group of its own, which is ended when the time is over, so
        that children of a hanging tool do not stay behind.
        """
        program = shutil.which(command[0])
        if program is None:
            return Output("", "not installed")
        return run_limited([program, *command[1:]], limit_s=limit_s)


def run_limited(command: list[str], *, limit_s: float) -> Output:
    """Runs a command within a time limit; never raises."""
    env = {**os.environ, "LC_ALL": "C"}
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return Output("", f"did not start: {error}")
    try:
        out, err = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        _end(process)
        return Output("", f"gave no answer within {limit_s:g} s")
    text = out[:_MAX_OUTPUT].decode("utf-8", errors="replace")
    if process.returncode == 0:
        return Output(text, "")
    said = err.decode("utf-8", errors="replace").strip() or text.strip()
    if said.startswith("Traceback"):
        said = said.splitlines()[-1]
    return Output(text, f"exit {process.returncode}" + (f": {said[:300]}" if said else ""))


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (OSError, AttributeError):
        process.kill()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    try:
        process.wait(timeout=1)
    except subprocess.TimeoutExpired:
        return
