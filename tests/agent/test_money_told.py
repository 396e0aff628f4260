"""Sums of money: undated prices, hours a day, a week, discounts, one card of several, spot."""

from __future__ import annotations

import pytest

from agent import ungrounded
from tests.agent.answers import answered


def test_an_undated_list_price_is_multiplied_and_marked() -> None:
    """55.56 CNY/h for five days of 24 h is 6,667 CNY; four cards: 13.89 each."""
    answer, _ = answered("GN7.20XLARGE320按量开五天要多少钱")
    assert "6,667 元" in answer.text
    assert "无日期的目录价" in answer.text
    assert "13.89 元/小时" in answer.text
    assert not ungrounded(answer)


def test_the_price_of_one_card_stands_beside_that_of_the_machine() -> None:
    """14.692 USD/h for four cards is 3.673 USD/h for one; 240 h are 3,526 USD."""
    answer, _ = answered("Standard_NC96ads_A100_v4 for 10 days nonstop, and per GPU-hour?")
    assert "3,526 USD" in answer.text
    assert "3.67 USD/h" in answer.text


def test_hours_a_day_times_days_is_the_span() -> None:
    """9 hours on each of 20 days are 180 hours."""
    answer, _ = answered("g5.xlarge 9 hours a day for 20 days, total cost?")
    hours = [float(f.value) for f in answer.figures if f.name == "hours"]
    assert hours == [180.0]


def test_a_week_of_spot_is_set_against_a_week_on_demand() -> None:
    answer, _ = answered("spot p5en for one week vs on-demand p5en: delta?")
    figures = {f.name: float(f.value) for f in answer.figures}
    assert figures["hours"] == 168
    assert figures["saved"] == pytest.approx(figures["cost"] - figures["spot_cost"])


def test_a_price_after_the_discount_is_not_discounted_again() -> None:
    """1,200 h at 4.20 are 5,040; at 30 % that was 14.00 an hour, 16,800 in all: 11,760 saved."""
    answer, _ = answered(
        "1200 GPU hours at 4.2 CNY per GPU-hour after a 70% discount: total, and saved?"
    )
    for amount in ("5,040 CNY", "16,800 CNY", "11,760 CNY"):
        assert amount in answer.text


def test_what_spot_saves_is_told_for_a_card_at_one_place() -> None:
    """Both prices are those of one region, and half a minute of notice is told in seconds."""
    answer, _ = answered("spot比按量便宜多少 gcp 的 a100 40g 会被回收吗")
    saving = next(float(f.value) for f in answer.figures if f.name.endswith(": spot saving"))
    assert 0.4 < saving < 0.55
    assert "30 秒" in answer.text
    assert not ungrounded(answer)


@pytest.mark.parametrize(
    "question",
    [
        "8x A100 80G full finetune Llama-3.1-8B on 200M tokens with fsdp, hours?",
        "yolov8s 3万张 640 100轮 单张4090 要多久",
        "40G RoCE还是100G RoCE对7B全参zero3两机影响多大",
        "竞价实例 每30分钟存一次 每次存40秒 平均6小时被收 浪费多少时间",
        "哪家云的 A100 40G 最便宜",
        "预算一个月 8000 元 部署 14B 给 20 人用 阿里云选什么",
    ],
)
def test_every_number_of_an_answer_has_an_origin(question: str) -> None:
    answer, _ = answered(question)
    assert not ungrounded(answer, question=question)
