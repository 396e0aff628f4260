"""Several models on one card at the same time, and boards with one memory for all."""

from __future__ import annotations

import pytest

from agent import ungrounded
from agent.answer import Answer
from agent.understanding import parse
from tests.agent.answers import answer, answered


def _figure(answer: Answer, name: str) -> float:
    return next(float(f.value) for f in answer.figures if f.name == name)


@pytest.mark.parametrize(
    ("question", "verdict", "weights_gb"),
    [
        # 7.6e9 weights of 2 bytes and 0.57e9 of 2 bytes are 16.4 GB
        ("qwen2.5-7b fp16 和 bge-m3 同时放一张 3090", "fits", 16.4),
        # 14.8e9 weights of 2 bytes alone are 29.5 GB
        ("phi-4 and whisper-large-v3 side by side on one RTX 4090?", "does_not_fit", 29.5),
    ],
)
def test_needs_of_models_side_by_side_add_up(
    question: str, verdict: str, weights_gb: float
) -> None:
    answer, _ = answered(question)
    assert answer.verdict == verdict
    assert answer.memory is not None
    assert answer.memory.low_bytes / 1e9 > weights_gb * 0.9
    needs = [float(f.value) for f in answer.figures if f.name.startswith("need of ")]
    assert len(needs) == 2
    assert sum(needs) == pytest.approx(_figure(answer, "need_together"))
    assert not ungrounded(answer, question=question)


@pytest.mark.parametrize(
    "question",
    ["qwen2.5-7b 还是 phi-4,一张 3090 一起考虑", "which of phi-4 or qwen2.5-14b fits a 4090"],
)
def test_models_set_against_each_other_are_not_added(question: str) -> None:
    answer, _ = answered(question)
    assert not any(f.name == "need_together" for f in answer.figures)


@pytest.mark.parametrize(
    ("mark", "text"),
    [
        ("fitting.together", "三个服务挤一张卡"),
        ("fitting.together", "can both models share one card"),
        ("fitting.either", "该选哪个"),
        ("fitting.either", "which of the two"),
    ],
)
def test_words_of_models_on_one_card(mark: str, text: str) -> None:
    assert mark in parse(text).marks


@pytest.mark.parametrize(
    ("question", "verdict"),
    [
        # 3.2e9 weights of 2 bytes are 6.4 GB of 32; 8e9 of 2 bytes are 16 GB of 8
        ("Jetson AGX Orin 32GB 跑 Llama-3.2-3B fp16 行吗", "fits"),
        ("Llama-3.1-8B in fp16 on a Jetson Orin Nano 8GB?", "does_not_fit"),
    ],
)
def test_a_board_has_one_memory_for_all(question: str, verdict: str) -> None:
    answer, _ = answered(question)
    assert answer.verdict == verdict
    assert answer.memory is not None
    assert answer.memory.scope == "unified"
    assert answer.memory.usable_bytes is not None
    assert not ungrounded(answer, question=question)


def test_so_many_models_of_one_size_take_so_many_times_the_need_of_one() -> None:
    one = answer("8B int8 on an L4 with 4 users at 2k, fits?")
    three = answer("can three 8B int8 models share an L4, 4 users at 2k each, fits?")
    parts = {figure.name: float(figure.value) for figure in three.figures}
    assert one.memory is not None
    assert three.memory is not None
    assert three.memory.low_bytes == pytest.approx(3 * one.memory.low_bytes, rel=1e-6)
    assert parts["count"] == 3
    assert three.verdict == "does_not_fit"


def test_copies_fit_where_their_sum_does() -> None:
    found = answer("一张 A100 80G 上跑 4 个 Qwen2.5-7B int8 副本,每个 4 并发 2k,够吗")
    assert found.verdict == "fits"
    assert "0.24" in found.text  # 0.95 of the card over four engines


def test_a_format_that_was_left_open_leaves_the_verdict_open() -> None:
    found = answer("两个不同的 8B 模型一起放到 3090 上,行吗")
    assert found.verdict == "depends"


def test_a_model_beside_a_count_of_cards_is_not_several() -> None:
    request = parse("Qwen2.5-32B int4 on 2 GPUs for 20 users, 3 replicas")
    assert parse("A10 上 20 个并发的 7B 模型").slots.side_by_side is None
    assert request.slots.gpu_count == 2


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("cheap rig: bge-m3 with gte-Qwen2-1.5B-instruct and Mistral-7B-AWQ all on one L4?", 3),
        ("budget box, whisper-large-v3 plus Llama-3.2-3B on a single 3060 12GB, sane or silly", 2),
        ("Yi-1.5-9B-AWQ with bge-m3 on the same 4090", 2),
        ("bge-m3 加上 Qwen2.5-7B-AWQ 全塞一张 T4,便宜方案,行不行", 2),
    ],
)
def test_models_joined_on_one_card_are_counted_together(question: str, count: int) -> None:
    answer, _ = answered(question)
    assert answer.intent == "fit_check"
    assert len([f for f in answer.figures if f.name.startswith("need of ")]) == count
    assert not ungrounded(answer, question=question)


@pytest.mark.parametrize(
    "question",
    [
        "does Qwen2.5-14B or Phi-4 run on one 3090",
        "单张 4090 跑 Qwen2.5-7B 和 Yi-1.5-9B 各要多少显存",
        "fine-tune Qwen2.5-7B and Llama-3.1-8B with LoRA on one A100",
    ],
)
def test_models_apart_are_not_added_up(question: str) -> None:
    answer, _ = answered(question)
    assert not any(f.name == "need_together" for f in answer.figures)
