"""Adapters of diffusion transformers: 16-bit base, 8-bit base, blocks in host memory."""

from __future__ import annotations

import pytest

from agent import ungrounded
from agent.advisor import Advisor
from tests.agent.answers import answered
from tools.units import GIB


@pytest.mark.parametrize(
    "question",
    [
        "hunyuan video想炼个lora,单张3090 24G,musubi,占多少",
        "Wan2.1 14B LoRA on an RTX 3090, doable?",
    ],
)
def test_an_open_base_that_is_too_large_in_16_bit_depends(question: str) -> None:
    """12.8e9 and 14.3e9 parameters * 2 B are 24 and 27 GiB, in 8 bit half of that."""
    answer, _ = answered(question)
    assert answer.verdict == "depends"
    assert "fp8_base" in answer.text
    assert "blocks_to_swap" in answer.text
    assert not ungrounded(answer, question=question)


def test_an_8_bit_base_is_counted_by_its_bits() -> None:
    """11.9e9 * 1 B = 11.1 GiB of weights."""
    answer, _ = answered("flux.1-dev lora训练 --fp8_base 512分辨率 batch 1,4080 16G 行吗")
    assert answer.verdict in ("fits", "tight")
    assert answer.memory is not None
    assert 9 * GIB < answer.memory.low_bytes < 14 * GIB


def test_a_base_said_in_16_bit_is_judged_as_said() -> None:
    thread = "frozen-base"
    with Advisor() as advisor:
        advisor.delete(thread)
        advisor.ask("flux.1-dev lora --fp8_base, 4080 16GB, 512px, bs 1", thread=thread)
        last = advisor.ask("and without fp8, just bf16?", thread=thread)
        advisor.delete(thread)
    assert last.verdict == "does_not_fit"
    assert "bf16" not in (last.request.get("quantization") or "")
    assert "blocks_to_swap" in last.text


def test_swapped_blocks_are_in_host_memory() -> None:
    """20 of 60 blocks: a third of 12.8e9 bytes, 4 GiB."""
    whole, _ = answered("HunyuanVideo LoRA fp8 base on a 4090")
    swapped, _ = answered("HunyuanVideo LoRA fp8 base on a 4090, --blocks_to_swap 20")
    assert whole.memory is not None
    assert swapped.memory is not None
    assert swapped.memory.low_bytes < whole.memory.low_bytes - 2 * GIB
    assert swapped.request["blocks_to_swap"] == 20
