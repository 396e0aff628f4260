"""What a setting is believed to do: accumulation taken for memory, a size of tensor parallelism."""

from __future__ import annotations

import pytest

from agent.understanding import parse
from tests.agent.answers import answered


@pytest.mark.parametrize(
    "text",
    [
        "grad accum of 32 stacks up the gradients so memory grows 32 times, yes?",
        "梯度累积8步等于激活要存8份,我12G卡跑不了吧",
        "累积步数越大显存越大是吗,那我3060只能累积2步",
        "accumulation holds every micro batch's activations until the step, so I need an 80GB card",
        "gradient_accumulation_steps: 16 takes 16x the activations, my T4 will die",
        "梯度累积会把显存翻倍吧",
    ],
)
def test_accumulation_takes_no_memory(text: str) -> None:
    assert "accumulation" in {c.kind for c in parse(text).corrections}


@pytest.mark.parametrize(
    "text",
    [
        "梯度累积能省显存吗",
        "does gradient accumulation save memory compared with batch 32?",
        "accumulation does not multiply the activations, so batch 1 x 32 fits a T4?",
        "7B lora batch 1 累积16步,24G够吗",
        "will gradient accumulation increase training time",
        "batch 16 takes 16x the activations of batch 1, so use accumulation instead",
    ],
)
def test_accumulation_that_is_understood_is_left_alone(text: str) -> None:
    assert "accumulation" not in {c.kind for c in parse(text).corrections}


def test_a_feared_accumulation_is_answered_for_small_cards() -> None:
    answer, _ = answered("accumulating 64 steps keeps 64x the activations so my 8GB card cannot")
    assert answer.intent == "concept"
    assert "micro batch" in answer.text
    assert "A100" not in answer.text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("6张3090跑Qwen2.5-72B-awq,tp=6,总共144G肯定够", "64"),
        ("3x A10, vllm llama-3.1-8b --tensor-parallel-size 3, should fit right", "32"),
        ("five A100s, qwen2.5-32b --tensor-parallel-size 5, plenty of memory", "8 KV"),
    ],
)
def test_a_size_that_does_not_divide_is_put_right(text: str, said: str) -> None:
    facts = [c.fact for c in parse(text).corrections if c.kind == "tp_heads"]
    assert len(facts) == 1
    assert said in facts[0]


@pytest.mark.parametrize(
    "text",
    [
        "4x 3090 llama-3.3-70b awq tp=4 fits right?",
        "can i use tp=3 for llama-3.1-8b on three A10",
        "llama-3.3-70b awq on 3x 3090 with --pipeline-parallel-size 3, enough?",
        "tp=3 失败:64 attention heads must be divisible by tensor parallel size 3,三张3090够大啊",
    ],
)
def test_a_size_that_divides_or_is_asked_is_not(text: str) -> None:
    assert "tp_heads" not in {c.kind for c in parse(text).corrections}
