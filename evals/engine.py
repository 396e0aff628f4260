"""Runs the cases of a suite: with judge.py the one place that knows pydantic-evals (docs/adr/090).

Finished cases are written to a journal as they come, so that a killed run resumes.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.judge import JudgeSettings, opinions
from evals.sample import CaseResult, Row, Score
from evals.suites import Subject, Suite

_NOT_STARTED = "budget spent before this case"
_AFTER_THE_RULES = 900
"""Number of a judge's first score; a conversation of the rules has some 200."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Where a run stops starting new cases."""

    seconds: float | None = None
    cost: float | None = None
    """Of the endpoint's replies, in the currency of its prices; counted where prices are set."""


class Journal:
    """Outputs of finished cases, one JSON line each, under a name that stands for the run."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self.done: dict[str, Mapping[str, Any]] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    entry = json.loads(line)
                except json.JSONDecodeError:
                    continue  # the line that was being written when the run was killed
                self.done[entry["key"]] = entry

    def add(self, key: str, output: Any, elapsed_ms: float) -> None:
        """Keeps one finished case."""
        entry = {"key": key, "output": output, "elapsed_ms": elapsed_ms}
        with self._lock:
            self.done[key] = entry
            if self._path is not None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(entry, ensure_ascii=False, default=str) + "\n")

    def remove(self) -> None:
        """Forgets the journal once the run is complete."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)


class _OutOfBudget(Exception):
    """The run's time or money is spent; the case was not started."""


def cost_of(output: Any) -> float:
    """What the endpoint's replies in an output cost; 0 where no prices are set."""
    turns = output if isinstance(output, list) else [output]
    usages = (turn.get("usage") for turn in turns if isinstance(turn, dict))
    return sum(float(u["cost"] or 0) for u in usages if u)


def run_suite(
    suite: Suite,
    rows: Sequence[Row],
    subject: Subject,
    *,
    journal: Journal | None = None,
    budget: Budget | None = None,
    repeat: int = 1,
    concurrency: int = 1,
    show_progress: bool = False,
    judge: JudgeSettings | None = None,
) -> list[CaseResult]:
    """Results of every row, in the rows' order (`repeat` times each, as id#2, id#3, ...).

    A case that raises is a failed case with its error, never the end of the run. A judge's
    opinion is one more score, which is a number and so never fails a case.
    """
    from pydantic_evals import Case, Dataset
    from pydantic_evals.evaluators import Evaluator, EvaluatorContext
    from pydantic_evals.evaluators.evaluator import EvaluationReason

    journal = journal or Journal(None)
    spent = [cost_of(entry["output"]) for entry in journal.done.values()]
    deadline = time.monotonic() + budget.seconds if budget and budget.seconds else None

    def task(inputs: dict[str, Any]) -> Any:
        key = inputs["key"]
        if key in journal.done:
            return journal.done[key]["output"]
        if deadline is not None and time.monotonic() > deadline:
            raise _OutOfBudget(f"time {_NOT_STARTED}")
        if budget is not None and budget.cost is not None and sum(spent) >= budget.cost:
            raise _OutOfBudget(f"cost {_NOT_STARTED}")
        started = time.perf_counter()
        output = _plain_json(suite.run(subject, inputs["row"]))
        spent.append(cost_of(output))
        journal.add(key, output, (time.perf_counter() - started) * 1000)
        return output

    @dataclass
    class Rules(Evaluator[dict[str, Any], Any, Any]):
        """Hands the suite's scores to the engine."""

        def evaluate(
            self, ctx: EvaluatorContext[dict[str, Any], Any, Any]
        ) -> dict[str, EvaluationReason]:
            return _reasons(suite.judge(ctx.inputs["row"], ctx.output), EvaluationReason)

    @dataclass
    class SecondOpinion(Evaluator[dict[str, Any], Any, Any]):
        """Asks the judge, where there is one."""

        async def evaluate(
            self, ctx: EvaluatorContext[dict[str, Any], Any, Any]
        ) -> dict[str, EvaluationReason]:
            if judge is None:
                return {}
            said = await opinions(judge, ctx.inputs["row"], ctx.output)
            return _reasons(said, EvaluationReason, first=_AFTER_THE_RULES)

    keyed = [
        (row, f"{row['id']}#{n}" if n > 1 else row["id"]) for row in rows for n in _up_to(repeat)
    ]
    dataset = Dataset[dict[str, Any], Any, Any](
        name=suite.name,
        cases=[Case(name=key, inputs={"row": row, "key": key}) for row, key in keyed],
        evaluators=[Rules(), SecondOpinion()],
    )
    report = dataset.evaluate_sync(task, max_concurrency=concurrency, progress=show_progress)
    found = {case.name: _result(suite, case, journal) for case in report.cases}
    for failure in report.failures:
        found[failure.name] = CaseResult(
            id=failure.name.partition("#")[0],
            passed=False,
            scores=(),
            output=None,
            elapsed_ms=0.0,
            tags=suite.tags(failure.inputs["row"]),
            error=failure.error_message,
            not_run=_NOT_STARTED in failure.error_message,
        )
    return [found[key] for _, key in keyed]


def _reasons(scores: Sequence[Score], kind: Any, *, first: int = 0) -> dict[str, Any]:
    """Scores as the engine takes them; numbered, so that each keeps its place and its name."""
    return {
        f"{i:03}:{s.name}": kind(value=s.value, reason=s.reason)
        for i, s in enumerate(scores, start=first)
    }


def _up_to(count: int) -> range:
    return range(1, count + 1)


def _plain_json(output: Any) -> Any:
    return json.loads(json.dumps(output, ensure_ascii=False, default=str))


def _result(suite: Suite, case: Any, journal: Journal) -> CaseResult:
    """One reported case as ours; an evaluator that raised is a failure with its reason."""
    named = sorted({**case.assertions, **case.scores, **case.labels}.items())
    scores = tuple(
        Score(name.partition(":")[2], item.value, item.reason or "") for name, item in named
    )
    broken = "; ".join(f.error_message for f in case.evaluator_failures) or None
    return CaseResult(
        id=case.inputs["row"]["id"],
        passed=broken is None and not any(s.is_failure for s in scores),
        scores=scores,
        output=case.output,
        elapsed_ms=float(journal.done[case.inputs["key"]]["elapsed_ms"]),
        tags=suite.tags(case.inputs["row"]),
        error=broken,
    )
