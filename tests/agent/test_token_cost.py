"""Cost of a million tokens on one's own card: price an hour over tokens an hour."""

from __future__ import annotations

import pytest

from agent import ungrounded
from agent.answer import Answer
from tests.agent.answers import answered


def _figure(answer: Answer, start: str, end: str) -> float:
    return next(float(f.value) for f in answer.figures
                if f.name.startswith(start) and f.name.endswith(end))  # fmt: skip


@pytest.mark.parametrize(
    ("question", "per_hour"),
    [
        ("cost per million tokens llama 3.3 70b fp8 on 2x H100 at $2.5 per gpu hour", 5.0),
        ("what does 1M output tokens cost self hosting qwen3 32b fp8 on an H100 at $2/h, "
         "16 concurrent", 2.0),
        ("qwen2.5 32b awq A100 80G 每百万 token 成本多少 一小时 20 元", 20.0),
    ],
)  # fmt: skip
def test_a_million_tokens_cost_the_hours_they_take(question: str, per_hour: float) -> None:
    answer, _ = answered(question)
    assert answer.intent == "cost_estimate"
    many = max(
        int(f.name.split(" at ")[1].split(":")[0])
        for f in answer.figures
        if f.name.startswith("cost of a million tokens at")
    )
    cost = _figure(answer, f"cost of a million tokens at {many}", "value")
    speed = _figure(answer, f"tokens per s at {many}", "total")
    assert cost == pytest.approx(per_hour / (speed * 3600) * 1e6, rel=0.1)  # both to two digits
    assert _figure(answer, f"cost of a million tokens at {many}", "low") < cost
    assert _figure(answer, "cost of a million tokens at 1:", "value") > cost
    assert not ungrounded(answer, question=question)


def test_a_price_is_looked_up_where_none_was_said() -> None:
    question = "self host llama 8b on L4, $ per 1M tokens?"
    answer, _ = answered(question)
    assert answer.offers
    assert "USD" in answer.text
    assert not ungrounded(answer, question=question)


def test_what_does_not_fit_has_no_price() -> None:
    answer, _ = answered("cost per million tokens of llama 70b bf16 on a 4090 at $0.4/h")
    assert answer.verdict == "does_not_fit"
    assert "USD" not in answer.text
