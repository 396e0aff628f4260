"""Training in 16 bit and nothing else is read in its many wordings."""

from __future__ import annotations

import pytest

from agent.understanding import parse


@pytest.mark.parametrize(
    "text",
    [
        "Qwen2.5-3B 全参,bf16 纯精度,8bit Adam,24G 够吗",
        "纯 bf16 全参训 Llama-3.2-3B,单卡 A100 40G",
        "full finetune Qwen3-4B, bf16 only, adafactor, fits an L40S?",
        "full SFT of a 7B in bf16 throughout, no fp32 copy, H100: memory?",
        "全程 bf16,不留 fp32 主权重,全参 Qwen2.5-1.5B,A10",
    ],
)
def test_pure(text: str) -> None:
    slots = parse(text).slots
    assert (slots.precision, slots.precision_mode) == ("bf16", "pure")


@pytest.mark.parametrize(
    "text",
    ["Qwen2.5-3B 全参 bf16 混合精度 A100", "full finetune Qwen3-4B in bf16 on an L40S"],
)
def test_not_pure(text: str) -> None:
    assert parse(text).slots.precision_mode in (None, "mixed")
