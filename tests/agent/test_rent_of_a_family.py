"""A family without a size is still rented for: the first of its models, told as assumed."""

from __future__ import annotations

from agent import ungrounded
from tests.agent.answers import answered


def test_a_slice_within_the_budget_is_named() -> None:
    question = "想租云机器学 stable diffusion 出图,一小时 5 块以内"
    answer, _ = answered(question)
    assert answer.offers
    assert all(o.price is None or o.currency != "CNY" or float(o.price) <= 5 for o in answer.offers)
    assert any(a.name == "model" for a in answer.assumptions)
    assert not ungrounded(answer, question=question)
