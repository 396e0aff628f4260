"""A length beyond what a model was made for is told, and none is assumed that is."""

from __future__ import annotations

import pytest

from tests.agent.answers import answer
from tools.speed import training_speed
from tools.speed.workload import TrainingJob


@pytest.mark.parametrize(
    ("question", "limit"),
    [
        ("Llama-2-7B QLoRA with 16k context on an A100 80G, fits?", "4096"),
        ("Meta-Llama-3-70B int4 用 4 张 L20 跑 64k 上下文,够吗", "8192"),
        ("serve Phi-3-mini-4k at a context of 20000 on a T4, fits?", "4096"),
    ],
)
def test_more_tokens_than_positions(question: str, limit: str) -> None:
    found = answer(question)
    figures = {f.name: f.value for f in found.figures}
    assert f"{float(figures['positions']):g}" == limit


def test_a_length_within_them_needs_no_word() -> None:
    found = answer("Qwen2.5-7B LoRA with 16k context on an A100 80G, fits?")
    assert "positions" not in {f.name for f in found.figures}


def test_the_assumed_length_is_one_that_the_model_has() -> None:
    job = TrainingJob(gpu="A100 80GB", model="gpt2-medium", stage="pretrain", method="full")
    held = {a.name: a.value for a in training_speed(job).assumptions}
    assert held["seq_len"] == 1024
