"""Interrupted work is paid for the hours that it takes; a GPU that costs less is said to."""

from __future__ import annotations

import re

from tests.agent.answers import answer


def test_spot_is_paid_for_the_longer_time() -> None:
    text = answer("竞价 T4 跑 50 小时,平均每 5 小时被回收一次,多少钱").text
    wall = re.search(r"要跑约 ([\d.]+) 小时", text)
    paid = re.search(r"抢占式按 ([\d.]+) 小时付", text)
    assert wall is not None
    assert paid is not None
    assert wall[1] == paid[1]
    assert float(paid[1]) > 50
    assert "按量跑 50 小时" in text


def test_without_interruptions_the_hours_are_those_said() -> None:
    assert "按 50 小时付" not in answer("竞价 T4 跑 50 小时多少钱").text


def test_a_gpu_that_costs_less_is_not_told_off() -> None:
    text = answer("xgboost 6000 万行 220 列要不要 GPU").text
    assert text.startswith("**不需要 GPU 也能跑完，但")
    assert "要用 GPU 的话" in text


def test_a_short_training_on_a_table_needs_none() -> None:
    assert answer("LightGBM 80 万行 20 列要 GPU 吗").text.startswith("**不需要 GPU**")


def test_half_a_card_is_a_share_in_decimals() -> None:
    text = answer("想租 0.5 张 A10 的实例").text
    assert "ecs.vgn7i-vws-m12.3xlarge" in text
