"""Turns of a few words: settings alone, a number alone, "still", and the same again."""

from __future__ import annotations

import pytest

from agent.request import Request
from agent.understanding import parse

_JOB = "Can I LoRA fine-tune Qwen2.5-7B on a 3090?"


def talk(*turns: str) -> list[Request]:
    history: list[Request] = []
    for turn in turns:
        history.append(parse(turn, history))
    return history


@pytest.mark.parametrize(
    ("turn", "slot", "value"),
    [
        ("batch 4, seq 1024", "batch", 4),
        ("batch 4, seq 1024", "seq_len", 1024),
        ("and with 6000 tokens?", "seq_len", 6000),
        ("only 2048 tokens then", "seq_len", 2048),
        ("8 of them with ZeRO-2?", "gpu_count", 8),
        ("8 of those", "gpu_count", 8),
    ],
)
def test_settings_alone_change_the_job_before(turn: str, slot: str, value: int) -> None:
    last = talk(_JOB, turn)[-1]
    assert getattr(last.slots, slot) == value
    assert last.slots.model == "Qwen/Qwen2.5-7B"
    assert last.slots.task == "train"
    assert last.intent == "fit_check"


@pytest.mark.parametrize("turn", ["No wait, 512.", "sorry, 512", "不对,512", "512"])
def test_a_number_alone_replaces_the_one_just_said(turn: str) -> None:
    last = talk(_JOB, "seq 4096", turn)[-1]
    assert last.slots.seq_len == 512
    assert last.slots.gpu == "GeForce RTX 3090"
    assert last.intent == "fit_check"


def test_a_number_alone_without_a_number_before_it_changes_nothing() -> None:
    last = talk(_JOB, "512")[-1]
    assert last.slots.seq_len is None
    assert last.slots.batch is None


def test_tokens_of_a_data_set_stay_an_amount_of_data() -> None:
    last = talk("7B LoRA on A100, 3 epochs over 20000 samples", "and with 9000 tokens?")[-1]
    assert last.slots.seq_len is None


@pytest.mark.parametrize(
    ("aside", "card"),
    [("Can the T4 do bf16?", "Tesla T4"), ("what is gradient checkpointing?", "GeForce RTX 3090")],
)
def test_same_model_is_found_behind_other_questions(aside: str, card: str) -> None:
    last = talk(_JOB, aside, "inference in fp16 now, same model and card")[-1]
    assert last.slots.model == "Qwen/Qwen2.5-7B"
    assert last.slots.gpu == card  # the card named last
    assert (last.slots.task, last.slots.precision) == ("infer", "fp16")


def test_still_is_no_comparison() -> None:
    job = "Qwen2.5-14B AWQ 推理 4090 够吗"
    assert talk(job, "那换成 L40S,还是 AWQ")[-1].intent == "fit_check"
    assert talk(job, "L40S 还是 A100 好?")[-1].intent == "gpu_compare"


def test_one_card_shares_nothing() -> None:
    last = talk(_JOB, "4 of them with ZeRO-3?", "back to one card")[-1]
    assert last.slots.gpu_count == 1
    assert last.slots.zero_stage is None


def test_after_a_question_about_links_the_fit_is_asked_again() -> None:
    last = talk("13B QLoRA 4090 行吗", "4090 有 NVLink 吗", "改成 A6000 单卡")[-1]
    assert last.intent == "fit_check"
    assert last.slots.params_b == 13


@pytest.mark.parametrize(
    ("first", "turn", "language"),
    [
        ("7B 微调能在 A10 上跑吗?", "Please say that again in English", "en"),
        ("7B 微调能在 A10 上跑吗?", "用英文再说一遍", "en"),
        (_JOB, "用中文回答", "zh"),
        (_JOB, "repeat that", "en"),
    ],
)
def test_the_same_again(first: str, turn: str, language: str) -> None:
    before, last = talk(first, turn)
    assert last.language == language
    assert (last.slots, last.intent) == (before.slots, before.intent)


def test_a_figure_of_a_card_is_no_question_about_the_job() -> None:
    last = talk(_JOB, "how much memory bandwidth does the H20 have?")[-1]
    assert last.intent == "concept"
    assert last.slots.model is None


def test_it_is_the_card_of_the_turn_before() -> None:
    last = talk("what is an L40S?", "does it support FP8?")[-1]
    assert (last.intent, last.slots.gpu) == ("concept", "NVIDIA L40S")


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("L20 的算力和带宽分别多少", "concept"),
        ("what bandwidth does an H20 have", "concept"),
        ("两台 H20 之间带宽多少才够训练", "network_distributed"),
        ("A10 实例的网络带宽多少", "network_distributed"),
    ],
)
def test_a_bandwidth_is_a_cards_where_no_network_is_named(text: str, intent: str) -> None:
    assert parse(text).intent == intent
