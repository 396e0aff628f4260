"""The load test on loopback: `make load` writes build/load.json.

The service runs in processes of its own with the real advisor; this process holds the open
conversations and is part of the same machine's load, so it speaks HTTP over bare sockets.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

from ui.wording import examples

_FOLLOW_UPS = ("换成 QLoRA 呢?", "What about a sequence length of 4096?", "租哪种实例?")
_TURNS = 4
"""Questions of one conversation; then the reader begins another."""
_REPLY_S = 60.0
_WARM_UP = 120
"""Questions asked before anything is measured (count): every path once in every worker."""
_FULL = 1000
"""The same before growth over many answers is measured: caches have filled by then."""


class Connection:
    """One keep-alive connection that posts JSON and reads replies with a known length."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def post(self, path: str, body: dict[str, Any]) -> tuple[int, bytes]:
        """Status and body of the reply.

        Raises:
            OSError, asyncio.IncompleteReadError, TimeoutError: If there was no whole reply.
        """
        async with asyncio.timeout(_REPLY_S):
            if self._writer is None:
                self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
            assert self._reader is not None
            data = json.dumps(body).encode()
            head = (
                f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(data)}\r\n\r\n"
            )
            self._writer.write(head.encode() + data)
            status, *fields = (await self._reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
            length = next(f for f in fields if f.lower().startswith(b"content-length:"))
            reply = await self._reader.readexactly(int(length.split(b":")[1]))
            return int(status.split()[1]), reply

    def close(self) -> None:
        """Ends the connection; the next post opens another."""
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None


@dataclass
class Tally:
    """What the readers saw."""

    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def at(self, share: float) -> float | None:
        """The quantile of the answers' times, ms; None without answers."""
        ordered = sorted(self.seconds)
        if not ordered:
            return None
        return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000, 1)


def dialogue(name: str) -> Iterator[dict[str, Any]]:
    """The questions of one reader without end: conversations of a question and follow-ups."""
    questions = cycle([row[lang] for row in examples() for lang in ("zh", "en")])
    for _ in range(sum(name.encode()) % 17):
        next(questions)
    turn = 0
    while True:
        is_new = turn % _TURNS == 0
        question = next(questions) if is_new else _FOLLOW_UPS[turn % len(_FOLLOW_UPS)]
        yield {"question": question, "thread": f"{name}-{turn // _TURNS}"}
        turn += 1


async def converse(
    port: int, name: str, *, is_over: Callable[[], bool], reading_s: float, tally: Tally
) -> None:
    """One reader: asks, reads, asks on, until it is over."""
    connection = Connection(port)
    for body in dialogue(name):
        if is_over():
            break
        started = time.monotonic()
        try:
            status, reply = await connection.post("/v1/ask", body)
        except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
            connection.close()
            tally.errors.append(repr(error)[:200])
        else:
            if status == 200:
                tally.seconds.append(time.monotonic() - started)
            else:
                tally.errors.append(f"{status}: {reply[:200].decode(errors='replace')}")
        await asyncio.sleep(reading_s)
    connection.close()


@dataclass(frozen=True, slots=True)
class Spent:
    """What the service's processes hold and have used."""

    rss_mib: float
    cpu_s: float

    @classmethod
    def by(cls, pid: int) -> Spent:
        """Of a process and its children: resident memory in MiB, user and system time in s."""
        import psutil

        process = psutil.Process(pid)
        family = [process, *process.children(recursive=True)]
        times = [p.cpu_times() for p in family]
        return cls(
            rss_mib=sum(p.memory_info().rss for p in family) / 2**20,
            cpu_s=sum(t.user + t.system for t in times),
        )


async def phase(
    port: int, pid: int, name: str, *, conversations: int, is_over: Callable[[Tally], bool],
    reading_s: float,
) -> dict[str, Any]:  # fmt: skip
    """Figures of one phase; all its conversations are new."""
    tally = Tally()
    before, started, own = Spent.by(pid), time.monotonic(), time.process_time()
    await asyncio.gather(*(
        converse(port, f"{name}{i}", is_over=lambda: is_over(tally), reading_s=reading_s,
                 tally=tally)
        for i in range(conversations)
    ))  # fmt: skip
    took, after, own = time.monotonic() - started, Spent.by(pid), time.process_time() - own
    answers = len(tally.seconds)
    each_ms = 1000 / max(1, answers)
    return {
        "conversations": conversations, "reading_s": reading_s, "answers": answers,
        "answers_per_s": round(answers / took, 1), "p50_ms": tally.at(0.5),
        "p99_ms": tally.at(0.99), "errors": len(tally.errors), "first_errors": tally.errors[:3],
        "rss_start_mib": round(before.rss_mib, 1), "rss_end_mib": round(after.rss_mib, 1),
        "rss_growth_percent": round(100 * (after.rss_mib / before.rss_mib - 1), 2),
        "cpu_ms_per_answer": round((after.cpu_s - before.cpu_s) * each_ms, 1),
        "generator_ms_per_answer": round(own * each_ms, 2),
    }  # fmt: skip


async def phases(port: int, pid: int, args: argparse.Namespace) -> dict[str, Any]:
    """Warm-up, then with a second of reading and without; or one phase of so many answers."""

    def until(seconds: float) -> Callable[[Tally], bool]:
        end = time.monotonic() + seconds
        return lambda _: time.monotonic() >= end

    async def run(name: str, is_over: Callable[[Tally], bool], reading_s: float) -> dict[str, Any]:
        return await phase(port, pid, name, conversations=args.conversations, is_over=is_over,
                           reading_s=reading_s)  # fmt: skip

    first = _FULL if args.answers else _WARM_UP
    await run("warm", lambda tally: len(tally.seconds) + len(tally.errors) >= first, 0.0)
    if args.answers:
        return await run("many", lambda tally: len(tally.seconds) >= args.answers, 0.0)
    reading = await run("reading", until(args.seconds), 1.0)
    return {**reading, "without_reading": await run("fast", until(args.seconds / 3), 0.0)}


async def wait_ready(port: int, *, limit_s: float = 90.0) -> None:
    """Returns when the service answers.

    Raises:
        SystemExit: If it does not within the limit.
    """
    until = time.monotonic() + limit_s
    while time.monotonic() < until:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            reply = await reader.read()
            writer.close()
            if b" 200 " in reply.split(b"\r\n", 1)[0]:
                return
        except OSError:
            pass
        await asyncio.sleep(0.3)
    raise SystemExit(f"The service did not become ready within {limit_s:g} s.")


def measured(args: argparse.Namespace) -> dict[str, Any]:
    """Starts the service with a state of its own, runs the phases, ends it."""
    state = args.out.parent / "load-state"
    shutil.rmtree(state, ignore_errors=True)
    environment = {**os.environ, "XUANKA_STATE_DIR": str(state)}
    command = [sys.executable, "-m", "ui", "serve", "--port", str(args.port), "--workers",
               str(args.workers), "--log-level", "error"]  # fmt: skip
    service = subprocess.Popen(command, env=environment)

    async def work() -> dict[str, Any]:
        await wait_ready(args.port)
        return await phases(args.port, service.pid, args)

    try:
        report = asyncio.run(work())
        kept = sum(path.stat().st_size for path in state.glob("conversations.sqlite*"))
        return {**report, "conversations_mb": round(kept / 1e6, 1)}
    finally:
        service.terminate()
        service.wait(60)


def main() -> int:
    """Measures and writes the report; exit 1 when a question was not answered."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, default=64)
    parser.add_argument("--workers", type=int, default=2, help="processes of the service")
    parser.add_argument("--seconds", type=float, default=60, help="length of the phase")
    parser.add_argument("--answers", type=int, default=0,
                        help="instead of a time: one phase of so many answers")  # fmt: skip
    parser.add_argument("--port", type=int, default=7879)
    parser.add_argument("--out", type=Path, default=Path("build/load.json"))
    args = parser.parse_args()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    report = {"workers": args.workers, **measured(args)}
    args.out.write_text(json.dumps(report, indent=2), encoding="utf-8")
    print(json.dumps(report, indent=2))
    return 1 if report["errors"] or report.get("without_reading", {}).get("errors") else 0


if __name__ == "__main__":
    sys.exit(main())
