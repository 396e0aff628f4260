"""Machines of people without cards: one to rent for writing, and many that do not make a GPU."""

from __future__ import annotations

import pytest

from agent import ungrounded
from agent.understanding import parse
from tests.agent.answers import answered


@pytest.mark.parametrize(
    "question",
    [
        "小白一个,想跑个会写故事的 AI,笔记本只有核显和 8G 内存,租什么云机器合适又便宜",
        "I want to run an AI for writing lyrics, my laptop has 8GB RAM, what should I rent?",
    ],
)
def test_what_a_machine_is_to_write_is_its_purpose(question: str) -> None:
    answer, _ = answered(question)
    assert answer.intent == "recommend_instance"
    assert "int4" in answer.text
    assert answer.offers or "ecs." in answer.text
    assert not ungrounded(answer, question=question)


def test_to_write_itself_stays_outside() -> None:
    assert parse("帮我写一部小说").intent == "out_of_scope"
    assert parse("write me a poem about my laptop").intent == "out_of_scope"


@pytest.mark.parametrize(
    ("question", "count", "first"),
    [
        ("办公室 30 台 i7 台式机能拼成集群训练 13B 吗", 30, "不行"),
        ("could we connect 50 old office computers over ethernet to fine-tune a 7B?", 50, "No"),
    ],
)
def test_office_computers_do_not_make_a_gpu(question: str, count: int, first: str) -> None:
    answer, _ = answered(question)
    assert answer.text.startswith(f"**{first}")
    assert answer.verdict == "does_not_fit"
    assert any(f.name == "computers" and f.value == count for f in answer.figures)
    assert not ungrounded(answer, question=question)


def test_machines_with_cards_are_another_matter() -> None:
    for question in ("两台电脑各一张 3090 训练 7B 行吗", "2 office PCs with a 4090 each, 7B LoRA?"):
        assert not answered(question)[0].text.startswith(("**不行", "**No,"))
