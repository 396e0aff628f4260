"""Types against each other at a model, sums over cards, and whether several are needed at all."""

from __future__ import annotations

import pytest

from agent import ungrounded
from tests.agent.answers import answered


def test_types_are_set_against_each_other_by_bandwidth_and_price() -> None:
    """A10G 600 GB/s at 1.006 USD/h, L4 300 GB/s at 0.8048: 25 % dearer, about twice as fast."""
    answer, _ = answered("g5.xlarge vs g6.xlarge for a 7B bf16 chat endpoint")
    figures = {f.name: float(f.value) for f in answer.figures}
    assert figures["price_difference"] == pytest.approx(1.006 / 0.8048 - 1, abs=0.001)
    assert 1.6 < figures["speed_ratio"] < 2.3
    assert "600 GB/s" in answer.text
    assert "300 GB/s" in answer.text
    assert not ungrounded(answer)


def test_the_cards_needed_are_told_with_what_they_hold_together() -> None:
    """140.6 billion parameters of two bytes are 262 GiB of weights."""
    answer, _ = answered("用fp16跑mixtral 8x22b 得几张80G")
    weights = next(float(f.value) for f in answer.figures if f.name == "weights_of_all_cards")
    assert weights / 2**30 == pytest.approx(262, rel=0.01)
    assert answer.request["gpu_count"] == 4
    assert not ungrounded(answer)


def test_several_cards_that_are_doubted_are_set_against_one() -> None:
    answer, _ = answered("8卡4090训sdxl lora有必要吗")
    assert "单卡" in answer.text
    answer, _ = answered("do I really need 4x A100 80GB to serve a 7B in bf16?")
    assert "One NVIDIA A100" in answer.text
    assert not ungrounded(answer)


def test_a_cpu_job_without_a_machine_has_nothing_to_fit() -> None:
    answer, _ = answered("每晚跑一次 kmeans + 逻辑回归，500万行，需要买GPU机器么")
    assert answer.verdict == "not_applicable"
