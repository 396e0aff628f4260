"""Memory that climbs from step to step is a leak in the loop, told before the run's own need."""

from __future__ import annotations

import pytest

from tests.agent.answers import answer


@pytest.mark.parametrize(
    "question",
    [
        "vit-b/16 训练，每个 epoch 显存都涨，跑到第 5 轮就 OOM，列表里存了 loss",
        "training resnet50 on a T4, gpu memory keeps growing every step until it runs out",
        "my own pytorch loop: epoch_loss += loss, and after 900 steps CUDA out of memory",
        "显存越训越高最后 OOM，怎么查",
    ],
)
def test_the_leak_is_told_first(question: str) -> None:
    told = answer(question)
    opening = told.text.split("\n")[0]
    assert ".item()" in opening
    assert "detach" in opening
    assert told.text.count("outputs.append") == 1


@pytest.mark.parametrize(
    "question",
    [
        "resnet50 OOM on a T4 at batch 512",
        "vllm 显存占用越来越高正常吗 qwen2.5-7b 4090",
        "total_loss += loss.item(), still OOM on a 3060 with resnet101 batch 256",
    ],
)
def test_a_full_card_is_no_leak(question: str) -> None:
    assert "outputs.append" not in answer(question).text
