"""Requests of a day or an hour are a mean rate; a peak is so many times it."""

from __future__ import annotations

import pytest

from agent.understanding import parse


@pytest.mark.parametrize(
    ("text", "rate", "factor"),
    [
        ("864k requests a day, Qwen3-14B on L20, how many cards?", 10.0, None),
        ("每天 432 万次调用,Qwen2.5-7B,峰值是均值的 3 倍,A10 要几张", 50.0, 3.0),
        ("日请求量 86.4 万,Llama-3.1-8B,L4 要多少张", 10.0, None),
        ("36000 chat messages per hour at a 2.5x peak, Mistral 7B, how many T4?", 10.0, 2.5),
        ("Gemma-2-9B gets 5 qps, peak 4 times that, how many A10G?", 5.0, 4.0),
    ],
)
def test_counts_of_a_span_are_a_rate(text: str, rate: float, factor: float | None) -> None:
    slots = parse(text).slots
    assert slots.request_rate_per_s == pytest.approx(rate, rel=1e-3)
    assert slots.peak_factor == factor


@pytest.mark.parametrize(
    "text",
    [
        "how many requests can one A10 take a second with Qwen2.5-7B",
        "train Qwen2.5-7B LoRA on 100k conversations, 3 epochs, how many days on a 4090",
        "A10 一天多少钱,20 个请求同时进来,Qwen2.5-7B",
        "Qwen2.5-7B 高峰 20 人同时用,A10 够吗",
    ],
)
def test_what_is_no_count_of_a_span(text: str) -> None:
    slots = parse(text).slots
    assert slots.rate_is_mean is None
    assert slots.peak_factor is None
