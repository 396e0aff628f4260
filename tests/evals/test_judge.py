"""The language-model judge: an opinion beside the rules, through an endpoint on loopback."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from evals.__main__ import main
from evals.engine import run_suite
from evals.judge import AGREES, FAILED, JudgeSettings, differing, opinions, summary_of
from evals.sample import CaseResult, Row, Score
from evals.store import baseline_of, suite_run
from evals.suites import get_suite
from tools.errors import UserInputError

pytestmark = pytest.mark.sockets
QUESTIONS = get_suite("questions")


def a_row(**changes: Any) -> dict[str, Any]:
    truth = {"verdict_accept": ["fits"], "must_mention": [["24"]], "must_not_claim": []}
    row = {"id": "a", "lang": "en", "question": "Does it fit?", "truth": truth, "why": "w"}
    return {**row, "source": "s", "expected_behavior": ["answer"], **changes}


def an_answer(text: str = "It fits in 24 GB.", verdict: str = "fits") -> dict[str, Any]:
    return {"language": "en", "verdict": verdict, "text": text, "citations": [], "elapsed_ms": 1.0}


class Answers:
    """A subject whose advisor always says the same."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers = list(answers)

    def converse(self, row: Row) -> list[dict[str, Any]]:
        return self.answers

    estimate = speed = search = look_up = scripted = converse  # type: ignore[assignment]


def a_verdict(agrees: bool, reason: str) -> Response:
    """A chat completion that calls the judge's tool."""
    arguments = json.dumps({"reason": reason, "pass": agrees, "score": float(agrees)})
    call = {
        "id": "c1", "type": "function",
        "function": {"name": "final_result", "arguments": arguments},
    }  # fmt: skip
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    body = {
        "id": "x", "object": "chat.completion", "created": 1, "model": "judge",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }  # fmt: skip
    return Response(json.dumps(body), content_type="application/json")


def settings(server: HTTPServer) -> JudgeSettings:
    return JudgeSettings("judge", server.url_for("/v1"), timeout_s=10)


def serve(server: HTTPServer, *replies: Response) -> list[dict[str, Any]]:
    """Lets the endpoint give these replies in turn; what it was asked is kept."""
    asked: list[dict[str, Any]] = []
    left = list(replies)

    def reply(request: Request) -> Response:
        asked.append({"body": request.get_json(), "key": request.headers.get("Authorization")})
        return left.pop(0) if len(left) > 1 else left[0]

    server.expect_request("/v1/chat/completions", method="POST").respond_with_handler(reply)
    return asked


def test_the_judge_sees_question_answer_and_truth(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XUANKA_JUDGE_API_KEY", "k-123")
    asked = serve(httpserver, a_verdict(True, "agrees"))
    (score,) = asyncio.run(opinions(settings(httpserver), a_row(), [an_answer()]))
    assert (score.name, score.value, score.reason) == (AGREES, 1.0, "agrees")
    sent = json.dumps(asked[0]["body"])
    assert asked[0]["key"] == "Bearer k-123"
    assert asked[0]["body"]["model"] == "judge"
    for part in ("Does it fit?", "It fits in 24 GB.", "verdict_accept", "never an instruction"):
        assert part in sent


def test_each_turn_is_judged_with_what_was_asked_before(httpserver: HTTPServer) -> None:
    asked = serve(httpserver, a_verdict(True, "yes"), a_verdict(False, "says too much"))
    row = a_row(turns=["And in 4 bit?"], turns_truth=[a_row()["truth"]])
    found = asyncio.run(opinions(settings(httpserver), row, [an_answer(), an_answer("Sure.")]))
    assert [s.value for s in found] == [1.0, 0.0]
    assert found[1].reason == "turn 1: says too much"
    assert "Does it fit?" in json.dumps(asked[1]["body"])


def test_its_opinion_never_decides_a_case(httpserver: HTTPServer) -> None:
    serve(httpserver, a_verdict(False, "I would not say so"))
    good = run_suite(QUESTIONS, [a_row()], Answers(an_answer()), judge=settings(httpserver))
    assert good[0].passed
    assert [c.id for c, _ in differing(good)] == ["a"]
    httpserver.clear()
    serve(httpserver, a_verdict(True, "fine"))
    wrong = Answers(an_answer(verdict="does_not_fit"))
    bad = run_suite(QUESTIONS, [a_row()], wrong, judge=settings(httpserver))
    assert not bad[0].passed
    assert "nothing wrong" in differing(bad)[0][1]


def test_a_judge_that_fails_leaves_the_rules(httpserver: HTTPServer) -> None:
    serve(httpserver, Response("no such model", status=404))
    (result,) = run_suite(QUESTIONS, [a_row()], Answers(an_answer()), judge=settings(httpserver))
    assert result.passed
    (failed,) = [s for s in result.scores if s.name == FAILED]
    assert "404" in failed.reason
    assert summary_of([result]) == {"judge_failed": 1.0}


def test_without_a_judge_nothing_is_asked_and_nothing_summed(httpserver: HTTPServer) -> None:
    asked = serve(httpserver, a_verdict(True, ""))
    results = run_suite(QUESTIONS, [a_row()], Answers(an_answer()))
    assert asked == []
    assert summary_of(results) == {}


def test_its_figures_are_in_the_summary_and_not_in_the_baseline() -> None:
    def result(case: str, passed: bool, agrees: float) -> CaseResult:
        return CaseResult(case, passed, (Score(AGREES, agrees, "why"),), [], 1.0)

    results = [result("a", True, 1.0), result("b", True, 0.0), result("c", False, 0.0)]
    run = suite_run(QUESTIONS, [a_row(id=i) for i in "abc"], results)
    assert run.summary["judge_agrees"] == pytest.approx(1 / 3)
    assert run.summary["judge_differs"] == 1
    assert not any(name.startswith("judge") for name in baseline_of(run)["summary"])


def test_a_judge_needs_an_endpoint_and_answers_in_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UserInputError, match="XUANKA_JUDGE_URL"):
        JudgeSettings.of("m", None)
    monkeypatch.setenv("XUANKA_JUDGE_URL", "http://127.0.0.1:9/v1/")
    assert JudgeSettings.of("m", None).base_url == "http://127.0.0.1:9/v1"
    assert main(["run", "memory", "--judge", "m"]) == 2
    assert "memory has none" in capsys.readouterr().err


def test_the_command_shows_where_judge_and_rules_differ(
    httpserver: HTTPServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    serve(httpserver, a_verdict(False, "not convinced"))
    row = a_row(question="Is NVLink on an A10?", truth={
        "verdict_accept": ["not_applicable", "depends", "fits", "does_not_fit", "tight"],
        "must_mention": [["NVLink"]], "must_not_claim": [],
    })  # fmt: skip
    cases = tmp_path / "rows.jsonl"
    cases.write_text(json.dumps(row) + "\n", encoding="utf-8")
    url = httpserver.url_for("/v1")
    out = tmp_path / "run.json"
    asked = ["--cases", str(cases), "--judge", "judge", "--judge-url", url, "--json", str(out)]
    main(["run", "questions", *asked])
    assert "judge differs: a" in capsys.readouterr().out
    summary = json.loads(out.read_text(encoding="utf-8"))["suites"][0]["summary"]
    assert summary["judge_agrees"] == 0
