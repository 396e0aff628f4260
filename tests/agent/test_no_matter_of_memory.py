"""Failures that people take for a lack of memory and that are none."""

from __future__ import annotations

import pytest

from agent import ungrounded
from tests.agent.answers import answered


@pytest.mark.parametrize(
    ("question", "head", "word"),
    [
        ("loss turned NaN at step 9 in fp16 on a T4, would a bigger card fix that?", "No", "bf16"),
        ("fp16 微调 13B,loss 突然变成 nan,要不要换 80G 的卡", "不是显存", "loss scaling"),
        ("my loss is nan on 4x A100 with llama-3-8b lora, not enough VRAM?", "not of memory",
         "learning rate"),
        ("训练时报 CUDA error: an illegal memory access was encountered,要加显存吗", "不是显存不够",
         "CUDA_LAUNCH_BLOCKING"),
        ("qwen2.5-7b sft: CUDA error: device-side assert triggered. need a larger GPU?",
         "not a lack of GPU memory", "num_labels"),
    ],
)  # fmt: skip
def test_it_is_said_that_a_larger_card_does_not_help(question: str, head: str, word: str) -> None:
    answer, _ = answered(question)
    assert head in answer.text.split("\n")[0]
    assert word in answer.text
    assert answer.verdict == "not_applicable"
    assert answer.memory is None
    assert not ungrounded(answer, question=question)


def test_the_data_type_of_a_named_card_is_told() -> None:
    old, _ = answered("V100 上 fp16 训练 loss 变 nan,怎么办")
    new, _ = answered("H100 上 fp16 训练 loss 变 nan,怎么办")
    assert "没有 bf16" in old.text
    assert "没有 bf16" not in new.text


def test_a_full_card_stays_one() -> None:
    answer, _ = answered("CUDA out of memory. Tried to allocate 2.00 GiB, Qwen2.5-7B LoRA on a T4")
    assert answer.verdict == "does_not_fit"
