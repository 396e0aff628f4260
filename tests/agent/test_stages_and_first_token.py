"""ZeRO stages set against each other, the wait for the first token, time of training steps."""

from __future__ import annotations

import pytest

from agent.answer import Answer
from agent.understanding import parse
from tests.agent.answers import answered


def _figure(answer: Answer, name: str) -> float:
    return next(float(f.value) for f in answer.figures if f.name == name)


@pytest.mark.parametrize(
    ("text", "stages"),
    [
        ("zero2还是zero3", (2, 3)),
        ("DDP or FSDP?", (0, 3)),
        ("用zero 2 还是 3", (2, 3)),
        ("ZeRO-1 vs ZeRO-2", (1, 2)),
        ("zero3 on 2 or 4 cards", (3,)),
        ("DeepSpeed 4卡还是8卡", ()),
    ],
)
def test_stages_are_read(text: str, stages: tuple[int, ...]) -> None:
    assert parse(text).stages == stages


@pytest.mark.parametrize(
    "question",
    [
        "8卡A800 80G lora训llama3.3-70b bf16 zero2还是zero3",
        "LoRA on Llama-3.3-70B in bf16, 8x A800 80G: ZeRO-2 or ZeRO-3?",
    ],
)
def test_whole_weights_of_zero_2_do_not_fit_where_those_of_zero_3_do(question: str) -> None:
    answer, _ = answered(question)
    # 70.6e9 parameters of two bytes are 131 GiB: more than any one of the cards holds
    assert answer.verdict == "fits"
    assert "ZeRO-3" in answer.text.split("\n")[0]
    assert "132 GiB" in answer.text or "131 GiB" in answer.text


def test_the_lesser_split_is_taken_where_it_leaves_room() -> None:
    answer, _ = answered("LoRA of Qwen2.5-7B on 8x H100, ZeRO-2 or ZeRO-3?")
    assert answer.text.startswith("**ZeRO-2 will do**")


@pytest.mark.parametrize(
    "question",
    [
        "Qwen2.5-32B on 2x A100, 30k-token prompts, time to first token is 8 s. what helps",
        "2张A100部署Qwen2.5-32B 提示词30000 token 首token太慢怎么优化",
    ],
)
def test_the_wait_for_the_first_token_is_compute(question: str) -> None:
    answer, _ = answered(question)
    assert answer.verdict == "depends"
    # 2 x 32.76e9 x 30,000 = 1,966 TFLOP over 2 x 312 TFLOPS
    assert _figure(answer, "prefill_work") == pytest.approx(1966, rel=0.01)
    assert _figure(answer, "least_wait") == pytest.approx(3.15, rel=0.01)
    assert len(answer.text) <= 2500


def test_a_wait_that_is_only_asked_for_is_a_speed() -> None:
    answer, _ = answered("A10上7B首字延迟大概多少")
    assert all(figure.name != "prefill_work" for figure in answer.figures)


@pytest.mark.parametrize(
    ("question", "unit"),
    [
        ("SDXL lora, 1500 steps batch 1 at 1024 px on a 4090. minutes or hours?", "s per step"),
        ("resnet50 训练 5万步 batch 256 单卡A10 要多久", "秒/步"),
    ],
)
def test_steps_of_a_batch_are_images(question: str, unit: str) -> None:
    answer, _ = answered(question)
    assert unit in answer.text
    hours = _figure(answer, "steps") * _figure(answer, "seconds_a_step") / 3600
    assert _figure(answer, "hours of steps value") == pytest.approx(hours, rel=0.01)
