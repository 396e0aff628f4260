"""Reading documents in a process of its own, with a limit on time and memory.

A parser meets any bytes: a small PDF can keep one busy for hours or ask for all the memory there
is. So files are parsed in a worker (reader_process.py) that ends itself at the limit. It serves
one file after the other and is started anew only when it had to be given up.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

from knowledge.parsers import Block, UnreadableDocumentError, parse_document
from tools.errors import MissingExtraError

IN_PLACE = (".txt", ".text")
"""Kinds that need no parser and are read where they are."""
_GRACE_S = 5.0
"""After its limit the worker is ended from here, should it not have ended itself."""


class Limits(NamedTuple):
    """What one file may take."""

    seconds: float = 120.0
    """Of the clock; 5,000 pages of text take about a minute."""
    memory_bytes: int = 2 * 10**9
    """Address space of the worker; not enforced where the system has no such limit."""


class Reader:
    """Parses documents within limits; a context manager, so that no worker is left behind."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._worker: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def read(self, data: bytes, path: Path) -> list[Block]:
        """Blocks of a document's text.

        Args:
            data: The file's bytes.
            path: Its name; the ending decides how it is read.

        Raises:
            UnreadableDocumentError: If it cannot be parsed, or not within the limits.
            MissingExtraError: If the parser for its kind is not installed.
        """
        if path.suffix.lower() in IN_PLACE:
            return parse_document(data, path)
        reply = self._ask(data, path)
        if "blocks" in reply:
            return [Block(*block) for block in reply["blocks"]]
        if "extra" in reply:
            raise MissingExtraError(reply["what"], extra=reply["extra"])
        raise UnreadableDocumentError(path, reply["reason"])

    def close(self) -> None:
        """Ends the worker."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()
            worker.communicate()

    def _ask(self, data: bytes, path: Path) -> dict[str, Any]:
        worker = self._worker = self._worker or _start(self._limits)
        backstop = threading.Timer(self._limits.seconds + _GRACE_S, worker.kill)
        backstop.start()
        try:
            send(worker.stdin, {"path": str(path), "size": len(data)}, data)
            line = worker.stdout.readline() if worker.stdout else b""
        except BrokenPipeError:
            line = b""
        finally:
            backstop.cancel()
        if line:
            found: dict[str, Any] = json.loads(line)
            return found
        self.close()  # it ended itself, or was ended
        return {"reason": f"not read within {self._limits.seconds:g} s; split it or save it anew"}


def send(stream: IO[bytes] | None, head: dict[str, Any], body: bytes = b"") -> None:
    """Writes one message: a line of JSON, and bytes after it."""
    if stream is None:
        raise BrokenPipeError("no stream to write to")
    stream.write(json.dumps(head, ensure_ascii=False).encode() + b"\n" + body)
    stream.flush()


def _start(limits: Limits) -> subprocess.Popen[bytes]:
    here = str(Path(__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-m", "knowledge.reader_process"]
    return subprocess.Popen(
        [*command, str(limits.seconds), str(limits.memory_bytes)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
    )
