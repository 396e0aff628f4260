"""What the commands of `python -m evals` do."""

from __future__ import annotations

import argparse
import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from rich.console import Console
from rich.table import Table

from evals.compare import compare, failures, text_of
from evals.engine import Budget, Journal, run_suite
from evals.judge import SUITES_WITH_TEXT, JudgeSettings, differing
from evals.report import render
from evals.sample import CaseResult, Row, check_rows, content_hash, read_rows, shipped
from evals.store import (
    Run,
    SuiteRun,
    baseline_path,
    environment,
    history,
    read_baseline,
    read_run,
    regressions,
    remember,
    suite_run,
    worse_metrics,
    write_baseline,
    write_run,
)
from evals.subject import LocalSubject
from evals.suites import SUITES, Suite, get_suite
from evals.workers import Job, pieces, pool, run_in
from tools.errors import UserInputError

_console = Console(soft_wrap=True)


def run(args: argparse.Namespace) -> int:
    """Runs suites, prints their summary, compares with the baseline."""
    names = list(SUITES) if args.suites == ["all"] else args.suites
    suites = [get_suite(name) for name in names]
    if args.cases is not None and len(suites) > 1:
        raise UserInputError(
            "--cases goes with one suite. Name the suite that the file belongs to."
        )
    done = Run(**environment(), backend=args.backend)
    status = 0
    with _runner(args) as run_rows:
        for suite in suites:
            finished = _run_one(suite, args, run_rows, done.revision)
            done = replace(done, suites=(*done.suites, finished))
            status = max(status, _judge_run(suite, finished, args))
    if args.cases is None and not args.filter:
        remember(_state() / "history.jsonl", done)
    if args.json is not None:
        write_run(args.json, done)
    if args.junit is not None:
        args.junit.parent.mkdir(parents=True, exist_ok=True)
        args.junit.write_text(_junit(done.suites), encoding="utf-8")
    return status


RunRows = Callable[[Suite, Sequence[Row], str], list[CaseResult]]
"""(suite, rows, name of the run) -> results."""


@contextmanager
def _runner(args: argparse.Namespace) -> Iterator[RunRows]:
    """Runs rows here, or dealt out to worker processes."""
    budget = Budget(seconds=args.seconds, cost=args.cost)
    judge = _judge_of(args)
    if args.workers <= 1:
        subject = LocalSubject(args.backend)

        def here(suite: Suite, rows: Sequence[Row], key: str) -> list[CaseResult]:
            journal = Journal(_journal_path(key))
            results = run_suite(
                suite,
                rows,
                subject,
                journal=journal,
                budget=budget,
                repeat=args.repeat,
                concurrency=args.concurrency,
                show_progress=not args.quiet,
                judge=judge,
            )
            if not any(r.error for r in results):
                journal.remove()
            return results

        yield here
        return
    with pool(args.workers) as processes:

        def dealt_out(suite: Suite, rows: Sequence[Row], key: str) -> list[CaseResult]:
            share = Budget(
                budget.seconds, None if budget.cost is None else budget.cost / args.workers
            )
            jobs = [
                Job(suite.name, args.backend, tuple(piece), args.repeat,
                    _journal_path(f"{key}|{number}/{args.workers}"), share, judge)
                for number, piece in enumerate(pieces(rows, args.workers))
            ]  # fmt: skip
            results = run_in(processes, jobs, rows)
            if not any(r.error for r in results):
                for job in jobs:
                    Journal(job.journal).remove()
            return results

        yield dealt_out


def _judge_of(args: argparse.Namespace) -> JudgeSettings | None:
    if not args.judge:
        return None
    wanted = list(SUITES) if args.suites == ["all"] else args.suites
    if silent := [name for name in wanted if name not in SUITES_WITH_TEXT]:
        raise UserInputError(
            f"--judge reads answers in words; {', '.join(silent)} has none. "
            f"It goes with {' and '.join(SUITES_WITH_TEXT)}."
        )
    return JudgeSettings.of(args.judge, args.judge_url)


def _run_one(suite: Suite, args: argparse.Namespace, run_rows: RunRows, revision: str) -> SuiteRun:
    rows = read_rows(args.cases) if args.cases is not None else suite.rows()
    check_rows(suite.name, rows)
    if args.filter:
        wanted = args.filter.casefold()
        rows = [r for r in rows if wanted in f"{r['id']} {suite.tags(r)}".casefold()]
        if not rows:
            raise UserInputError(f"No case of {suite.name} matches --filter {args.filter!r}.")
    key = f"{suite.name}|{content_hash(rows)}|{revision}|{args.backend}|{args.repeat}"
    return suite_run(suite, rows, run_rows(suite, rows, key))


def _journal_path(key: str) -> Path | None:
    """Where an unfinished run is kept; a dirty tree is never resumed, for its code may differ."""
    if "dirty" in key or "unknown" in key:
        return None
    return _state() / f"{hashlib.sha256(key.encode()).hexdigest()[:20]}.jsonl"


def _state() -> Path:
    """Where journals of unfinished runs and the history of summaries are kept."""
    return Path(os.environ.get("XUANKA_STATE_DIR", ".xuanka")) / "evals"


def _judge_run(suite: Suite, finished: SuiteRun, args: argparse.Namespace) -> int:
    _print_summary(suite, finished)
    if not args.quiet:
        _print_failures(finished.results)
        for result, why in differing(finished.results):
            by_rules = "passes" if result.passed else "fails"
            _console.print(f"judge differs: {result.id} {by_rules} by the rules; {why}",
                           markup=False, highlight=False)  # fmt: skip
    path = args.baseline or baseline_path(suite.name)
    if left := sum(r.not_run for r in finished.results):
        _console.print(
            f"budget spent: {left} of {len(finished.results)} cases of {suite.name} not run; "
            "figures are of the others, and the same command goes on from here",
            highlight=False,
        )
    if args.write_baseline:
        if left:
            raise UserInputError(f"No baseline is made of a part of {suite.name}.")
        write_baseline(path, finished)
        _console.print(f"baseline written: {path.name}")
        return 0
    if args.cases is not None and args.baseline is None:
        return int(left > 0)
    baseline = read_baseline(path)
    if baseline is None:
        if args.baseline is not None:
            raise UserInputError(f"No such baseline: {path}.")
        return 0
    worse = [*regressions(baseline, finished), *worse_metrics(suite, baseline, finished)]
    for case in worse:
        _console.print(f"[red]regressed[/red] {suite.name} {case}", highlight=False)
    return 1 if worse or left else 0


def _print_summary(suite: Suite, finished: SuiteRun) -> None:
    table = Table(title=f"{suite.name}: {suite.title}", title_justify="left")
    for column in ("metric", "value", "goal"):
        table.add_column(column)
    for name, value in finished.summary.items():
        side, threshold = suite.goals.get(name, ("", 0.0))
        table.add_row(name, f"{value:.4g}", f"{side} {threshold:g}" if side else "")
    _console.print(table)
    for goal in finished.unmet:
        _console.print(f"not reached: {goal}", highlight=False)


def _print_failures(results: Sequence[CaseResult], most: int = 60) -> None:
    failed = [r for r in results if not r.passed and not r.not_run]
    for result in failed[:most]:
        _console.print(
            f"- {result.id}: {'; '.join(failures(result))}", markup=False, highlight=False
        )
    if len(failed) > most:
        _console.print(f"(+{len(failed) - most} more failures)")


def compare_runs(args: argparse.Namespace) -> int:
    """Prints what changed between two runs; exit 1 when something got worse."""
    changes = compare(read_run(args.before), read_run(args.after))
    for change in changes:
        _console.print(
            f"{change.kind:6} {change.suite} {change.id}: {'; '.join(change.reasons)}",
            markup=False,
            highlight=False,
        )
        if args.full:
            table = Table("before", "after", show_lines=True)
            table.add_row(text_of(change.before), text_of(change.after))
            _console.print(table)
    if not changes:
        _console.print("no difference")
    return 1 if any(c.kind == "worse" for c in changes) else 0


def report(args: argparse.Namespace) -> int:
    """Writes the HTML page of a run."""
    run = read_run(args.run)
    given = [read_run(path) for path in args.history]
    page = render(run, given or history(_state() / "history.jsonl", before=run))
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(page, encoding="utf-8")
    _console.print(f"written: {args.out}")
    return 0


def bench(args: argparse.Namespace) -> int:
    """Measures this machine and writes the figures."""
    from evals.bench import measure, write

    found = measure(questions=get_suite("questions").rows(), queries=get_suite("retrieval").rows())
    write(args.out, found)
    table = Table("figure", "passed", "CPU")
    for name, taken in found.figures.items():
        table.add_row(name, f"{taken.passed:.4g}", f"{taken.cpu:.4g}")
    _console.print(table)
    _console.print(f"{found.where}; written: {args.out}", highlight=False)
    return 0


def mutants(args: argparse.Namespace) -> int:
    """Judges the seeded faults; exit 1 when one survives."""
    from evals import mutants as faults
    from evals.mutations import mutants as all_mutants

    chosen = [m for m in all_mutants() if args.filter in m.id]
    if not chosen:
        raise UserInputError(f"No seeded fault matches --filter {args.filter!r}.")
    found = []
    for verdict in faults.judge(chosen, workers=args.workers):
        found.append(verdict)
        mark = "caught  " if verdict.caught_by else "SURVIVED"
        said = "; ".join(verdict.caught_by[:2])
        if verdict.broken:
            mark, said = "BROKEN  ", verdict.broken
        more = len(verdict.caught_by) - 2
        _console.print(
            f"{mark} {verdict.mutant.id}: {said}" + (f" (+{more})" if more > 0 else ""),
            markup=False,
            highlight=False,
        )
    survived = [v.mutant.id for v in found if v.broken or not v.caught_by]
    _console.print(f"{len(found) - len(survived)} of {len(found)} caught", highlight=False)
    if args.write is not None and not args.filter:
        faults.write(args.write, found)
    return 1 if survived else 0


def _typed(prompt: str) -> str:
    try:
        return input(prompt)
    except EOFError:
        raise UserInputError("Nothing more was typed, so nothing was added.") from None


def add(args: argparse.Namespace) -> int:
    """Makes a row of a conversation or a report and adds it to a file of cases."""
    from evals.adding import append, row_from, turns_from

    path = args.to or shipped("questions").with_name("added.jsonl")
    row = row_from(turns_from(args.source), _typed, tries=3)
    append(path, row)
    _console.print(f"{row['id']} added to {path}", highlight=False)
    return 0


def readme(args: argparse.Namespace) -> int:
    """Fills README's table and example answer, or says whether the table is stale."""
    from evals.readme import is_stale, write

    if args.check:
        stale = is_stale(args.page)
        _console.print("stale: run python -m evals readme" if stale else "up to date")
        return 1 if stale else 0
    write(args.page)
    _console.print(f"written: {args.page}", highlight=False)
    return 0


def _junit(suites: Sequence[SuiteRun]) -> str:
    lines = ['<?xml version="1.0" encoding="utf-8"?>', "<testsuites>"]
    for suite in suites:
        skipped = sum(r.not_run for r in suite.results)
        failed = sum(not r.passed for r in suite.results) - skipped
        lines.append(
            f'<testsuite name="{suite.suite}" tests="{len(suite.results)}" failures="{failed}" '
            f'skipped="{skipped}">'
        )
        turn = Counter[str]()
        for result in suite.results:
            turn[result.id] += 1
            lines.append(_junit_case(suite.suite, result, turn[result.id]))
        lines.append("</testsuite>")
    return "\n".join([*lines, "</testsuites>", ""])


def _junit_case(suite: str, result: CaseResult, turn: int) -> str:
    attributes: dict[str, Any] = {
        "classname": f"evals.{suite}",
        "name": result.id if turn == 1 else f"{result.id}#{turn}",
        "time": f"{result.elapsed_ms / 1000:.3f}",
    }
    head = " ".join(f"{k}={quoteattr(str(v))}" for k, v in attributes.items())
    if result.passed:
        return f"<testcase {head}/>"
    why = "; ".join(failures(result))
    if result.not_run:
        return f"<testcase {head}><skipped message={quoteattr(why)}/></testcase>"
    return f"<testcase {head}><failure message={quoteattr(why)}>{escape(why)}</failure></testcase>"
