"""A family without a size is still rented for: the first of its models, told as assumed."""

from __future__ import annotations

from agent import Advisor, ungrounded
from tests.agent.answers import answered


def test_a_slice_within_the_budget_is_named() -> None:
    question = "想租云机器学 stable diffusion 出图,一小时 5 块以内"
    answer, _ = answered(question)
    assert answer.offers
    assert all(o.price is None or o.currency != "CNY" or float(o.price) <= 5 for o in answer.offers)
    assert any(a.name == "model" for a in answer.assumptions)
    assert not ungrounded(answer, question=question)


def test_a_follow_up_asks_for_a_size_of_the_family_by_its_share() -> None:
    advisor = Advisor()
    first = advisor.ask("what is g6f.large on AWS, and how much VRAM has it?", thread="share")
    assert "3 GB" in first.text.split("\n\n")[0]
    half = advisor.ask("which size has half a card?", thread="share")
    assert "`g6f.4xlarge`" in half.text.split("\n\n")[0]
    quarter = advisor.ask("哪个规格是四分之一张卡", thread="share")
    assert "`g6f.2xlarge`" in quarter.text.split("\n\n")[0]


def test_a_run_that_cannot_be_sized_is_still_told_what_there_is_to_rent() -> None:
    question = "腾讯云上租什么机器训 3D UNet 分割好"
    answer, _ = answered(question)
    assert answer.verdict == "depends"
    assert answer.offers
    assert {offer.provider for offer in answer.offers} == {"tencent"}
    assert "T4" in answer.text
    assert not ungrounded(answer, question=question)


def test_without_dated_prices_the_smallest_type_of_each_card_is_told() -> None:
    answer, _ = answered("which machines on Huawei Cloud should I rent to train a 3D UNet?")
    assert {offer.provider for offer in answer.offers} == {"huawei"}
    assert "no dated price" in answer.text
