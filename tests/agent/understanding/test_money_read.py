"""Amounts with the span they were said for, hours of runs and saves, sums beside a training."""

from __future__ import annotations

import pytest

from agent.request import Request
from agent.understanding import parse


def _price(text: str) -> tuple[float, str | None, str | None]:
    price = parse(text).slots.first_price
    assert price is not None
    return price.amount, price.per, price.period


@pytest.mark.parametrize(
    ("text", "amount", "per", "period"),
    [
        ("an L40S at 1.2 USD per GPU-hour for 30 hours", 1.2, "hour", None),
        ("A6000 每卡时 3 元，跑 40 小时", 3, "hour", None),
        ("4090 两张，每张卡每小时 2.5 元，20 小时多少", 2.5, "hour", None),
        ("V100 5块5一小时，开 12 小时", 5.5, "hour", None),
        ("T4 3块一小时跑 8 小时", 3, "hour", None),
        ("an A10 for 48 dollars a day", 2, "hour", "day"),
        ("A10 包月 3000 元每月", 3000, "month", None),
        ("an A10 for 2400 dollars a year", 200, "month", "year"),
    ],
)
def test_a_price_keeps_the_span_that_was_said(
    text: str, amount: float, per: str, period: str | None
) -> None:
    assert _price(text) == (amount, per, period)


def test_cards_in_pieces_are_no_money() -> None:
    assert parse("4090 两块一小时多少钱").slots.gpu_count == 2
    assert parse("V100 3块一起训").slots.gpu_count == 3


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("writing a checkpoint stalls the job for about 2 minutes, spot goes every 4 hours", 2),
        ("each save holds training up for 45 seconds; preempted every 6 h", 0.75),
        ("20 seconds per checkpoint on a spot box", 1 / 3),
        ("存一次断点会卡住 3 分钟左右，抢占式", 3),
        ("写 ckpt 训练要停 30 秒，平均 5 小时被收一次", 0.5),
    ],
)
def test_how_long_a_save_holds_the_training_up(text: str, minutes: float) -> None:
    assert parse(text).slots.ckpt_minutes == pytest.approx(minutes, abs=1e-5)


@pytest.mark.parametrize(
    "text",
    ["a checkpoint takes place every 20 minutes on spot", "checkpoint 要每 20 分钟存一次吗 抢占式"],
)
def test_an_interval_is_no_length_of_a_save(text: str) -> None:
    assert parse(text).slots.ckpt_minutes is None


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("12 trials, each takes 30 minutes, on a T4: cost?", 0.5),
        ("5 折交叉验证，一折 40 分钟，A10 多少钱", 2 / 3),
        ("8 runs at 15 minutes each on g5.xlarge, price?", 0.25),
    ],
)
def test_minutes_of_a_run_are_its_hours(text: str, hours: float) -> None:
    request = parse(text)
    assert request.slots.runs is not None
    assert request.slots.hours == pytest.approx(hours, abs=1e-5)


def test_hours_of_a_working_day_count_for_each_day() -> None:
    assert parse("an A10 for 7.5 hours a working day, 20 workdays, cost?").slots.hours == 150


@pytest.mark.parametrize(
    "text",
    [
        "80 dollars, 8B QLoRA, 30k samples",
        "预算 150 块 7B LoRA 2 万条",
        "14B LoRA 40k samples 90 USD",
    ],
)
def test_a_sum_beside_a_training_asks_what_it_costs(text: str) -> None:
    request = parse(text)
    assert request.intent == "cost_estimate"
    assert request.slots.budget is not None
    assert request.slots.price is None


@pytest.mark.parametrize(
    "text",
    ["训 7B LoRA 2 万条被收了 150 块，正常吗", "I was charged 80 dollars for 8B LoRA, 30k samples"],
)
def test_a_sum_that_was_paid_is_no_limit(text: str) -> None:
    assert parse(text).slots.budget is None


@pytest.mark.parametrize(
    ("text", "varies", "length"),
    [
        ("7B LoRA, 20k samples, 400 tokens on average, A10: how long", True, None),
        ("14B QLoRA 3 万条 平均 600 token 多久", True, None),
        ("7B LoRA 20k samples of 900 tokens on an A10: how long", False, 900),
    ],
)
def test_an_average_is_not_the_longest_sample(text: str, varies: bool, length: int | None) -> None:
    slots = parse(text).slots
    assert slots.tokens_per_sample is not None
    assert slots.lengths_vary is varies
    assert slots.sample_length == length


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (
            "14B full fine-tune, 50M tokens on 8 H100: how long?",
            "and with LoRA, how much time saved?",
        ),
        ("14B 全参 5000万 token 8张 H100 要多久", "改成 qlora 能省多少时间"),
    ],
)
def test_time_saved_by_another_setting_is_a_question_of_time(first: str, then: str) -> None:
    earlier: list[Request] = [parse(first)]
    request = parse(then, earlier)
    assert request.intent == "time_estimate"
    assert "method" in request.changed


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("340 GPU-hours at 2 dollars", 340),
        ("500 个卡时，每卡时 3 元", 500),
        ("120 H100 hours, 2.5 USD each", 120),
        ("80 gpu hrs of an A100, cost", 80),
    ],
)
def test_hours_of_cards(text: str, hours: float) -> None:
    slots = parse(text).slots
    assert (slots.hours, slots.card_hours) == (hours, True)


def test_hours_of_the_clock_are_none_of_cards_even_after_hours_of_cards() -> None:
    first = parse("8 H100 machine at 20 USD an hour, 400 gpu-hours: cost?")
    assert first.slots.card_hours
    assert parse("and what if they rent it for 30 hours?", [first]).slots.card_hours is False
    assert parse("8 卡跑 10 小时，20 元一小时").slots.card_hours is False


@pytest.mark.parametrize(
    "text",
    [
        "我有 400 块，3090 1.5 一小时能用多久",
        "got 60 dollars, 3090 at 0.5/hr on runpod: how many hours",
    ],
)
def test_a_bare_rate_stands_beside_a_sum(text: str) -> None:
    slots = parse(text).slots
    said = slots.price if isinstance(slots.price, tuple) else (slots.price,)
    rates = [m.amount for m in (*said, slots.budget) if m is not None and m.per == "hour"]
    sums = [m.amount for m in (*said, slots.budget) if m is not None and m.per == "total"]
    assert rates in ([1.5], [0.5])
    assert sums in ([400], [60])


@pytest.mark.parametrize(
    ("text", "period"),
    [
        ("weekly budget of 84 dollars for serving a 7B", "week"),
        ("每天的预算 48 元，部署 7B", "day"),
        ("每天跑 8 小时，预算 300 元，7B 部署", None),
    ],
)
def test_a_budget_of_a_span(text: str, period: str | None) -> None:
    budget = parse(text).slots.budget
    assert budget is not None
    assert budget.period == period
