"""Work that is told in steps: an update's samples times the updates, and sampled answers."""

from __future__ import annotations

import pytest

from agent.answer import Answer
from tests.agent.answers import answer


def _figures(found: Answer) -> dict[str, float]:
    return {f.name: float(f.value) for f in found.figures}


@pytest.mark.parametrize(
    ("question", "samples", "tokens"),
    [
        # 1500 steps of 64 sequences of 4096
        ("Llama-3.1-8B full SFT, 1500 steps, global batch 64, seq 4096, 8xH100, how many hours?",
         96_000, 96_000 * 4096),
        # 2 cards x batch 8 x 2 accumulated = 32 of 512 tokens
        ("Qwen2.5-1.5B LoRA 1000 步,每卡 batch 8,梯度累积 2,序列 512,两张 A10 要多久",
         32_000, 32_000 * 512),
    ],
)  # fmt: skip
def test_updates_times_their_samples(question: str, samples: int, tokens: int) -> None:
    figures = _figures(answer(question))
    assert (figures["samples_of_steps"], figures["tokens"]) == (samples, tokens)


def test_reinforcement_learning_is_updates_and_generation() -> None:
    found = answer("GRPO Qwen2.5-3B, 200 steps, 32 prompts x 4 rollouts of 500 tokens, 4xA100 80G: "
                   "how long?")  # fmt: skip
    figures = _figures(found)
    assert figures["tokens"] == 200 * 32 * 4 * 500
    total = figures["hours of update value"] + figures["hours of generation value"]
    assert figures["hours of all value"] == pytest.approx(total)
    assert figures["hours of generation value"] > 0
    assert "with generation" in found.text


def test_a_data_set_beside_steps_stays_the_work() -> None:
    figures = _figures(
        answer("7B LoRA on 10k samples of 512 tokens, save every 500 steps, A10 hours?")
    )
    assert figures["tokens"] == 10_000 * 512
