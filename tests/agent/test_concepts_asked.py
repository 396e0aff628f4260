"""A concept question gets what it asks: the passage on the point, figures where they are asked."""

from __future__ import annotations

import pytest

from tests.agent.answers import answered


@pytest.mark.parametrize(
    ("question", "passage"),
    [
        ("显存带宽和显存容量哪个重要", "guide:cards#capacity-or-bandwidth.zh"),
        ("带宽高的卡好还是显存大的卡好", "guide:cards#capacity-or-bandwidth.zh"),
        ("difference between GB and GiB of gpu memory", "guide:vram#gb-or-gib.en"),
        ("what does gradient checkpointing cost?", "guide:vram#checkpointing.en"),
        ("LoRA 和 QLoRA 有什么不同", "guide:vram#lora-or-qlora.zh"),
    ],
)
def test_the_passage_is_on_the_point(question: str, passage: str) -> None:
    answer, _ = answered(question)
    assert passage in [c.id for c in answer.citations]
    assert passage in answer.text


def test_a_difference_asked_for_is_computed() -> None:
    """The base goes from 2 bytes a parameter to about half a byte: 7e9 * 1.45 B are 9 to 10 GiB,
    of which layers kept in 16 bit and dequantization take back a part."""
    answer, _ = answered("LoRA 和 QLoRA 什么区别，显存差多少")
    saved = next(float(f.value) for f in answer.figures if f.name == "saved")
    assert 3 < saved / 2**30 < 10
    assert answer.text.startswith("**以 7B 为例")


def test_methods_set_against_each_other_are_all_computed() -> None:
    answer, results = answered("full finetuning vs lora for qwen2.5 14b, how much memory?")
    methods = {r.arguments.get("method") for r in results if r.name == "estimate_memory"}
    assert {"full", "lora"} <= methods
    assert "| LoRA |" in answer.text
