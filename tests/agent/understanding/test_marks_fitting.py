"""What questions about fit say beyond their slots, in wordings of many kinds."""

from __future__ import annotations

import pytest

from agent.understanding import parse

_EXACT = [
    "要个精确的显存数字:Yi-1.5-9B LoRA 长度 3072",
    "精准到 MiB,ResNet-152 训练 batch 48 峰值多少",
    "Gemma-2-9B 全参,麻烦做个模拟",
    "帮我实测下 Phi-3-mini QLoRA 的峰值",
    "I want the exact peak of a LoRA step on Mistral-7B, seq 1536",
    "can you simulate one step of full fine-tuning for BERT-large",
    "how much precisely does Yi-6B QLoRA take, to the MiB",
]
_NOT_EXACT = [
    "微调后精确率掉了,Qwen2.5-3B 在 3090 上还能加大 batch 吗",
    "实测一步 1.2 秒,Yi-6B LoRA 跑 3000 步多久",
    "what exactly is sharded by FSDP",
    "on exactly the same card, does Phi-3-mini run in fp16",
    "does Mistral-7B QLoRA fit a 3060",
]
_SHARED = [
    "20 路并发都带同一段系统提示,相同前缀 1500 token,Yi-1.5-9B 能省多少 KV",
    "开了前缀复用,Mistral-7B 30 并发 4k 显存够吗",
    "automatic prefix caching on, Yi-34B on 2 A100s with 16 users",
    "all 40 sessions share the same prompt of 3k tokens, Phi-3-medium on an L40S",
    "SGLang radix cache, Gemma-2-27B, how many sessions",
]
_NOT_SHARED = [
    "系统提示写长了会不会多占显存,Yi-6B 在 T4 上",
    "the prompts are 3k tokens each, Phi-3-medium on an L40S",
    "prefix tuning of T5-large on a 2080Ti",
]


@pytest.mark.parametrize(
    ("mark", "question"),
    [("exact", text) for text in _EXACT] + [("shared_prefix", text) for text in _SHARED],
)
def test_what_is_said_is_read(mark: str, question: str) -> None:
    assert parse(question).says(f"fitting.{mark}")


@pytest.mark.parametrize(
    ("mark", "question"),
    [("exact", text) for text in _NOT_EXACT] + [("shared_prefix", text) for text in _NOT_SHARED],
)
def test_what_only_sounds_alike_is_not(mark: str, question: str) -> None:
    assert not parse(question).says(f"fitting.{mark}")
