"""Premises about export cards, FlashAttention, scikit-learn and data parallelism."""

from __future__ import annotations

import pytest

from agent.understanding import parse


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("A800 has less VRAM than the A100, right?", "80 GB"),
        ("H20 的显存比 H100 小吗", "96 GB"),
        ("H800显存是不是被砍了", "NVLink"),
        ("Does flash attention reduce the KV cache size?", "does not reduce"),
        ("开了flash attention KV缓存是不是就能省一半", "不会减小"),
        ("sklearn random forest is slow, would a T4 help?", "CPU"),
        ("随机森林 sklearn 换成gn6i会快吗", "sklearn"),
        ("does DDP split the weights across my 4 GPUs?", "4 cards"),
        ("DDP 会把模型切到四张卡上吧", "4 张卡"),
    ],
)
def test_premise_is_put_right(text: str, said: str) -> None:
    assert any(said in correction.fact for correction in parse(text).corrections)


@pytest.mark.parametrize(
    "text",
    [
        "A800 vs A100 训练差多少",
        "flash attention 能省显存吗",
        "flash attention不会减小kv缓存吧",
        "sklearn KMeans on 2M rows, 8 vCPU",
        "cuML instead of sklearn on a T4",
        "ddp 训练时模型不会切分对吧",
    ],
)
def test_nothing_is_put_right_where_nothing_is_wrong(text: str) -> None:
    facts = [c.fact for c in parse(text).corrections]
    assert not any("KV" in f or "sklearn" in f or "DDP" in f or "A800" in f for f in facts)
