"""A run that was shared out to its cards stays so when only the method is changed."""

from __future__ import annotations

import pytest

from tests.agent.answers import talked


@pytest.mark.parametrize(
    "turns",
    [
        ("full finetune Llama-3.3-70B on 8x A100 80GB?", "and lora?"),
        ("Qwen2.5-72B 全参 8张H100 80G 放得下吗", "换lora呢"),
    ],
)
def test_lora_behind_a_sharded_full_run_is_sharded(turns: tuple[str, str]) -> None:
    answer = talked(*turns)[-1]
    assert answer.verdict == "fits"
    assert answer.memory is not None
    assert answer.memory.high_bytes < 80e9
    assert "ZeRO-3" in answer.text


def test_lora_asked_by_itself_is_told_both_ways() -> None:
    (answer,) = talked("70B lora on 4x A100 80GB")
    assert answer.verdict == "depends"
