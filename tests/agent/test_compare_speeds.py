"""Two cards at one job: both speeds, their ratio, prices."""

from __future__ import annotations

import pytest

from tests.agent.answers import answered


@pytest.mark.parametrize(
    ("question", "fast", "slow"),
    [
        ("4090 和 A10 训练 7B lora 哪个快,差多少", "RTX 4090", "A10"),
        ("H100 和 H200 推理 70B 差多少", "H200", "H100"),
        ("L40S vs A100 80G for serving Qwen2.5-14B, which is faster?", "A100", "L40S"),
    ],
)
def test_the_faster_card_is_named_with_the_ratio(question: str, fast: str, slow: str) -> None:
    answer, results = answered(question)
    first = answer.text.split("\n")[0]
    assert first.index(fast) < first.index(slow)
    speeds = [r.report.tokens_per_s.value for r in results if r.name == "estimate_time_and_cost"]
    ratio = next(float(f.value) for f in answer.figures if f.name == "speed_ratio")
    assert ratio == pytest.approx(max(speeds) / min(speeds), rel=0.01)
    assert "TFLOPS" in answer.text
    assert "| ? |" not in answer.text


def test_decoding_follows_the_bandwidth() -> None:
    """4800 against 3350 GB/s: at most 1.43 times as fast."""
    answer, _ = answered("H100 和 H200 推理 70B 差多少")
    ratio = next(float(f.value) for f in answer.figures if f.name == "speed_ratio")
    assert 1.1 < ratio < 1.45
    assert "放不下这个配置" in answer.text


def test_english_paragraphs_start_with_a_capital() -> None:
    answer, _ = answered("L40S vs A100 80G for serving Qwen2.5-14B, which is faster?")
    assert "\n\nServing Qwen2.5-14B" in answer.text


@pytest.mark.parametrize(
    "question",
    ["H20 就是 H100 换了个名字,算力一样吧", "A10 and A100 are basically the same card, right?"],
)
def test_cards_said_to_be_the_same_are_told_apart(question: str) -> None:
    """H20 and H100: 148 against 989 TFLOPS; A10 and A100: 125 against 312."""
    answer, _ = answered(question)
    facts = " ".join(c.fact for c in answer.corrections)
    assert ("148" in facts and "989" in facts) or ("125" in facts and "312" in facts)
