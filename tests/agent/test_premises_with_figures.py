"""False premises that a registry's figures put right: they reach the answer's corrections."""

from __future__ import annotations

import pytest

from agent import ungrounded
from tests.agent.answers import answered


@pytest.mark.parametrize(
    ("question", "told"),
    [
        # 70 billion parameters of two bytes
        ("Since LoRA trains under 1% of weights, a 70B LoRA in bf16 fits my 48GB A6000?", "140 GB"),
        ("LoRA 只训练 0.5% 的参数，所以 32B 的 lora 24G 就够了吧", "64 GB"),
        ("Do Adam states get smaller too when I turn on gradient checkpointing?", "activations"),
        ("开了梯度检查点，优化器状态是不是也会减少", "激活"),
        # the catalog's p3.2xlarge carries one V100 of 16 GB
        ("The p3.2xlarge comes with a 32GB V100 so QLoRA on a 30B should be ok, yes?", "16 GB"),
        ("g5.xlarge 带 48G 的 A10G，跑 13B fp16 没问题吧", "24 GB"),
        # 4,000 GB/s against 2,039 GB/s
        ("H20是阉割版所以推理也比A100慢很多吧，7b单路解码是不是慢一半", "4,000 GB/s"),
    ],
)
def test_a_false_premise_is_put_right_with_its_figure(question: str, told: str) -> None:
    answer, _ = answered(question)
    assert any(told in c.fact for c in answer.corrections)
    assert told in answer.text
    assert not ungrounded(answer, question=question)


def test_the_fit_is_that_of_the_card_that_the_type_carries() -> None:
    answer, _ = answered("The p3.2xlarge comes with a 32GB V100 so QLoRA on a 30B should be ok?")
    assert answer.verdict == "does_not_fit"
    assert answer.memory is not None
    assert (answer.memory.usable_bytes or 0) < 17e9


@pytest.mark.parametrize(
    "question",
    [
        "p3.2xlarge 和一张 32GB 的 V100 哪个适合 QLoRA 30B",
        "g5.xlarge with 24GB A10G, QLoRA 13B ok?",
        "gradient checkpointing and 8-bit Adam for a full 7B fine-tune on an A100 80GB?",
        "LoRA rank 16 of a 7B on an A10, does it fit?",
        "A10 比 A100 推理慢多少",
    ],
)
def test_what_is_true_is_not_corrected(question: str) -> None:
    answer, _ = answered(question)
    assert not [c for c in answer.corrections if c.source.startswith(("rule:", "data:"))]
