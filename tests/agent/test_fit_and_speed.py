"""Fit and speed asked in one breath: both parts get their figures, and no speed where it cannot."""

from __future__ import annotations

import re

import pytest

from agent import ungrounded
from agent.answer import Answer
from tests.agent.answers import answered

_SPEED = re.compile(r"\*\*[^*]*?\d[\d.,]* tokens?/s[^*]*\*\*")


def _figures(answer: Answer, name: str) -> list[float]:
    return [float(f.value) for f in answer.figures if f.name == name]


@pytest.mark.parametrize(
    "question",
    [
        "gpt-oss-120b on a single H100 fits? tokens/s?",
        "llama 3.1 8b on a 4090 fit and how fast",
        "qwen2.5 32b awq 一张 A100 80G 能放下吗 每秒多少 token 支持多少并发",
        "Qwen3-30B-A3B fp8 on H20, 8k ctx, 32 concurrent: enough memory? throughput?",
    ],
)
def test_both_parts_are_answered(question: str) -> None:
    answer, _ = answered(question)
    head = answer.text.split("\n\n| ")[0]
    assert answer.verdict == "fits"
    assert answer.memory is not None
    assert _SPEED.search(head)
    assert re.search(r"(?:区间|range) [\d.,]+–[\d.,]+", head)
    assert not ungrounded(answer, question=question)


def test_no_speed_of_a_run_that_does_not_fit() -> None:
    """70.6e9 weights of two bytes are 141 GB; 24 GB hold them at no speed."""
    answer, _ = answered("llama 3 70b bf16 on one 4090 how fast")
    assert answer.verdict == "does_not_fit"
    assert not _SPEED.search(answer.text)


def test_one_stream_is_told_without_a_total_and_many_with_their_lengths() -> None:
    one, _ = answered("llama 3.1 8b on a 4090 tokens/s")
    assert "in total" not in one.text
    many, _ = answered("llama 3.1 8b on an A100 80G, 1k in / 200 out, 16 users, tokens/s")
    assert "1024" in many.text
    assert "200" in many.text
    assert not ungrounded(many, question="1k in / 200 out, 16 users")


def test_a_ceiling_is_never_exceeded() -> None:
    answer, _ = answered("mistral 7b fp16 on a 4090 how many tokens/s")
    shares = _figures(answer, "share_of_ceiling")
    assert all(share <= 1 for share in shares)
