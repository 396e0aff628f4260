"""A frozen backbone under a trained head is one forward pass, not a training of its own."""

from __future__ import annotations

import pytest

from agent.understanding import parse
from tests.agent.answers import answer
from tools.units import GIB


@pytest.mark.parametrize(
    "text",
    [
        "linear probing of a ViT-B/16, batch 256",
        "freeze the backbone of resnet50 and train a classifier",
        "swin-b 冻结主干，只训分类头",
        "DINOv2-L is frozen, a linear head is trained",
        "线性探测 convnext-large",
    ],
)
def test_wordings_of_a_frozen_backbone(text: str) -> None:
    assert parse(text).says("fitting.frozen_backbone")


@pytest.mark.parametrize(
    "text",
    [
        "qwen2.5-vl-7b lora, freeze the vision encoder",
        "sdxl lora with a frozen text encoder",
        "llama with 32 attention heads",
        "the run freezes after an hour",
        "linear speedup over 8 cards",
    ],
)
def test_other_things_that_are_frozen_or_linear(text: str) -> None:
    assert not parse(text).says("fitting.frozen_backbone")


def test_weights_and_one_pass_are_all_that_counts() -> None:
    """304.4 million parameters: 1.13 GiB in fp32, half of that in 16 bit; full training holds 16
    bytes a parameter and the activations of every layer."""
    told = answer("frozen ViT-L/16 with a linear head on a 3060 12GB, batch 64, fits?")
    figures = {f.name: float(f.value) for f in told.figures}
    assert figures["weights_fp32"] == pytest.approx(304.4e6 * 4, rel=0.01)
    assert figures["weights_16_bit"] == pytest.approx(304.4e6 * 2, rel=0.01)
    assert told.verdict == "fits"
    assert told.memory is not None
    assert told.memory.high_bytes < 4 * GIB
    assert "no_grad" in told.text


@pytest.mark.parametrize("method", ["lora", "全参"])
def test_a_named_method_is_what_is_trained(method: str) -> None:
    assert "no_grad" not in answer(f"ViT-L/16 {method} 训练，带一个分类头，3090 batch 64").text


def test_without_a_card_the_need_is_told() -> None:
    told = answer("how much memory does a linear probe on a ResNet-152 take at batch 128?")
    assert told.verdict == "not_applicable"
    assert told.memory is not None
