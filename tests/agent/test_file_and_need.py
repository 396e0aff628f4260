"""A file's size beside the memory asked for: the rest is told as tokens of context."""

from __future__ import annotations

import pytest

from tests.agent.answers import answer as grounded_answer


def test_the_rest_is_tokens_of_context() -> None:
    told = grounded_answer(
        "the llama3.1 8b gguf file is 4.9GB, why does llama.cpp take 22 GB with 128k context?"
    )
    # 2 (K and V) * 32 layers * 8 heads * 128 * 2 B = 128 KiB
    assert "128 KiB" in told.text
    assert told.memory is not None
    assert told.memory.scope == "host_ram"
    assert told.memory.high_bytes == pytest.approx(22e9)


def test_latent_attention_is_told_both_ways() -> None:
    told = grounded_answer(
        "deepseek-coder-v2 is 8.9GB but ollama says it needs 19.5 GiB system memory"
    )
    # 2 B * 27 layers * 16 heads * (128 + 64 + 128) = 270 KiB
    assert "270 KiB" in told.text


@pytest.mark.parametrize(
    "question",
    [
        "ollama 跑 qwen2.5 14b 需要 16 GB 内存够吗",
        "the gguf is 9 GB and needs 9.5 GB with ollama llama3.1 8b",
    ],
)
def test_a_need_alone_or_a_close_one_is_another_question(question: str) -> None:
    assert "num_ctx × OLLAMA" not in grounded_answer(question).text
