"""The load test on loopback: `make load` writes build/load.json.

The service runs in a process of its own with the real advisor; this process holds the open
conversations and is part of the same machine's load.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from itertools import cycle
from pathlib import Path
from typing import Any

from ui.wording import examples

_FOLLOW_UPS = ("换成 QLoRA 呢?", "What about a sequence length of 4096?", "租哪种实例?")


async def converse(
    client: Any, name: str, *, until: float, reading_s: float, done: list[float], bad: list[str]
) -> None:
    """One reader: asks, reads, asks on, until the time is over."""
    questions = cycle([row[lang] for row in examples() for lang in ("zh", "en")])
    for _ in range(sum(name.encode()) % 17):
        next(questions)
    turn = 0
    while time.monotonic() < until:
        turn += 1
        is_new = turn % 4 == 1
        question = next(questions) if is_new else _FOLLOW_UPS[turn % len(_FOLLOW_UPS)]
        body = {"question": question, "thread": f"{name}-{(turn - 1) // 4}"}
        started = time.monotonic()
        try:
            reply = await client.post("/v1/ask", json=body)
            if reply.status_code == 200:
                done.append(time.monotonic() - started)
            else:
                bad.append(f"{reply.status_code}: {reply.text[:200]}")
        except Exception as error:  # counted, and shown in the report
            bad.append(repr(error)[:200])
        await asyncio.sleep(reading_s)


def rss_mib(pid: int) -> float:
    """Resident memory of a process and its children, MiB."""
    import psutil

    process = psutil.Process(pid)
    family = [process, *process.children(recursive=True)]
    return float(sum(p.memory_info().rss for p in family)) / 2**20


async def run(url: str, pid: int, *, conversations: int, seconds: float, reading_s: float) -> Any:
    """Figures of one phase."""
    import httpx

    done: list[float] = []
    bad: list[str] = []
    limits = httpx.Limits(max_connections=conversations)
    async with httpx.AsyncClient(base_url=url, timeout=30, limits=limits) as client:
        for warm in range(40):  # every path once, before memory is read
            await client.post("/v1/ask", json={"question": examples()[warm % 15]["zh"]})
        start_mib, started = rss_mib(pid), time.monotonic()
        until = started + seconds
        await asyncio.gather(*(
            converse(client, f"c{i}", until=until, reading_s=reading_s, done=done, bad=bad)
            for i in range(conversations)
        ))  # fmt: skip
        took = time.monotonic() - started
    done.sort()

    def at(share: float) -> float | None:
        return round(done[min(len(done) - 1, int(share * len(done)))] * 1000, 1) if done else None

    return {
        "conversations": conversations, "reading_s": reading_s, "answers": len(done),
        "answers_per_s": round(len(done) / took, 1), "p50_ms": at(0.5), "p99_ms": at(0.99),
        "errors": len(bad), "first_errors": bad[:3], "rss_start_mib": round(start_mib, 1),
        "rss_end_mib": round(rss_mib(pid), 1),
    }  # fmt: skip


def wait_ready(url: str) -> None:
    """Returns when the service is ready."""
    import httpx

    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            if httpx.get(f"{url}/readyz", timeout=2).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.3)
    raise SystemExit("the service did not become ready within 60 s")


def main() -> int:
    """Starts the service, runs both phases, writes the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--port", type=int, default=7879)
    parser.add_argument("--out", type=Path, default=Path("build/load.json"))
    args = parser.parse_args()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    state = args.out.parent / "load-state"
    environment = {**os.environ, "XUANKA_STATE_DIR": str(state)}
    command = [sys.executable, "-m", "ui", "serve", "--port", str(args.port),
               "--log-level", "error"]  # fmt: skip
    service = subprocess.Popen(command, env=environment)
    url = f"http://127.0.0.1:{args.port}"
    try:
        wait_ready(url)
        phases = {}
        for name, reading_s in (("reading", 1.0), ("no_reading", 0.0)):
            seconds = args.seconds if reading_s else args.seconds / 3
            phases[name] = asyncio.run(run(
                url, service.pid, conversations=args.conversations, seconds=seconds,
                reading_s=reading_s,
            ))  # fmt: skip
    finally:
        service.terminate()
        service.wait(30)
    report = {**phases["reading"], "without_reading": phases["no_reading"]}
    args.out.write_text(json.dumps(report, indent=2), encoding="utf-8")
    print(json.dumps(report, indent=2))
    return 1 if report["errors"] else 0


if __name__ == "__main__":
    sys.exit(main())
