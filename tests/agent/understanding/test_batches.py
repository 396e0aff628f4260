"""A batch over all cards is told apart from what a card holds at a time."""

from __future__ import annotations

from typing import Any

import pytest

from agent.understanding import parse


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "SFT Llama-3-8B full on 4xH100 ZeRO-3, effective batch 64, micro batch size 4, fits?",
            {"global_batch": 64, "batch": 4, "grad_accum": 4},
        ),
        (
            "全参微调 Qwen2.5-14B,总 batch 256,单卡 batch 1,16 张 A800,显存够吗",
            {"global_batch": 256, "batch": 1, "grad_accum": 16},
        ),
        (
            "等效 batch 32 训 Qwen2.5-7B QLoRA,一张 3090,显存够吗",
            {"global_batch": 32, "batch": None},
        ),
        (
            "ResNet-101, batch size 512 in total, four T4 cards, does it fit?",
            {"global_batch": 512, "batch": 128},
        ),
        ("Swin-L 全局 batch 96,6 张 4090,每卡显存?", {"global_batch": 96, "batch": 16}),
        (
            "effective batch 64 with gradient accumulation 4 on 8 A10, ViT-B/16 training memory",
            {"global_batch": 64, "grad_accum": 4, "batch": 2},
        ),
        ("ResNet-50 batch 64 per GPU on 8 V100, memory?", {"global_batch": None, "batch": 64}),
        ("7B LoRA batch 8 on two 4090", {"global_batch": None, "batch": 8}),
    ],
)
def test_whose_batch_it_is(text: str, expected: dict[str, Any]) -> None:
    slots = parse(text).slots
    assert {name: getattr(slots, name) for name in expected} == expected


def test_more_cards_in_a_later_turn_take_smaller_shares() -> None:
    first = parse("ResNet-50, total batch 256 on 2 T4, does it fit?")
    later = parse("and on 8 of them?", [first])
    assert (first.slots.batch, later.slots.batch) == (128, 32)


def test_a_pasted_deepspeed_configuration_gives_both() -> None:
    text = '{"zero_optimization": {"stage": 2}, "train_batch_size": 64, ' \
        '"train_micro_batch_size_per_gpu": 2} 7B full on 8x4090 24G'  # fmt: skip
    slots = parse(text).slots
    assert (slots.global_batch, slots.batch, slots.grad_accum) == (64, 2, 4)
