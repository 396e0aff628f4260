"""Scorers of the catalog, of scripted endpoints, of citations, language, tools and time."""

from __future__ import annotations

from typing import Any

import pytest

from evals.sample import CaseResult, Score
from evals.scorers import catalog, questions, scripted
from evals.summaries import conversation_summary


def failed(scores: list[Score]) -> set[str]:
    return {s.name for s in scores if s.is_failure}


# ---------------------------------------------------------------- catalog


@pytest.mark.parametrize(
    ("wanted", "given", "holds"),
    [
        (8, 8, True),
        (8, 8.0, True),
        (8, 7, False),
        (None, None, True),
        (None, 0, False),
        (0, None, False),
        (False, False, True),
        (False, None, False),
        (False, 0, False),
        ("NVIDIA A10", "NVIDIA A10G", False),
        (1008.0, 1010.0, True),
        (312.0, 624.0, False),
    ],
)
def test_field_is_compared_and_unknown_is_neither_zero_nor_false(
    wanted: Any, given: Any, holds: bool
) -> None:
    row = {"what": "gpu", "expect": {"field": wanted}}
    assert (not failed(catalog.judge(row, {"field": given}))) is holds


def test_counts_are_exact_where_figures_may_be_rounded() -> None:
    row = {"what": "instance", "expect": {"vcpu_count": 1000}}
    assert failed(catalog.judge(row, {"vcpu_count": 1001})) == {"vcpu_count"}


def test_missing_field_and_lookup_error_fail() -> None:
    row = {"what": "gpu", "expect": {"field": 1}}
    assert failed(catalog.judge(row, {}))
    assert failed(catalog.judge(row, {"error": "no such card"})) == {"found"}


@pytest.mark.parametrize(
    ("output", "wrong"),
    [
        ({"per_hour": 8.5, "currency": "CNY", "priced_on": "2024-10-09"}, set()),
        ({"per_hour": 6205.0, "currency": "CNY", "priced_on": "2024-10-09"}, {"per_hour"}),
        ({"per_hour": 8.5, "currency": "USD", "priced_on": "2024-10-09"}, {"currency"}),
        ({"per_hour": 8.5, "currency": "CNY", "priced_on": None}, {"dated"}),
        ({"currency": "CNY", "priced_on": "2024-10-09"}, {"per_hour"}),
    ],
)
def test_price_has_a_size_a_currency_and_a_date(output: dict[str, Any], wrong: set[str]) -> None:
    row = {"what": "price", "expect": {"low": 3.0, "high": 20.0, "currency": "CNY"}}
    assert failed(catalog.judge(row, output)) == wrong


def test_spot_price_above_on_demand_fails() -> None:
    row = {"what": "spot", "expect": {"least_share": 0.1, "most_share": 1.0}}
    assert not failed(catalog.judge(row, {"low_share": 0.1, "high_share": 1.0}))
    assert failed(catalog.judge(row, {"low_share": 0.2, "high_share": 2.0})) == {"high_share"}
    assert failed(catalog.judge(row, {"low_share": 0.01, "high_share": 1.0})) == {"low_share"}


# ---------------------------------------------------------------- scripted endpoints

EMBEDDED = {"text": "放得下。", "verdict": "fits", "memory": None, "language": "zh"}


def output(**changes: Any) -> dict[str, Any]:
    answer = {
        "text": EMBEDDED["text"],
        "verdict": "fits",
        "memory": None,
        "backend": "embedded",
        "degraded": "模型接口拒绝了密钥(401)，改由内置后端作答。",
    }
    made = {"told": "别的话", "sentence": "3.21 GiB", "requests": 1, "elapsed_s": 0.5}
    return {"answer": {**answer, **changes}, "embedded": EMBEDDED, **made}


FAULT = {"ends_in": "embedded", "within_s": 5, "most_requests": 2, "reason_says": ["401"]}


def test_fall_back_with_its_reason_passes() -> None:
    assert not failed(scripted.judge_fault(FAULT, output()))


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"degraded": None}, {"says_why", "reason_language", "reason"}),
        ({"degraded": "the key was rejected (401)"}, {"reason_language"}),
        ({"degraded": "出错了"}, {"reason"}),
        ({"backend": "openai_compatible"}, {"by_embedded"}),
        ({"text": "别的"}, {"embedded_text"}),
        ({"verdict": "tight"}, {"verdict"}),
        ({"memory": {"low_bytes": 1}}, {"memory"}),
    ],
)
def test_each_slip_of_a_fall_back_fails(changes: dict[str, Any], wrong: set[str]) -> None:
    assert failed(scripted.judge_fault(FAULT, output(**changes))) == wrong


def test_too_many_requests_and_too_much_time_fail() -> None:
    slow = {**output(), "requests": 3, "elapsed_s": 60.0}
    assert failed(scripted.judge_fault(FAULT, slow)) == {"requests", "in_time"}


def test_mended_fault_must_show_the_models_words() -> None:
    row = {**FAULT, "ends_in": "endpoint"}
    good = output(text="别的话", backend="openai_compatible", degraded=None)
    assert not failed(scripted.judge_fault(row, good))
    assert failed(scripted.judge_fault(row, output())) == {
        "by_endpoint", "as_told", "not_degraded"
    }  # fmt: skip


def test_lie_in_the_answer_fails_and_a_replaced_one_passes() -> None:
    lie = {"kind": "lie"}
    assert not failed(scripted.judge_grounding(lie, output()))
    shown = output(text="放得下。只要 3.21 GiB", backend="openai_compatible", degraded=None)
    assert "lie_not_shown" in failed(scripted.judge_grounding(lie, shown))


def test_truth_that_was_thrown_away_fails() -> None:
    assert failed(scripted.judge_grounding({"kind": "truth"}, output()))


# ---------------------------------------------------------------- answers


@pytest.mark.parametrize(
    ("language", "text", "holds"),
    [
        ("zh", "放得下:约需 16.4 GiB。", True),
        ("zh", "**It fits**: LoRA needs about 16.4 GiB.", False),
        ("en", "**It fits**: LoRA needs about 16.4 GiB.", True),
        ("en", "放得下:约需 16.4 GiB。", False),
        ("en", "It fits. Source: [guide:vram#seven-b.zh]", True),
        ("zh", "推荐 `ecs.gn7i-c8g1.2xlarge`,NVIDIA A10 24 GB 够用", True),
    ],
)
def test_text_is_in_the_language_of_the_question(language: str, text: str, holds: bool) -> None:
    assert questions.judge_text_language(language, text).value is holds


def test_source_named_in_the_text_must_be_listed() -> None:
    text = "见 [guide:vram#seven-b.zh]。"
    listed = [{"id": "guide:vram#seven-b.zh", "title": "", "locator": ""}]
    assert questions.judge_citations({}, {"text": text, "citations": listed}).value is True
    assert questions.judge_citations({}, {"text": text, "citations": []}).value is False


def test_row_that_must_cite_fails_without_a_citation() -> None:
    answer = {"text": "KV", "citations": []}
    assert questions.judge_citations({"must_cite": True}, answer).value is False
    assert questions.judge_citations({}, answer).value is True


def conversation(**changes: Any) -> dict[str, Any]:
    truth = {"verdict_accept": ["fits"]}
    return {"id": "c", "lang": "en", "truth": truth, "turns_truth": [truth], **changes}


def answer(**changes: Any) -> dict[str, Any]:
    base = {"text": "It fits.", "language": "en", "verdict": "fits", "elapsed_ms": 40.0}
    return {**base, **changes}


def judged(row: dict[str, Any], *answers: dict[str, Any]) -> set[str]:
    return failed(questions.judge(row, answers, lambda *_: False))


def test_tools_that_must_be_called_are_missed() -> None:
    row = conversation(must_call=["estimate_memory"], turns_truth=[])
    called = answer(tool_calls=[{"name": "estimate_memory", "ok": True}])
    broken = answer(tool_calls=[{"name": "estimate_memory", "ok": False}])
    assert judged(row, called) == set()
    assert judged(row, answer()) == {"tools"}
    assert judged(row, broken) == {"tools"}


def test_time_limit_of_a_row_counts_its_slowest_turn() -> None:
    assert judged(conversation(within_ms=100), answer(), answer(elapsed_ms=101.0)) == {"in_time"}
    assert judged(conversation(within_ms=100), answer(), answer()) == set()


def test_turn_rate_counts_turns_and_not_conversations() -> None:
    row = conversation()
    scores = questions.judge(
        row, [answer(), answer(verdict="tight", language="zh")], lambda *_: False
    )
    result = CaseResult("c", False, tuple(scores), [], 1.0)
    assert conversation_summary([row], [result])["turn_rate"] == 0.5
    assert conversation_summary([row], [result])["pass_rate"] == 0.0
