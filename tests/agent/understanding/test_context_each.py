"""Tokens "each" beside users at once are the context of one of them."""

from __future__ import annotations

import pytest

from agent.understanding import parse
from tests.agent.answers import answer


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("Qwen3-32B AWQ on 2x3090, 6 users each 16k, will it do?", 16384),
        ("12 users each 2k, Llama-3.1-8B int8 on an A10, ok?", 2048),
        ("Qwen2.5-14B AWQ 一张 4090,8 个并发,每条 4k,够吗", 4096),
    ],
)
def test_each_is_the_context_of_a_user(text: str, length: int) -> None:
    slots = parse(text).slots
    assert (slots.seq_len, slots.tokens_per_sample) == (length, None)


def test_each_of_samples_stays_theirs() -> None:
    slots = parse("LoRA Qwen2.5-7B on 20k samples, average 600 tokens each, 4090, hours?").slots
    assert (slots.seq_len, slots.tokens_per_sample) == (None, 600)


def test_a_short_context_that_the_default_share_has_no_room_for_names_the_share_it_needs() -> None:
    found = answer("Qwen2.5-72B-Instruct AWQ on 2x4090, 8 users, ok?")
    share = next(float(f.value) for f in found.figures if f.name == "least_utilization")
    assert 0.9 < share <= 0.98
    assert f"gpu_memory_utilization to about {share:g}" in found.text
    assert "it will not start" not in found.text
