"""Money of use that comes back, of a discounted subscription, and of a month around the clock."""

from __future__ import annotations

import pytest

from tests.agent.answers import answer
from tools.catalog import get_instance
from tools.catalog.prices import cheapest

_WEEKS = 730 / 168


def _rate(name: str, region: str | None = None) -> float:
    price = cheapest(get_instance(name), region=region)
    assert price is not None
    return float(price.amount)


@pytest.mark.parametrize(
    ("question", "name", "hours"),
    [
        ("4 hours of g5.xlarge every weekday, what is the monthly bill?", "g5.xlarge", 20),
        ("g5.xlarge runs 5 hours every Saturday, cost per month", "g5.xlarge", 5),
    ],
)
def test_money_of_a_month_that_comes_back(question: str, name: str, hours: float) -> None:
    text = answer(question).text
    total = _rate(name) * round(hours * _WEEKS, 1)
    assert f"{total:,.2f}" in text.split("\n")[0]
    assert "times" in text


def test_a_service_that_comes_back_is_paid_for_its_hours() -> None:
    text = answer("Qwen2.5-7B 对话服务每周开 6 天,每天 8 小时,一个月多少钱").text
    assert "共 208.6 小时" in text
    assert "1,790 元" in text  # 8.5794 * 208.6, three digits


def test_a_discount_of_a_subscription_is_not_one_of_the_hours_on_demand() -> None:
    text = answer("包年 gn6i 打 5 折,每天跑 4 小时,跟按量相比哪个更省").text
    rate = _rate("ecs.gn6i-c4g1.xlarge", "cn")
    assert text.startswith("**按量更省")
    assert f"{rate * 730 * 0.5:,.0f}" in text
    assert "365 小时" in text


def test_a_subscription_at_a_discount_pays_for_long_hours() -> None:
    text = answer("reserved g5.xlarge is 40% off and I use it 20 hours a day, "
                  "which is cheaper, reserved or on demand?").text  # fmt: skip
    assert text.startswith("**The subscription is cheaper")
    assert "438" in text


def test_a_service_around_the_clock_is_rented_by_the_month_within_the_budget() -> None:
    text = answer("每月预算 6000 元,一直在线跑 Qwen2.5-7B 对话,阿里云,包月还是按量").text
    assert text.startswith("**包月更省")
    assert "4,306 元" in text
    assert "在每月 6,000 元的预算内" in text


def test_few_hours_a_day_stay_on_demand() -> None:
    text = answer("Qwen2.5-7B 对话每天只开 5 小时,包月还是按量便宜").text
    assert text.startswith("**按量更省")


def test_a_budget_below_a_month_buys_hours() -> None:
    text = answer("每月预算 2000 元,24 小时在线跑 Qwen2.5-7B,买什么").text
    assert "2,000 元够开约" in text
