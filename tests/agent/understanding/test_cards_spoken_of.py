"""Another job on the cards that were spoken of: by their number, or as the easier case."""

from __future__ import annotations

import pytest

from agent.request import Request
from agent.understanding import parse


def _last(*turns: str) -> Request:
    earlier: list[Request] = []
    for turn in turns:
        earlier.append(parse(turn, earlier))
    return earlier[-1]


@pytest.mark.parametrize(
    ("turns", "gpu", "count"),
    [
        (("Qwen2.5-72B全参 8张A100 80G 放得下吗", "14B全参8卡够了吧"),
         "NVIDIA A100 SXM4 80GB", 8),
        (("can I full finetune llama-3.1-70b on 8x H100", "would an 8B on 4 cards fit?"),
         "NVIDIA H100 SXM5 80GB", 4),
        (("4张3090 训 70B lora 行吗", "那32B总行了吧"), "GeForce RTX 3090", 4),
        (("Qwen3-32B lora on 2x A6000 ok?", "surely 14B then"), "RTX A6000", 2),
    ],
)  # fmt: skip
def test_a_smaller_job_runs_on_them(turns: tuple[str, ...], gpu: str, count: int) -> None:
    slots = _last(*turns).slots
    assert (slots.gpu, slots.gpu_count, slots.task) == (gpu, count, "train")


def test_cards_that_are_looked_for_are_not_those() -> None:
    slots = _last("7B lora 4090 够吗", "13B全参8卡要多少显存").slots
    assert slots.gpu is None
