"""Cases dealt out to processes, held metrics, budgets."""

from __future__ import annotations

from typing import Any

from evals.engine import Budget, cost_of, run_suite
from evals.sample import Row
from evals.store import SuiteRun, baseline_of, worse_metrics
from evals.suites import get_suite
from evals.workers import Job, pieces, pool, run_in

CATALOG = get_suite("catalog")


def test_pieces_hold_every_row_once_whatever_the_number_of_workers() -> None:
    rows: list[Row] = [{"id": str(n)} for n in range(23)]
    for workers in (1, 2, 5, 40):
        dealt = [row["id"] for piece in pieces(rows, workers) for row in piece]
        assert sorted(dealt, key=int) == [row["id"] for row in rows]


def test_processes_give_the_results_of_one_in_the_order_of_the_rows() -> None:
    rows = CATALOG.rows()[:6]
    with pool(2) as processes:
        jobs = [Job("catalog", "embedded", tuple(p), 1, None) for p in pieces(rows, 1)]
        found = run_in(processes, jobs, rows)
    assert [r.id for r in found] == [r["id"] for r in rows]
    assert all(r.passed for r in found)


def a_run(suite: str, **summary: float) -> SuiteRun:
    return SuiteRun(suite, "0" * 16, dict(summary), ())


def test_metric_that_got_worse_than_allowed_is_a_regression() -> None:
    memory = get_suite("memory")
    before = baseline_of(a_run("memory", training_median_error=0.05, interval_rate=0.85))
    same = a_run("memory", training_median_error=0.054, interval_rate=0.845)
    worse = a_run("memory", training_median_error=0.06, interval_rate=0.80)
    assert worse_metrics(memory, before, same) == []
    assert len(worse_metrics(memory, before, worse)) == 2


def test_metric_over_other_rows_is_not_compared() -> None:
    memory = get_suite("memory")
    before = baseline_of(a_run("memory", training_median_error=0.05))
    other = SuiteRun("memory", "1" * 16, {"training_median_error": 0.5}, ())
    assert worse_metrics(memory, before, other) == []


def test_metrics_that_are_held_have_goals() -> None:
    from evals.suites import SUITES

    for suite in SUITES.values():
        assert set(suite.held) <= set(suite.goals)


class Costly:
    """Answers conversations at one unit of money each."""

    def __init__(self) -> None:
        self.asked = 0

    def converse(self, row: Row) -> list[dict[str, Any]]:
        self.asked += 1
        return [{"text": "x", "usage": {"cost": 1.0}}]

    def search(self, row: Row) -> list[dict[str, Any]]:
        raise AssertionError("not asked for")

    estimate = speed = look_up = scripted = search  # type: ignore[assignment]


def test_cost_budget_stops_new_cases() -> None:
    rows = get_suite("questions").rows()[:5]
    subject = Costly()
    results = run_suite(get_suite("questions"), rows, subject, budget=Budget(cost=2.0))
    assert subject.asked == 2
    assert sum("cost budget" in (r.error or "") for r in results) == 3


def test_cost_is_summed_over_turns_and_zero_without_prices() -> None:
    assert cost_of([{"usage": {"cost": 0.5}}, {"usage": {"cost": None}}, {"usage": None}]) == 0.5
    assert cost_of({"figures": []}) == 0.0
