"""How often to save: by the rate that is said, the size of a save, and the type's own band."""

from __future__ import annotations

import math

import pytest

from agent.answer import Answer
from tests.agent.answers import answer


def _figures(found: Answer) -> dict[str, float]:
    return {f.name: float(f.value) for f in found.figures}


@pytest.mark.parametrize(
    ("question", "mtbf_h", "save_s"),
    [
        ("spot interruption rate 10% per hour, checkpoint takes 2 minutes, how often to save?",
         10.0, 120.0),
        ("抢占式每小时中断率 5%, checkpoint 14GB 写到 ESSD PL1, 多久存一次", 20.0, 14e9 / 350e6),
        # a fifth of the machines in 730 h
        ("spot monthly interruption rate 20%, checkpoint takes 1 minute, how often to save?",
         730 / -math.log(0.8), 60.0),
    ],
)  # fmt: skip
def test_the_interval_is_young_and_dalys(question: str, mtbf_h: float, save_s: float) -> None:
    figures = _figures(answer(question))
    assert figures["checkpoint_interval"] == pytest.approx(math.sqrt(2 * save_s * mtbf_h * 3600))
    assert figures["mtbf"] == pytest.approx(mtbf_h)


def test_without_a_rate_six_hours_are_assumed_and_said() -> None:
    found = answer("checkpoint takes 2 minutes on spot, how often to save?")
    assert any(a.name == "mtbf_hours" and a.value == 6 for a in found.assumptions)


def test_a_published_band_stands_beside_the_cautious_guess() -> None:
    found = answer("g5.xlarge spot training, how often to save a checkpoint?")
    assert "monthly band" in found.text


def test_a_full_state_that_takes_long_to_write_makes_spot_a_poor_choice() -> None:
    found = answer("spot 训练 70B 全参, 16 张 A100-80G, checkpoint 存到 PL1 云盘, 多久存一次")
    figures = _figures(found)
    # 14 bytes a parameter of 70.6 B over 350 MB/s, six hours between interruptions
    save_s = figures["checkpoint"]
    assert save_s > 2000
    assert figures["checkpoint_interval"] == pytest.approx(math.sqrt(2 * save_s * 6 * 3600))
    assert "抢占式不划算" in found.text
