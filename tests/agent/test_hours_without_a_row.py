"""Hours of trainings whose model has a size and no row, no row and no size, or no name."""

from __future__ import annotations

import pytest

from agent.understanding import parse
from tests.agent.answers import answered


@pytest.mark.parametrize(
    ("question", "size"),
    [
        ("train miniGPT 85M on 2B tokens with a 3090, how long", 0.085),
        ("一张 A10 从头训 RWKV 170M,70 亿 token 要几天", 0.17),
        ("mamba 130M on 10B tokens, one L40S: days?", 0.13),
    ],
)
def test_millions_behind_a_name_are_a_size(question: str, size: float) -> None:
    request = parse(question)
    assert request.slots.params_b == pytest.approx(size)
    answer, results = answered(question)
    assert answer.intent == "time_estimate"
    assert any(r.name == "estimate_time_and_cost" and r.ok for r in results)


def test_millions_of_tokens_are_no_size() -> None:
    assert parse("train a transformer on 300M tokens").slots.params_b is None


@pytest.mark.parametrize(
    "question",
    ["训练 Tacotron2 要几天,用 T4", "how long does a Zipformer take to train on 2 A10?",
     "VITS2 训练多久,一张 3080"],
)  # fmt: skip
def test_a_kind_without_a_model_of_speed_is_to_be_measured(question: str) -> None:
    answer, _ = answered(question)
    assert "100–200" in answer.text
    assert "计算能力" not in answer.text
    assert "compute capability" not in answer.text


def test_a_voice_is_no_vision_transformer() -> None:
    answer, _ = answered("VITS 声音克隆训练,3060 要几天")
    assert "张图" not in answer.text


@pytest.mark.parametrize(
    "question", ["微调要多久,卡是 L20", "how many days does training take on an L4?"]
)
def test_without_a_model_an_example_is_counted(question: str) -> None:
    answer, _ = answered(question)
    assert "7B" in answer.text.split("\n")[0]
    assert any(a.name == "params_b" for a in answer.assumptions)


@pytest.mark.parametrize(
    ("question", "before", "after"),
    [
        ("Will going from 2 to 4 H100 make training twice as fast?", 2, 4),
        ("A100 从 2 卡扩到 8 卡,训练是线性加速吗", 2, 8),
    ],
)
def test_more_cards_are_told_by_the_ratio_of_speeds(question: str, before: int, after: int) -> None:
    answer, _ = answered(question)
    figures = {f.name: float(f.value) for f in answer.figures}
    assert (figures["cards before"], figures["cards after"]) == (before, after)
    assert 1 < figures["ratio of speeds"] <= after / before
