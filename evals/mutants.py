"""Judges the seeded faults: each in a process of its own, by the rows that must notice it."""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, cast

from evals.engine import run_suite
from evals.mutations import Mutant, Plan, mutants
from evals.sample import CaseResult, Row
from evals.subject import LocalSubject
from evals.suites import SUITES, Suite, get_suite
from evals.surgery import Surgery

_MOST_ROWS = 14
Outcome = dict[str, tuple[list[CaseResult], dict[str, float]]]
"""Suite -> (results, summary)."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one fault."""

    mutant: Mutant
    caught_by: tuple[str, ...]
    """`suite/row: scores` that failed only with the fault; empty when it survived."""
    broken: str
    """Why the fault could not be judged: it crashed the product instead of bending it."""
    seconds: float


def rows_of(suite: Suite, prefixes: Sequence[str]) -> list[Row]:
    """Rows whose id begins with one of the prefixes, at most some of each, evenly taken."""
    found: dict[str, Row] = {}
    rows = suite.rows()
    for prefix in prefixes:
        named = [r for r in rows if r["id"].startswith(prefix)]
        step = max(1, -(-len(named) // _MOST_ROWS))
        found |= {r["id"]: r for r in named[::step]}
    return list(found.values())


def outcome_of(plan: Plan) -> Outcome:
    """Runs a plan's rows here and now."""
    subject = LocalSubject("embedded")
    found: Outcome = {}
    for name, prefixes in plan.items():
        suite = get_suite(name)
        rows = rows_of(suite, prefixes)
        results = run_suite(suite, rows, subject)
        found[name] = (results, dict(suite.summarize(rows, results)))
    return found


def differences(plan: Plan, sound: Outcome, faulty: Outcome) -> Iterator[str]:
    """Rows that pass without the fault and fail with it; and held metrics that got worse.

    A metric counts only where the plan's rows are the same in both outcomes.
    """
    for name in plan:
        before = {r.id: r for r in sound[name][0]}
        for result in faulty[name][0]:
            if before[result.id].passed and not result.passed and not result.error:
                yield f"{name}/{result.id}: {_scores(result)}"
        if before.keys() == {r.id for r in faulty[name][0]}:
            yield from _metrics(get_suite(name), sound[name][1], faulty[name][1])


def _scores(result: CaseResult) -> str:
    return ", ".join(dict.fromkeys(s.name for s in result.scores if s.is_failure))


def _metrics(suite: Suite, before: Mapping[str, float], now: Mapping[str, float]) -> Iterator[str]:
    for metric, allowed in suite.held.items():
        if metric not in before or metric not in now:
            continue
        worse = before[metric] - now[metric]
        if suite.goals[metric][0] == "<=":
            worse = -worse
        if worse > max(allowed, 0.05):
            yield f"{suite.name} {metric}: {before[metric]:.3g} to {now[metric]:.3g}"


def judge(chosen: Sequence[Mutant], *, workers: int = 2) -> Iterator[Verdict]:
    """Every fault with what caught it, in the order in which they end.

    The sound product is judged first, by the same plans.
    """
    plans: list[tuple[Mutant | None, Plan]] = [(None, m.plan) for m in _distinct(chosen)]
    sound: dict[Any, Outcome] = {}
    for _, plan, outcome, _ in _in_processes(plans, workers):
        if isinstance(outcome, str):
            raise RuntimeError(f"the sound product failed on {dict(plan)}: {outcome}")
        sound[_key(plan)] = outcome
    for mutant, plan, outcome, seconds in _in_processes([(m, m.plan) for m in chosen], workers):
        assert mutant is not None
        if isinstance(outcome, str):
            yield Verdict(mutant, (), outcome, seconds)
            continue
        before = sound[_key(plan)]
        found = tuple(differences(plan, before, outcome))
        yield Verdict(mutant, found, _why_broken(before, outcome), seconds)


def _why_broken(sound: Outcome, faulty: Outcome) -> str:
    """A row that raises tells nothing of the scorers, nor does a plan that fails as it is."""
    errors = [r.error for results, _ in faulty.values() for r in results if r.error]
    if errors:
        return str(errors[0])
    passing = any(r.passed for results, _ in sound.values() for r in results)
    return "" if passing else "no row of its plan passes without it"


def _key(plan: Plan) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple(sorted(plan.items()))


def _distinct(chosen: Iterable[Mutant]) -> list[Mutant]:
    return list({_key(m.plan): m for m in chosen}.values())


def _in_processes(
    jobs: Sequence[tuple[Mutant | None, Plan]], workers: int
) -> Iterator[tuple[Mutant | None, Plan, Outcome | str, float]]:
    """Runs jobs in processes of their own, some at a time; a dead one is told as text."""
    _import_everything()
    context: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    waiting = list(jobs)[::-1]
    running: dict[Any, tuple[Mutant | None, Plan, Any, float]] = {}
    while waiting or running:
        while waiting and len(running) < workers:
            mutant, plan = waiting.pop()
            here, there = context.Pipe(duplex=False)
            name = mutant.id if mutant is not None else None
            process = context.Process(target=_child, args=(name, plan, there))
            process.start()
            there.close()
            running[here] = (mutant, plan, process, time.monotonic())
        for ready in wait(list(running)):
            mutant, plan, process, started = running.pop(ready)
            try:
                outcome = cast(Connection, ready).recv()
            except EOFError:
                outcome = "the process died"
            process.join()
            yield mutant, plan, outcome, time.monotonic() - started


def _import_everything() -> None:
    """Loads code but runs none of it: forked processes start warm and with empty caches."""
    import pydantic_evals  # noqa: F401

    import agent
    import knowledge

    for package in (agent, knowledge):
        for name in package.__all__:
            with suppress(ModuleNotFoundError):  # names that need an extra, such as psycopg
                getattr(package, name)


def _child(name: str | None, plan: Plan, connection: Connection) -> None:
    with tempfile.TemporaryDirectory() as folder, Surgery() as surgery:
        os.environ["XUANKA_STATE_DIR"] = folder
        try:
            for mutant in mutants():
                if mutant.id == name:
                    mutant.apply(surgery)
            connection.send(outcome_of(plan))
        except Exception as error:  # told to the parent, which decides what it means
            connection.send(f"{type(error).__name__}: {error}"[:300])
        connection.close()


def table(verdicts: Sequence[Verdict]) -> str:
    """The table of docs/mutants.md, in the order of the list."""
    order = {m.id: n for n, m in enumerate(mutants())}
    lines = ["| fault | what is wrong | caught by |", "|---|---|---|"]
    for verdict in sorted(verdicts, key=lambda v: order.get(v.mutant.id, 0)):
        shown = "; ".join(f"`{c}`" for c in verdict.caught_by[:3]) or "**survived**"
        shown = f"**not judged**: {verdict.broken}" if verdict.broken else shown
        more = len(verdict.caught_by) - 3
        shown += f" and {more} more" if more > 0 else ""
        lines.append(f"| {verdict.mutant.id} | {verdict.mutant.fault} | {shown} |")
    return "\n".join(lines)


def write(path: Path, verdicts: Sequence[Verdict]) -> None:
    """Writes the page."""
    caught = sum(bool(v.caught_by) and not v.broken for v in verdicts)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "# Seeded faults\n\n"
        f"{len(verdicts)} faults, {caught} caught. Written by `python -m evals mutants --write "
        "docs/mutants.md`: each fault is put into the product in a process of its own, and rows "
        "of the suites that pass without it must fail with it (`evals/mutations.py`).\n\n"
        f"Suites: {', '.join(SUITES)}.\n\n{table(verdicts)}\n",
        encoding="utf-8",
    )
