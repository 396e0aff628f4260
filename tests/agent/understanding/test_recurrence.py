"""Use that comes back every week is turned into the hours of a month or of the span said."""

from __future__ import annotations

import pytest

from agent.understanding import parse

_WEEKS = 730 / 168


@pytest.mark.parametrize(
    ("text", "each", "hours"),
    [
        ("周一到周五每天开 8 小时 ecs.gn7i-c8g1.2xlarge,一个月多少钱", 8, 40 * _WEEKS),
        ("A10 每周跑 20 小时,一个月费用", 20, 20 * _WEEKS),
        ("每周末跑 10 小时 L20,一个月要多少钱", 10, 10 * _WEEKS),
        ("T4 每周只开 3 天,每天 4 小时,月费用", 4, 12 * _WEEKS),
        (
            "I train every Monday and Thursday for 5 hours on g5.xlarge, monthly cost",
            5,
            10 * _WEEKS,
        ),
        ("g6.xlarge two nights a week, 6 hours each, cost per year?", 6, 12 * 12 * _WEEKS),
        ("g5.2xlarge 8 hours a day, 5 days a week for 6 weeks, total cost", 8, 240),
        ("2 hours of L4 every weekday on GCP, what is the bill per month", 2, 10 * _WEEKS),
        ("A10 包月还是按量,每晚 8 小时", 8, 56 * _WEEKS),
    ],
)
def test_hours_of_what_comes_back(text: str, each: float, hours: float) -> None:
    slots = parse(text).slots
    assert slots.hours_per_day == each
    assert slots.hours == pytest.approx(hours, abs=0.06)


@pytest.mark.parametrize(
    "text",
    [
        "7B LoRA 训 3 天,A10,多少钱",
        "ecs.gn7i-c8g1.2xlarge 租一周多少钱",
        "does training on A10 take 3 hours a run?",
        "两周内训完 7B LoRA 要几张 A10",
    ],
)
def test_what_does_not_come_back_is_left(text: str) -> None:
    assert parse(text).slots.hours_per_day is None
