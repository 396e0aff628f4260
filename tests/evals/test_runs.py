"""Runs of suites against a fake subject: journal, baselines, comparison, report, command line."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from evals.__main__ import build_parser, main
from evals.compare import compare
from evals.engine import Budget, Journal, run_suite
from evals.report import render
from evals.sample import CaseResult, Row, Score, check_rows, read_rows
from evals.store import (
    Run,
    SuiteRun,
    baseline_of,
    environment,
    history,
    read_run,
    regressions,
    remember,
    suite_run,
    unmet_goals,
    worse_metrics,
    write_run,
)
from evals.suites import SUITES, Subject, get_suite
from tools.errors import UserInputError


class FakeSubject:
    """Answers retrieval queries from a table; everything else is not asked."""

    def __init__(self, ranked: dict[str, list[str]]) -> None:
        self.ranked = ranked
        self.asked: list[str] = []

    def search(self, row: Row) -> list[dict[str, Any]]:
        self.asked.append(row["id"])
        if row["query"] == "explode":
            raise RuntimeError("index is gone")
        return [
            {"passage_id": c, "claims": [c], "score": 1.0} for c in self.ranked.get(row["id"], [])
        ]

    def converse(self, row: Row) -> list[dict[str, Any]]:
        raise AssertionError("not asked for")

    estimate = speed = converse  # type: ignore[assignment]


def query(case: str, text: str = "q", **changes: Any) -> dict[str, Any]:
    base = {
        "id": case,
        "lang": "en",
        "query": text,
        "kind": "paraphrase",
        "gold_claims": ["1.1"],
        "also_ok": [],
    }
    return {**base, **changes}


RETRIEVAL = get_suite("retrieval")


def test_hits_and_misses_are_told_apart() -> None:
    subject: Subject = FakeSubject({"a": ["1.1"], "b": ["9.9"]})
    results = run_suite(RETRIEVAL, [query("a"), query("b")], subject)
    assert [r.passed for r in results] == [True, False]
    summary = RETRIEVAL.summarize([query("a"), query("b")], results)
    assert summary["en_hit1"] == 0.5
    assert summary["en_mrr"] == 0.5


def test_case_that_raises_fails_and_the_run_goes_on() -> None:
    subject = FakeSubject({"b": ["1.1"]})
    results = run_suite(RETRIEVAL, [query("a", "explode"), query("b")], subject)
    assert [r.passed for r in results] == [False, True]
    assert results[0].error is not None
    assert "index is gone" in results[0].error


def test_killed_run_resumes_without_asking_again(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    first = FakeSubject({"a": ["1.1"]})
    run_suite(RETRIEVAL, [query("a")], first, journal=Journal(path))
    with path.open("a", encoding="utf-8") as file:
        file.write('{"key": "b", "outp')  # killed while writing
    second = FakeSubject({"a": ["9.9"], "b": ["1.1"]})
    results = run_suite(RETRIEVAL, [query("a"), query("b")], second, journal=Journal(path))
    assert second.asked == ["b"]
    assert [r.passed for r in results] == [True, True]


def test_spent_budget_fails_the_cases_that_were_not_started() -> None:
    results = run_suite(RETRIEVAL, [query("a")], FakeSubject({}), budget=Budget(seconds=1e-9))
    assert results[0].error is not None
    assert "budget" in results[0].error


def test_a_case_that_was_not_started_is_neither_right_nor_wrong() -> None:
    rows = [query("a"), query("b")]
    ran = run_suite(RETRIEVAL, rows[:1], FakeSubject({"a": ["1.1"]}))
    left = run_suite(RETRIEVAL, rows[1:], FakeSubject({}), budget=Budget(seconds=1e-9))
    assert left[0].not_run
    part = suite_run(RETRIEVAL, rows, [*ran, *left])
    assert part.summary["cases"] == 1
    assert part.summary["en_hit1"] == 1
    baseline = {"passed": ["a", "b"], "data_hash": part.data_hash, "summary": {"en_mrr": 1.0}}
    assert regressions(baseline, part) == []
    assert worse_metrics(RETRIEVAL, {**baseline, "summary": {"en_mrr": 2.0}}, part) == []
    whole = a_run(a_result("a", True), a_result("b", True))
    assert compare(whole, replace(whole, suites=(part,)))[0].kind == "gone"
    assert "1 not run" in render(replace(whole, suites=(part,)), [])


def test_a_run_cut_short_is_no_pass_and_makes_no_baseline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    junit = tmp_path / "j.xml"
    asked = ["run", "catalog", "--seconds", "0.000001", "--quiet"]
    assert main([*asked, "--junit", str(junit)]) == 1
    printed = capsys.readouterr().out
    assert "not run" in printed
    assert "regressed" not in printed
    suite = next(iter(ElementTree.parse(junit).getroot()))
    assert suite.get("skipped") == suite.get("tests") != "0"
    assert main([*asked, "--write-baseline", "--baseline", str(tmp_path / "b.json")]) == 2
    assert not (tmp_path / "b.json").exists()


def test_repeats_have_names_of_their_own_and_one_failure_counts(tmp_path: Path) -> None:
    junit = tmp_path / "j.xml"
    cases = ["run", "catalog", "--filter", "gpu-a10", "--repeat", "2", "--quiet"]
    main([*cases, "--junit", str(junit)])
    names = [c.get("name") for c in ElementTree.parse(junit).getroot().iter("testcase")]
    assert len(set(names)) == len(names) >= 2
    twice = a_run(a_result("a", False), a_result("a", True))
    assert compare(a_run(a_result("a", True)), twice)[0].kind == "worse"


def test_repeat_runs_each_case_so_often() -> None:
    subject = FakeSubject({"a": ["1.1"]})
    assert len(run_suite(RETRIEVAL, [query("a")], subject, repeat=3)) == 3
    assert subject.asked == ["a"] * 3


def a_run(*results: CaseResult) -> Run:
    suite = SuiteRun("retrieval", "0" * 16, {"cases": len(results)}, results)
    return Run(**environment(), backend="embedded", suites=(suite,))


def a_result(case: str, passed: bool, error: float | None = None) -> CaseResult:
    scores = [Score("hit_at_5", passed, "wanted 1.1")]
    if error is not None:
        scores.append(Score("relative_error", error))
    return CaseResult(case, passed, tuple(scores), [], 1.0, {"language": "en"})


def test_run_survives_writing_and_reading(tmp_path: Path) -> None:
    run = a_run(a_result("a", True), a_result("b", False))
    write_run(tmp_path / "run.json", run)
    assert read_run(tmp_path / "run.json") == run


def test_reading_something_else_says_so(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(UserInputError, match="is not a run"):
        read_run(path)


def test_regression_is_a_case_that_passed_before() -> None:
    before = a_run(a_result("a", True), a_result("b", False)).suites[0]
    after = a_run(a_result("a", False), a_result("b", False)).suites[0]
    assert regressions(baseline_of(before), after) == ["a"]
    assert regressions(baseline_of(before), before) == []


def test_compare_names_worse_better_new_gone_and_moved() -> None:
    before = a_run(
        a_result("a", True), a_result("b", False), a_result("c", True), a_result("m", True, 0.1)
    )
    after = a_run(
        a_result("a", False), a_result("b", True), a_result("d", True), a_result("m", True, 0.2)
    )
    found = {c.id: c.kind for c in compare(before, after)}
    assert found == {"a": "worse", "b": "better", "c": "gone", "d": "new", "m": "moved"}
    assert compare(before, before) == []


def test_goals_are_compared_on_their_side() -> None:
    suite = replace(
        RETRIEVAL, goals={"up": (">=", 0.9), "down": ("<=", 0.1), "absent": (">=", 1.0)}
    )
    assert unmet_goals(suite, {"up": 0.9, "down": 0.1}) == []
    assert len(unmet_goals(suite, {"up": 0.89, "down": 0.11})) == 2


def test_report_escapes_what_came_from_cases() -> None:
    nasty = replace(a_result("<script>x</script>", False), output="<img src=x>")
    page = render(a_run(nasty))
    assert "<script>x" not in page
    assert "<img" not in page
    assert "http" not in page.split("</style>")[1]


@pytest.mark.parametrize("name", sorted(SUITES))
def test_shipped_rows_match_their_schema_and_say_why(name: str) -> None:
    rows = SUITES[name].rows()
    check_rows(name, rows)
    assert len({r["id"] for r in rows}) == len(rows)
    assert all(str(r.get("why") or "").strip() for r in rows)
    assert all(r.get("source") for r in rows)


def test_row_outside_the_schema_is_named() -> None:
    with pytest.raises(UserInputError, match="'z', lang"):
        check_rows("retrieval", [query("z", lang="fr")])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("not json", "is not JSON"),
        ('{"x": 1}', "no text field 'id'"),
        ('{"id": "a"}\n{"id": "a"}', "repeats"),
    ],
)
def test_bad_file_of_cases_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(UserInputError, match=message):
        read_rows(path)


def test_unknown_suite_names_the_known_ones() -> None:
    with pytest.raises(UserInputError, match="questions"):
        get_suite("nope")


def test_command_line_parses_the_contract() -> None:
    args = build_parser().parse_args(
        [
            "run",
            "questions",
            "memory",
            "--cases",
            "x",
            "--backend",
            "embedded",
            "--baseline",
            "b",
            "--json",
            "o",
        ]
    )
    assert isinstance(args, argparse.Namespace)
    assert args.suites == ["questions", "memory"]


def test_suite_run_sums_up_and_lists_unmet_goals() -> None:
    rows = [query("a")]
    results = run_suite(RETRIEVAL, rows, FakeSubject({}))
    finished = suite_run(RETRIEVAL, rows, results)
    assert any(goal.startswith("en_hit1") for goal in finished.unmet)
    assert json.dumps(finished.summary)


def test_history_gives_the_trend_of_earlier_runs_of_the_same_backend(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    now = replace(a_run(a_result("a", True)), started_at="2026-03-01T00:00:00+00:00")
    for month, backend in (("01", "embedded"), ("02", "embedded"), ("02", "openai_compatible")):
        old = replace(now, started_at=f"2026-{month}-01T00:00:00+00:00", backend=backend)
        remember(path, old)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"started')  # killed while writing
    found = history(path, before=now)
    assert [run.started_at[:7] for run in found] == ["2026-01", "2026-02"]
    assert all(not suite.results for run in found for suite in run.suites)
    page = render(now, found)
    assert page.count("2026-01-01T00:00") == 1
    assert "<polyline" in page


def test_trend_is_only_drawn_over_two_runs() -> None:
    assert "<polyline" not in render(a_run(a_result("a", True)))


def test_rows_without_slots_say_nothing_about_slots() -> None:
    row = {"id": "q", "lang": "en", "question": "q", "truth": {"verdict_accept": ["fits"]}}
    suite = get_suite("questions")
    answer = {"text": "It fits.", "language": "en", "verdict": "fits", "request": {"batch": 4}}
    scores = suite.judge(row, [answer])
    result = CaseResult("q", True, tuple(scores), [answer], 1.0)
    assert "slot_f1" not in suite.summarize([row], [result])
    asked = {**row, "slots": {"batch": 8}}
    wrong = CaseResult("q", True, tuple(suite.judge(asked, [answer])), [answer], 1.0)
    assert suite.summarize([asked], [wrong])["slot_f1"] == 0.0
