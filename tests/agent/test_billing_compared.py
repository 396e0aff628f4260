"""On demand, spot or a subscription: the break-even by the catalog's prices, or by arithmetic."""

from __future__ import annotations

import pytest

from agent.understanding import parse
from tests.agent.answers import answer
from tools.catalog import compare_billing, get_instance


@pytest.mark.parametrize(
    ("question", "instance"),
    [
        ("gn7i 包月和按量哪个划算,每月用多少小时回本", "ecs.gn7i-c8g1.2xlarge"),
        (
            "is it cheaper to subscribe gn6v-c8g1.2xlarge monthly or pay as you go",
            "ecs.gn6v-c8g1.2xlarge",
        ),
    ],
)
def test_a_known_subscription_is_told_with_its_break_even(question: str, instance: str) -> None:
    found = answer(question)
    region = "cn" if question.startswith("gn7i") else None
    limits = compare_billing(get_instance(instance), region=region).break_even_hours
    assert limits is not None
    told = "–".join(f"{value:.0f}" for value in limits)
    assert told in found.text.split("\n")[0]
    assert "2025-12-29" in found.text


def test_an_unknown_subscription_is_said_to_be_unknown_with_the_arithmetic() -> None:
    found = answer("p4d.24xlarge: reserved 1 year vs on demand vs spot, where is the break-even?")
    assert "has no subscription or reserved price" in found.text
    assert "40% off → 438 h" in found.text  # 730 * 0.6
    assert "spot is cheapest" in found.text


def test_the_hours_that_were_said_decide() -> None:
    little = answer("ecs.gn7i-c8g1.2xlarge 按量和包月对比,每天用10小时选哪个")
    much = answer("ecs.gn7i-c8g1.2xlarge 按量和包月对比,每天用20小时选哪个")
    assert "按量最便宜" in little.text
    assert "包月最便宜" in much.text


def test_a_card_is_compared_by_a_type_that_has_a_subscription() -> None:
    assert "gn6i" in str(answer("T4 包月还是按量划算").offers[0].instance_type)


def test_a_price_of_a_month_alone_gives_no_break_even() -> None:
    found = answer("GN7vw.LARGE16 包月多少钱")
    assert found.text.startswith("**包月 1,047 元/月**")
    assert "后付费" in found.text


def test_a_type_without_any_price_says_so() -> None:
    assert "任何价格" in answer("腾讯云 GN10Xp 包年包月和按量付费的盈亏平衡点").text


def test_hours_a_day_are_read_in_both_languages() -> None:
    for text in ("每天用12小时", "12 hours a day"):
        assert parse(f"p5.48xlarge {text} on demand or reserved").amounts[
            "billing.hours_a_day"
        ] == (12.0,)


def test_a_card_without_any_price_says_so() -> None:
    assert answer("L20 包月多少钱").text.startswith("**目录里没有")
