"""Models that write no text: advice and figures that make sense for them; images as tokens."""

from __future__ import annotations

import pytest

from tests.agent.answers import answered
from tools.memory.images import tokens_of_image
from tools.memory.tables import table


@pytest.mark.parametrize(
    ("family", "height", "width", "tokens"),
    [
        ("qwen2_5_vl", 1024, 1024, 37 * 37),  # 1024 / 28 = 36.6, rounded to 37
        ("qwen3_vl", 2048, 1024, 64 * 32),  # 32 px a token
        ("qwen2_vl", 10_000, 10_000, 16_384),  # the processor's cap
        ("internvl", 448, 448, 256),  # one tile, no thumbnail
        ("internvl", 1024, 1024, 256 * 10),  # 3 x 3 tiles and a thumbnail
    ],
)
def test_tokens_of_an_image(family: str, height: int, width: int, tokens: int) -> None:
    assert tokens_of_image(table("images")[family], height=height, width=width) == tokens


def test_images_count_as_tokens_of_the_sequence() -> None:
    with_image, _ = answered("qwen2.5vl 7b lora 一张 4090 图片 1024x1024")
    without, _ = answered("qwen2.5vl 7b lora 一张 4090")
    assert "1,369" in with_image.text
    assert with_image.memory is not None
    assert without.memory is not None
    assert with_image.memory.low_bytes > without.memory.low_bytes
    assert "4090" in str(with_image.request["gpu"])


def test_a_network_for_images_gets_no_advice_for_language_models() -> None:
    answer, _ = answered("ResNet50 batch 256 在 V100 16G 上能训吗")
    for words in ("LoRA", "序列长度", "logits 也", "长度 512"):
        assert words not in answer.text
    assert any(a.name == "precision" and "fp16" in str(a.value) for a in answer.assumptions)


@pytest.mark.parametrize(
    "question",
    [
        "7B 全参微调 A100 80G 够吗",
        "bert-large seq512 batch 32 能放进 12G 吗",
        "13B LoRA 在 3090 上能训吗",
    ],
)
def test_headline_verdict_and_interval_are_of_one_configuration(question: str) -> None:
    answer, _ = answered(question)
    first = answer.text.split("\n")[0]
    assert answer.memory is not None
    low = f"{answer.memory.low_bytes / 2**30:.1f}"
    assert low in first
    assert ("放不下" in first) == (answer.verdict == "does_not_fit")


def test_a_full_run_of_a_forecaster_names_the_lean_optimizers() -> None:
    """0.709e9 * 12 B = 7.9 GiB of weights and states beside the activations of batch 16."""
    answer, _ = answered("chronos-t5-large 全参微调 fp32 batch 16, 3060 12G 放得下吗")
    assert answer.verdict == "does_not_fit"
    assert "8-bit AdamW" in answer.text
    assert answer.request["model"] == "amazon/chronos-t5-large"
