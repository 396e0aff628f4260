"""Turns that only state a setting, bare numbers, and slips of the pen."""

from __future__ import annotations

import pytest

from agent.request import Request
from agent.understanding import parse


def last_of(*turns: str) -> Request:
    history: list[Request] = []
    for turn in turns:
        history.append(parse(turn, history))
    return history[-1]


@pytest.mark.parametrize(
    ("second", "count"),
    [
        ("management says we only get 2 of them", 2),
        ("we may be left with 4 of those", 4),
        ("worst case just one", 1),
    ],
)
def test_a_stated_count_of_cards_changes_the_job(second: str, count: int) -> None:
    request = last_of("full fine-tune Qwen2.5-14B with ZeRO-3 on 8 A100 80GB", second)
    assert request.intent == "fit_check"
    assert (request.slots.model, request.slots.gpu_count) == ("Qwen/Qwen2.5-14B", count)


def test_a_question_about_a_trait_states_no_setting() -> None:
    request = last_of("QLoRA Llama-3.1-8B on an A10, does it fit?", "is bf16 ok on a T4?")
    assert request.slots.model is None


@pytest.mark.parametrize(
    ("turns", "slot", "value"),
    [
        (("serve Llama-3.1-8B to 40 users with 4k context on one L40S", "make that 300"),
         "concurrency", 300),
        (("qwen2.5-7b 推理 并发 20 上下文 4096 用 A10 够吗", "改成 8192"), "seq_len", 8192),
        (("lora qwen2.5-7b on a 4090, batch 2 seq 1024", "make it 2048", "no, 3072"),
         "seq_len", 3072),
    ],
)  # fmt: skip
def test_a_bare_number_takes_the_place_of_the_number_it_can_mean(
    turns: tuple[str, ...], slot: str, value: int
) -> None:
    assert getattr(last_of(*turns).slots, slot) == value


@pytest.mark.parametrize(
    "text",
    [
        "batch_size 我手滑填成0了, 3090 上 7B lora 会怎样",
        "micro batch size accidentally set to 0, lora of a 7B on a 3090",
    ],
)
def test_a_slip_between_name_and_number_is_read_over(text: str) -> None:
    assert [bad.field for bad in parse(text).invalid] == ["batch"]


@pytest.mark.parametrize(
    "text", ["memory of a 0 parameter model on a T4", "0参数的模型在T4上要多少显存"]
)
def test_no_parameters_are_no_model(text: str) -> None:
    assert [bad.field for bad in parse(text).invalid] == ["params_b"]
