"""The long suites, one after the other: `make test-full`, or `python -m tests.full --only fuzz`.

Each part is a make target with a time of its own. A part that fails, hangs or lacks a package
does not keep the others from running; the summary at the end names each, and the exit status is
1 when one of them did not pass.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from tests.helpers import ROOT

Status = Literal["passed", "failed", "timed out", "not run"]
REPORT = ROOT / "build" / "test-full.json"
LOAD_REPORT = ROOT / "build" / "load.json"
BUDGET_S = 45 * 60
"""Of all parts together; what is left of it bounds each part."""
VENV = os.environ.get("VENV", ".venv")


class Part(NamedTuple):
    """One long suite."""

    name: str
    command: tuple[str, ...]
    limit_s: int
    what: str
    ready: tuple[str, ...] = ()
    """Command that installs what the part needs beyond the development set-up."""
    needs: str = ""
    """Debian packages, said when `ready` fails."""
    goals: Callable[[], list[str]] | None = None
    """What is looked at after the command has passed: each string is a goal that is not met."""
    optional: bool = False
    """Left out, with a word, where the make target does not exist."""


class Outcome(NamedTuple):
    """What became of a part."""

    name: str
    status: Status
    seconds: float
    why: str = ""


def load_goals(report: Path = LOAD_REPORT) -> list[str]:
    """Goals of the load test (64 conversations, a second of reading) that the report misses."""
    found = json.loads(report.read_text(encoding="utf-8"))
    missed = []
    if found["answers_per_s"] < 30:
        missed.append(f"{found['answers_per_s']} answers/s; at least 30 are the goal")
    if found["p99_ms"] is None or found["p99_ms"] > 1500:
        missed.append(f"p99 {found['p99_ms']} ms; 1500 at most is the goal")
    if found["errors"]:
        missed.append(f"{found['errors']} errors, such as {found['first_errors'][:1]}")
    return missed


PARTS = (
    Part("slow", ("make", "test-slow"), 1200, "10,000 documents, every labelled query"),
    Part("fuzz", ("make", "fuzz"), 900, "50,000 mutated questions"),
    Part(
        "fuzz-http",
        ("make", "fuzz-http", "BODIES=30000"),
        600,
        "30,000 almost right bodies, and schemathesis",
        optional=True,
    ),
    Part(
        "chaos",
        ("make", "test-chaos"),
        900,
        "kill -9 of bots, replicas and 50 ingests",
        ready=("make", f"{VENV}/.postgres"),
        needs="postgresql",
    ),
    Part(
        "browser",
        ("make", "test-browser"),
        600,
        "the page in chromium",
        ready=("make", "build/browser/.ready"),
        needs="chromium fonts-noto-cjk npm",
    ),
    Part("mutants", ("make", "mutants-check"), 600, "seeded faults, each caught"),
    Part("load", ("make", "load"), 240, "64 conversations", goals=load_goals),
)


def call(command: Sequence[str], limit_s: float) -> int | None:
    """Exit status of a command; None where it ran out of time and was ended with its children."""
    process = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
    try:
        return process.wait(limit_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def has_target(command: Sequence[str]) -> bool:
    """Whether make knows the target of a command."""
    asked = [command[0], "-n", *command[1:]]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, check=False)
    return done.returncode == 0


def run_part(part: Part, *, left_s: float = BUDGET_S) -> Outcome:
    """Runs one part to its end or to its limit, or to the end of what is left for all."""
    started = time.monotonic()

    def outcome(status: Status, why: str = "") -> Outcome:
        return Outcome(part.name, status, round(time.monotonic() - started, 1), why)

    if part.optional and not has_target(part.command):
        return outcome("not run", "no such make target here")
    if left_s < 1:
        return outcome("timed out", f"not started: {BUDGET_S // 60} minutes for all were spent")
    limit_s = min(part.limit_s, left_s)
    if part.ready and call(part.ready, limit_s) != 0:
        return outcome("failed", f"could not be set up; it needs: apt-get install {part.needs}")
    status = call(part.command, limit_s)
    if status is None:
        return outcome("timed out", f"longer than {limit_s:.0f} s")
    if status:
        return outcome("failed", f"exit status {status}")
    missed = part.goals() if part.goals else []
    return outcome("failed" if missed else "passed", "; ".join(missed))


def summary(outcomes: Sequence[Outcome]) -> list[str]:
    """The table printed at the end."""
    lines = [f"{o.status:<10}{o.seconds:>7.0f} s  {o.name:<12}{o.why}".rstrip() for o in outcomes]
    total = sum(o.seconds for o in outcomes)
    return [*lines, f"{'in all':<10}{total:>7.0f} s"]


def chosen(known: Sequence[Part], only: Sequence[str], skip: Sequence[str]) -> list[Part]:
    """Parts to run.

    Raises:
        SystemExit: If a name is no part's.
    """
    names = [p.name for p in known]
    if odd := [name for name in (*only, *skip) if name not in names]:
        raise SystemExit(f"no part called {', '.join(odd)}; the parts are {', '.join(names)}.")
    return [p for p in known if (not only or p.name in only) and p.name not in skip]


def main(
    argv: Sequence[str] | None = None, *, known: Sequence[Part] = PARTS, report: Path = REPORT
) -> int:
    """Runs the chosen parts; 1 when one of them did not pass."""
    parser = argparse.ArgumentParser(prog="python -m tests.full", description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], metavar="PART")
    parser.add_argument("--skip", nargs="*", default=[], metavar="PART")
    parser.add_argument("--seconds", type=float, default=BUDGET_S, help="for all parts together")
    parser.add_argument("--list", action="store_true", help="name the parts and leave")
    args = parser.parse_args(argv)
    parts = chosen(known, args.only, args.skip)
    if args.list:
        print("\n".join(f"{p.name:<12}{p.what} (at most {p.limit_s} s)" for p in parts))
        return 0
    outcomes = []
    end = time.monotonic() + args.seconds
    for part in parts:
        print(f"\n-- {part.name}: {part.what}", flush=True)
        outcomes.append(run_part(part, left_s=end - time.monotonic()))
        print(f"-- {part.name}: {outcomes[-1].status} in {outcomes[-1].seconds} s", flush=True)
    report.parent.mkdir(exist_ok=True)
    report.write_text(json.dumps([o._asdict() for o in outcomes], indent=2), encoding="utf-8")
    print("\n" + "\n".join(summary(outcomes)), flush=True)
    return int(any(o.status in ("failed", "timed out") for o in outcomes))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # ends the running part as well
    sys.exit(main())
