"""Money as a product, spot beside on demand, the smaller sibling, cost at a price that was said."""

from __future__ import annotations

import pytest

from agent import Advisor, Settings
from agent.answer import Answer
from tests.agent.answers import answered


def _figure(answer: Answer, name: str) -> float:
    return next(float(f.value) for f in answer.figures if f.name == name)


@pytest.mark.parametrize(
    ("question", "cost"),
    [
        # 10 * 11 * 6 * 0.6
        ("lora一次要11个小时，机器10块一小时，我要扫6组超参，打个六折算下来多少钱", 396.0),
        # 5 * 2 * 12
        ("sweep over 4 learning rates x 3 seeds, each run takes 5 h at $2/h, total cost?", 120.0),
        # 8 * 100 * 1.8
        ("8 张卡租 100 小时，每卡每小时 1.8 元，一共多少钱", 1440.0),
        # 12 * 4 * 6 * 0.85
        ("6 fine-tuning runs of 4h each at ¥12/h with 15% off, total?", 244.8),
        # 9 * 3 * 5 * 0.8
        ("5折交叉验证，每折训练3小时，A10一小时9块，打8折，多少钱", 108.0),
    ],
)
def test_a_sum_is_the_product_of_what_was_given(question: str, cost: float) -> None:
    answer, _ = answered(question)
    assert answer.intent == "cost_estimate"
    assert _figure(answer, "cost") == pytest.approx(cost)
    assert f"{cost:,.0f}" in answer.text or f"{cost:g}" in answer.text


def test_machines_of_a_type_multiply_its_listed_price() -> None:
    """5.672 USD/h * 36 h * 4 (us-east-1, catalog of 2026-07-20)."""
    answer, _ = answered("4 x g5.12xlarge for 36 hours in us-east-1: what's the bill before tax?")
    assert _figure(answer, "cost") == pytest.approx(5.672 * 36 * 4, rel=1e-3)
    assert "816.77 USD" in answer.text


def test_spot_is_set_against_on_demand_in_one_region() -> None:
    """us-central1 on 2026-08-03: 5.068798 on demand, 2.759546 spot."""
    answer, _ = answered("a2-ultragpu-1g on demand vs spot, 200h of training. How much do I save?")
    assert _figure(answer, "saved") == pytest.approx((5.068798 - 2.759546) * 200, rel=1e-3)
    assert _figure(answer, "saved_share") == pytest.approx(0.4556, abs=1e-3)


def test_the_smaller_sibling_costs_the_same_hours() -> None:
    advisor = Advisor(Settings())
    first = advisor.ask("ecs.gn7e-c16g1.8xlarge 连跑72小时大概要花多少", thread="sibling")
    second = advisor.ask("那只要单卡的规格呢，同样时长", thread="sibling")
    assert _figure(second, "cost") == pytest.approx(_figure(first, "cost") / 2, rel=1e-3)
    assert "ecs.gn7e-c16g1.4xlarge" in second.text


def test_a_month_of_it_is_a_month_of_the_machine_spoken_of() -> None:
    advisor = Advisor(Settings())
    advisor.ask("g6e.xlarge — how many GPUs and how much host memory?", thread="month")
    answer = advisor.ask("how much per month if I leave it on 24/7", thread="month")
    assert _figure(answer, "month") == 730
    assert "g6e.xlarge" in answer.text


def test_hours_that_were_computed_cost_the_price_that_was_said() -> None:
    answer, results = answered(
        "Rough price of pretraining a 1.3B model on 26B tokens on one A100 80G at $2 per gpu hour"
    )
    hours = next(r.report.hours.value for r in results if r.name == "estimate_time_and_cost")  # type: ignore[union-attr]  # a time report
    assert _figure(answer, "cost") == pytest.approx(2 * hours, rel=1e-3)
    assert "USD" in answer.text


@pytest.mark.parametrize(
    ("question", "price", "speed"),
    [
        # 2,040 over 600 GB/s
        ("not the A10 but the A100 80G: worth 3.6x the price of gn7i for int4 7B inference?",
         3.6, 3.4),
        # 3,350 over 2,040 GB/s
        ("H100 是 A100 80G 的 2.2 倍价格，跑 7B 推理划算吗", 2.2, 1.64),
    ],
)  # fmt: skip
def test_a_dearer_card_is_judged_by_its_speed_for_the_money(
    question: str, price: float, speed: float
) -> None:
    answer, _ = answered(question)
    assert _figure(answer, "ratio of price") == price
    assert _figure(answer, "ratio of speed") == pytest.approx(speed, abs=0.01)
    assert "GB/s" in answer.text


def test_notice_of_spot_is_told_for_every_cloud_asked_about() -> None:
    """Half a minute at 350 MB/s is 10.5 GB: the states of 0.75 B parameters at 14 B each."""
    answer, _ = answered("how long is the warning before AWS, Aliyun or GCP reclaim a spot GPU?")
    assert [_figure(answer, f"{name}: notice") for name in ("aws", "alibaba", "gcp")] == [
        120, 300, 30,
    ]  # fmt: skip
    assert _figure(answer, "params_saved") == pytest.approx(0.75e9)


def test_minutes_of_a_run_are_part_of_an_hour() -> None:
    answer, _ = answered(
        "If each fold takes 90 minutes and I do 10 folds on a g6.2xlarge, what will AWS charge me?"
    )
    assert (_figure(answer, "hours"), _figure(answer, "runs")) == (1.5, 10)


def test_around_the_clock_for_a_month_is_730_hours() -> None:
    answer, _ = answered("p4d.24xlarge 一个月 24 小时不关机要多少美元")
    assert _figure(answer, "month") == 730
