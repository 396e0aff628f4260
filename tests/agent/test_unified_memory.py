"""Unified memory: its size counts, its bandwidth is said, and the format decides."""

from __future__ import annotations

import pytest

from agent import ungrounded
from tests.agent.answers import answer, answered


def test_unified_memory_is_told_with_its_bandwidth() -> None:
    """70e9 parameters of two bytes are 140 GB, over the 128; of one byte 70 GB, within them."""
    question = "a DGX Spark has 128GB of unified memory, is it as good as VRAM for a 70B?"
    answer, _ = answered(question)
    assert answer.verdict == "depends"
    assert "273 GB/s" in answer.text
    assert not ungrounded(answer, question=question)


@pytest.mark.parametrize(
    "question",
    [
        "mlx-lm LoRA on a 4-bit Llama-3.1-8B, Mac mini M4 Pro 24GB, batch 1, seq 1024",
        "QLoRA of Mistral-7B on a MacBook M3 Pro 36GB, doable?",
        "M2 Ultra 192GB 上用 mlx 微调 Qwen2.5-32B lora 行吗",
    ],
)
def test_a_mac_trains_adapters_by_mlx(question: str) -> None:
    found = answer(question)
    assert found.verdict in ("fits", "tight")
    assert found.memory is not None
    assert found.memory.scope == "unified"
    assert "--grad-checkpoint" in found.text


def test_what_takes_cuda_or_a_second_card_is_no_way_out_on_a_mac() -> None:
    found = answer("mlx LoRA Qwen2.5-14B bf16 on a MacBook M4 Max 36GB, batch 4, seq 4096")
    assert found.verdict == "does_not_fit"
    for word in ("ZeRO", "8-bit", "fused"):
        assert word not in found.text
