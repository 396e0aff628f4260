"""llama-server: one context for all its slots, and advice that leaves out what is set."""

from __future__ import annotations

import pytest

from agent import ungrounded
from agent.answer import Answer
from agent.understanding import parse
from tests.agent.answers import answered


def _figure(answer: Answer, name: str) -> float:
    return next(float(f.value) for f in answer.figures if f.name == name)


@pytest.mark.parametrize(
    ("text", "each", "slots"),
    [
        ("llama-server -m qwen2.5-7b-q4_k_m.gguf -c 32768 -np 8 在 8G 显存上", 4096, 8),
        ("./llama-server -m gemma-2-9b-q5_k_m.gguf --ctx-size 16384 --parallel 2, 12GB?", 8192, 2),
        ("llama-server -m qwen2.5-7b-q4_k_m.gguf -c 8192 -np 1, 8G card", 8192, 1),
        ("OLLAMA_NUM_PARALLEL=4 ollama run qwen2.5:7b, num_ctx 8192, 8G 显存", 8192, 4),
    ],
)
def test_the_context_of_llama_server_is_shared(text: str, each: int, slots: int) -> None:
    read = parse(text).slots
    assert (read.context_of_one, read.concurrency) == (each, slots)


def test_the_cache_is_that_of_the_total() -> None:
    """Qwen2.5-14B keeps 192 KiB a token in 16 bits: 24,576 tokens are 4.5 GiB, whatever -np is."""
    question = "llama-server -m qwen2.5-14b-q4_k_m.gguf -c 24576 -np 6 -ngl 99 on one 3060 12GB"
    answer, _ = answered(question)
    assert answer.verdict == "does_not_fit"
    assert "KV cache | 4.5 GiB" in answer.text
    assert "24576 over 6 slots" in answer.text
    assert 0 < _figure(answer, "layers_that_fit") < 48
    assert "-ctk q8_0" in answer.text
    assert not ungrounded(answer, question=question)


def test_what_is_set_is_not_advised() -> None:
    question = (
        "llama-server -m Qwen2.5-32B-Q4_K_M.gguf -c 65536 -np 2 -ngl 99 -ctk q8_0 -ctv q8_0, 24G 卡"
    )
    answer, _ = answered(question)
    assert parse(question).slots.quantization == "q4_k_m"
    assert "-ctk q8_0" not in answer.text
    assert "q4_0" in answer.text
    assert not ungrounded(answer, question=question)
