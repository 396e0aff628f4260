"""Ways that a reader asks for by other words: the optimizer said, host memory, experts."""

from __future__ import annotations

import pytest

from tests.agent.answers import answered


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("full fine-tune Qwen2.5-3B, pure bf16, adamw 8bit, one 4090, seq 2048 bs 1", "8-bit"),
        ("Qwen3-30B-A3B 4bit 推理放得进 8G 的 3060 Ti 吗", "主机内存"),
        ("从头训一个 30B 的 MoE,64 张 H20 怎么并行", "专家并行"),
    ],
)
def test_the_way_is_named(question: str, told: str) -> None:
    answer, _ = answered(question)
    assert told in answer.text


def test_states_in_host_memory_are_not_said_to_be_on_the_card() -> None:
    answer, _ = answered("内存 512G 单张 4090,ZeRO-3 offload 全参 7B 行吗")
    assert "0 字节" not in answer.text
