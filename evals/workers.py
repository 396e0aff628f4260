"""Runs a suite's rows in several processes, each with an advisor and a journal of its own."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from evals.engine import Budget, Journal, run_suite
from evals.judge import JudgeSettings
from evals.sample import CaseResult, Row
from evals.subject import LocalSubject
from evals.suites import get_suite

_PIECES_PER_WORKER = 4
_subjects: dict[str, LocalSubject] = {}


@dataclass(frozen=True, slots=True)
class Job:
    """Rows of one suite for one worker."""

    suite: str
    backend: str
    rows: tuple[Row, ...]
    repeat: int
    journal: Path | None
    budget: Budget = field(default_factory=Budget)
    judge: JudgeSettings | None = None


def work(job: Job) -> list[CaseResult]:
    """Runs one job; the process keeps its advisor for the next one."""
    subject = _subjects.setdefault(job.backend, LocalSubject(job.backend))
    journal = Journal(job.journal)
    results = run_suite(
        get_suite(job.suite),
        job.rows,
        subject,
        journal=journal,
        budget=job.budget,
        repeat=job.repeat,
        judge=job.judge,
    )
    return results


@contextmanager
def pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Fresh processes (no fork: the parent has threads)."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as processes:
        yield processes


def pieces(rows: Sequence[Row], workers: int) -> list[list[Row]]:
    """Rows dealt out in turn, so that slow neighbours are shared; the same cut for every run.

    >>> pieces([{"id": "a"}, {"id": "b"}, {"id": "c"}], 1)
    [[{'id': 'a'}], [{'id': 'b'}], [{'id': 'c'}]]
    """
    count = min(len(rows), workers * _PIECES_PER_WORKER)
    return [list(rows[start::count]) for start in range(count)]


def run_in(
    processes: ProcessPoolExecutor, jobs: Sequence[Job], order: Sequence[Row]
) -> list[CaseResult]:
    """Results of all jobs in the order of the rows; a progress bar shows finished cases."""
    from rich.progress import Progress

    found: dict[str, list[CaseResult]] = {}
    with Progress(transient=True) as progress:
        bar = progress.add_task(jobs[0].suite if jobs else "", total=len(order))
        pending: set[Future[list[CaseResult]]] = {processes.submit(work, job) for job in jobs}
        while pending:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                results = future.result()
                for result in results:
                    found.setdefault(result.id, []).append(result)
                progress.advance(bar, len({r.id for r in results}))
    return [result for row in order for result in found[row["id"]]]
