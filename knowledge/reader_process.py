"""The worker of reading.py: parses files from standard input until it is closed.

It limits itself: the clock's alarm ends it whatever a parser is doing, and an allocation beyond
the limit fails. So it also ends when the process that started it was killed.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import IO, Any

from knowledge.parsers import UnreadableDocumentError, parse_document
from knowledge.reading import send
from tools.errors import MissingExtraError


def _limit_memory(most_bytes: int) -> None:
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY or most_bytes < hard:
        resource.setrlimit(resource.RLIMIT_AS, (most_bytes, hard))


def _set_alarm(seconds: float) -> None:
    """Ends the process after so many seconds; 0 calls that off."""
    import signal

    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _parsed(data: bytes, path: Path) -> dict[str, Any]:
    try:
        return {"blocks": parse_document(data, path)}
    except UnreadableDocumentError as error:
        return {"reason": error.reason}
    except MissingExtraError as error:
        return {"what": error.what, "extra": error.extra}


def serve(asked: IO[bytes], answers: IO[bytes], *, seconds: float) -> None:
    """Answers file after file until the input ends."""
    while line := asked.readline():
        head = json.loads(line)
        data = asked.read(head["size"])
        _set_alarm(seconds)
        reply = _parsed(data, Path(head["path"]))
        _set_alarm(0)
        send(answers, reply)


def main(seconds: float, memory_bytes: int) -> None:
    """Takes the limits and serves; what parsers print goes nowhere."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    _limit_memory(memory_bytes)
    serve(sys.stdin.buffer, answers, seconds=seconds)


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
