"""What follow-ups are answered with: figures of cards, settings given, headlines that agree."""

from __future__ import annotations

import pytest

from agent.advisor import Advisor
from agent.answer import Answer


def talk(*turns: str) -> list[Answer]:
    with Advisor() as advisor:
        thread = "follow-ups-" + turns[0]
        advisor.delete(thread)
        answers = [advisor.ask(turn, thread=thread) for turn in turns]
        advisor.delete(thread)
    return answers


def test_bandwidth_of_a_card_and_of_the_next_one() -> None:
    first, second = talk("what is the memory bandwidth of an L20?", "and of an A10?")
    assert "864 GB/s" in first.text  # data sheet of the L20
    assert "600 GB/s" in second.text  # data sheet of the A10


def test_a_complete_question_does_not_carry_the_one_before() -> None:
    last = talk("what is the memory bandwidth of an L20?", "what is an L4?")[-1]
    assert "has a memory bandwidth of" not in last.text


def test_settings_of_a_follow_up_are_named() -> None:
    last = talk("QLoRA Llama-3.1-8B on an A10?", "seq 1536, batch 2")[-1]
    assert "length 1536, batch 2" in last.text
    assert last.memory is not None


def test_the_headline_does_not_claim_an_overrun_that_is_none() -> None:
    last = talk("QLoRA Qwen2.5-7B on a 3090", "batch 8")[-1]
    headline = last.text.split("\n")[0]
    assert last.verdict == "tight"
    assert last.memory is not None
    assert last.memory.usable_bytes is not None
    goes_over = last.memory.high_bytes > last.memory.usable_bytes
    assert ("upper end goes over" in headline) == goes_over


@pytest.mark.parametrize("turn", ["有更便宜的吗?", "Is there a cheaper option?", "cheapest?"])
def test_cheaper_does_not_skip_the_card_that_was_just_said_to_fit(turn: str) -> None:
    first, second = talk("7B 微调能在 A10 上跑吗?", turn)
    assert first.verdict == "fits"
    headline = second.text.split("\n")[0]
    assert "1×NVIDIA A10" in headline
    assert "gn7i" in headline  # the family that carries one A10


def test_a_dear_card_gives_way_to_a_cheaper_one() -> None:
    last = talk("7B LoRA 能在 A100 80G 上跑吗?", "有更便宜的吗?")[-1]
    assert "A100" not in last.text.split("\n")[0]


def test_the_same_again_in_english() -> None:
    first, second = talk("7B 微调能在 A10 上跑吗?", "Please say that again in English")
    assert (second.language, second.verdict) == ("en", "fits")
    assert first.memory == second.memory
