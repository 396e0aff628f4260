"""One instance over all cards against replicas: by what they hold and how fast they are."""

from __future__ import annotations

import pytest

from agent.answer import Answer
from agent.answering import composer_of
from agent.answering.plan import Context
from agent.understanding import parse
from tests.agent.answers import answer


def _figure(found: Answer, name: str) -> float:
    return next(float(figure.value) for figure in found.figures if figure.name == name)


def _requests(found: Answer, name: str) -> float:
    return _figure(found, f"{name}: requests in all")


@pytest.mark.parametrize(
    "question",
    [
        "8 张 A100 40G 上 Yi-34B 推理,一个 tp8 的实例还是起两个 tp4 副本",
        "Yi-34B on 8x A100 40GB: one instance at TP=8, or two replicas at TP=4 each?",
    ],
)
def test_every_layout_is_told_with_what_it_holds(question: str) -> None:
    found = answer(question)
    whole, pair = (_requests(found, f"{n} x TP={8 // n}") for n in (1, 2))
    # weights lie in memory twice: two replicas hold fewer requests than one instance
    assert 0 < pair < whole
    assert _figure(found, "2 x TP=4: copies") == 2


def test_a_model_that_one_card_holds_may_run_on_each() -> None:
    found = answer("2x L20, Mistral-7B: tensor parallel or one replica per gpu (data parallel)?")
    assert _requests(found, "2 x TP=1") > 0
    assert "NVLink" in found.text  # the card has none: the exchange goes over PCIe


def test_fewer_cards_than_hold_the_model_make_no_replica() -> None:
    # 70.6e9 parameters of two bytes are 131 GiB: no four of 24 GB hold them, eight do
    found = answer("Llama-3.1-70B bf16 on 8x RTX 4090: one instance tp8 or two replicas of tp4")
    assert "TP=8" in found.text.split("\n")[0]
    assert not any(figure.name == "2 x TP=4: copies" for figure in found.figures)


@pytest.mark.parametrize(
    "question",
    [
        "8 张 A100 上 Yi-34B 用 tp8 推理放得下吗",
        "DDP or FSDP for Yi-6B on 4 cards, data parallel is simpler",
        "how many replicas of the API server do I need",
    ],
)
def test_other_questions_are_left_alone(question: str) -> None:
    assert composer_of(parse(question), Context()) != "sizing.service_copies"
