"""Weights count in the format they are published in, where no precision is named."""

from __future__ import annotations

import pytest

from tests.agent.answers import answered
from tools.units import GIB


@pytest.mark.parametrize(
    ("question", "published_gib"),
    [
        # OpenAI's model card: checkpoints of 60.8 GiB and 12.8 GiB.
        ("gpt-oss-120b 单卡 H100 能跑吗", 60.8),
        ("can a single 4090 serve gpt-oss-20b?", 12.8),
    ],
)
def test_mxfp4_models_fit_the_card_they_were_made_for(question: str, published_gib: float) -> None:
    answer, _ = answered(question)
    weights = next(f.value for f in answer.figures if f.name == "weights_resident")
    assert weights / GIB == pytest.approx(published_gib, rel=0.01)
    assert answer.verdict in ("fits", "tight")
    assert "MXFP4" in answer.text
    assert "bf16" in answer.text


def test_deepseek_counts_in_fp8() -> None:
    """671 billion bytes over 8 cards are 78 GiB each; in 16 bit it would be twice that."""
    answer, _ = answered("deepseek r1 671b 满血版 8 卡 H20 够不够")
    assert answer.verdict != "does_not_fit"
    assert answer.memory is not None
    assert answer.memory.low_bytes < 671e9 / 8 + 4 * GIB < answer.memory.high_bytes
    assert "FP8" in answer.text


def test_a_named_precision_wins() -> None:
    answer, _ = answered("serve DeepSeek-V3 in bf16 on 8x H200, enough?")
    assert answer.verdict == "does_not_fit"
    assert answer.memory is not None
    assert answer.memory.low_bytes > 8 * 10**10


def test_a_card_without_fp8_units_is_told_how_it_runs() -> None:
    answer, _ = answered("16 张 A100 80G 能部署 DeepSeek-V3 吗")
    assert "weight-only" in answer.text


def test_models_published_in_16_bit_stay_in_16_bit() -> None:
    answer, _ = answered("Qwen2.5-7B 推理 A10 够吗")
    assert any(a.name == "weight_format" and a.value == "bf16" for a in answer.assumptions)
