"""One number format in place of another, within a question and in the turn behind it."""

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
    ("turns", "precision", "quantization"),
    [
        (("Qwen3-32B-FP8 on one L40S vllm, 8k ctx", "bf16 rather than fp8?"), "bf16", None),
        (("Llama-3.3-70B int4 on 2x A100 80GB tp 2", "and int8 instead of int4"), None, "int8"),
        (("qwen2.5-72b fp8 2张H20 vllm 并发8", "不用fp8 直接bf16呢"), "bf16", None),
        (("qwen2.5-72b fp16 4张A800 vllm", "换成int8,不要fp16"), None, "int8"),
        (("Can I serve Qwen2.5-32B in bf16 instead of int4 on an A100 80GB?",), "bf16", None),
        (("Mixtral 8x7B gptq on a 3090", "and the bf16 weights, not gptq?"), "bf16", None),
    ],
)
def test_what_is_turned_down_is_not_the_format(
    turns: tuple[str, ...], precision: str | None, quantization: str | None
) -> None:
    request = _last(*turns)
    assert request.slots.model is not None
    assert (request.slots.precision, request.slots.quantization) == (precision, quantization)
    assert request.intent != "concept"


def test_whether_to_use_a_format_does_not_turn_it_down() -> None:
    assert _last("要不要用fp16训 8B lora 4090 能行吗").slots.precision == "fp16"


@pytest.mark.parametrize(
    ("question", "length", "users"),
    [
        ("qwen2.5-72b fp8 2张H20 vllm 16k 并发8", 16384, 8),
        ("qwen3-14b sglang 32k 并发 16 A100 80G 够吗", 32768, 16),
        ("vllm 128 并发 4k 上下文 qwen2.5-7b A10", 4096, 128),
    ],
)
def test_thousands_in_front_of_a_counted_word_are_a_length(
    question: str, length: int, users: int
) -> None:
    slots = _last(question).slots
    assert (slots.seq_len, slots.concurrency) == (length, users)
