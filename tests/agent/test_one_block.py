"""A training that ran out on one block: its size tells which tensor it is."""

from __future__ import annotations

import pytest

from agent import ungrounded
from tests.agent.answers import answered


@pytest.mark.parametrize(
    ("question", "sequences"),
    [
        (  # 16 * 2048 * 151936 * 4 B = 18.55 GiB
            "grpo trl qwen2.5-3b lora, num_generations=16, max_completion_length=2048, one 4090: "
            "CUDA out of memory. Tried to allocate 18.55 GiB. what asks for that much?",
            16,
        ),
        (  # 4 * 4096 * 128256 * 4 B = 7.83 GiB
            "llama-3.1-8b qlora batch 4 长度4096 单卡3090 "
            "CUDA out of memory. Tried to allocate 7.83 GiB 是谁要的",
            4,
        ),
    ],
)
def test_logits_are_known_by_their_size(question: str, sequences: int) -> None:
    answer, _ = answered(question)
    assert "logits" in answer.text
    figures = {f.name: f.value for f in answer.figures}
    assert figures["sequences"] == sequences
    assert answer.verdict in ("does_not_fit", "depends")
    assert not ungrounded(answer, question=question)


def test_a_block_of_no_known_size_is_not_named() -> None:
    """5.5 GiB is no multiple of 2048 * 151936 * 2 B = 0.58 GiB."""
    question = (
        "lora qwen2.5-1.5b batch 1 seq 2048 on a 3090, "
        "CUDA out of memory. Tried to allocate 5.50 GiB, who takes it?"
    )
    answer, _ = answered(question)
    assert "sequences" not in {f.name for f in answer.figures}
