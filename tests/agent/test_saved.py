"""A changed job against the one before it, and months and spans that a price is multiplied with."""

from __future__ import annotations

import re

import pytest

from agent import ungrounded
from agent.answer import Answer
from agent.answering import compose, composer_of
from agent.answering.plan import Context, advance
from agent.request import Request
from agent.settings import Settings
from agent.toolbox import ToolResult, build_toolbox
from agent.understanding import parse


def _talk(*turns: str) -> tuple[str, list[Answer]]:
    """Composer of the last turn, and the answers to all of them, no number without an origin."""
    tools = {tool.name: tool for tool in build_toolbox(Settings())}
    earlier: list[Request] = []
    answers: list[Answer] = []
    taker = ""
    for turn in turns:
        request, context = parse(turn, earlier), Context(earlier=tuple(earlier))
        taker = composer_of(request, context)
        results: list[ToolResult] = []
        while not isinstance(step := advance(compose(request, context), results), Answer):
            results += [tools[call.name].call(call.arguments) for call in step]
        assert not ungrounded(step, question=" ".join(turns))
        answers.append(step)
        earlier.append(request)
    return taker, answers


def _value(answer: Answer, name: str, unit: str) -> float:
    return next(float(f.value) for f in answer.figures if (f.name, f.unit) == (name, unit))


@pytest.mark.parametrize(
    ("first", "then", "word"),
    [
        (
            "8B full fine-tune, 40M tokens on 8 H100: how long?",
            "with LoRA, how much faster?",
            "less",
        ),
        ("14B LoRA 3万条 一张 L20 要多久", "换成 qlora 慢多少", "多用"),
    ],
)
def test_the_difference_is_that_of_both_estimates(first: str, then: str, word: str) -> None:
    taker, (old, new) = _talk(first, then)
    assert taker == "money.saved"
    assert word in new.text.split("\n\n")[0]
    before, after = _value(old, "hours", "h"), _value(new, "hours", "h")
    assert _value(new, "hours between", "h") == pytest.approx(abs(before - after), abs=1e-3)
    assert _value(new, "hours before", "h") == pytest.approx(before)


def test_a_cheaper_way_is_told_in_money_too() -> None:
    taker, (old, new) = _talk("7B LoRA, 30k samples on an A10: what does it cost?",
                              "and with 4 cards, how much more?")  # fmt: skip
    assert taker == "money.saved"
    between = _value(new, "cost", "CNY") - _value(old, "cost", "CNY")
    assert _value(new, "cost between", "CNY") == pytest.approx(between, abs=0.01)


def test_prices_of_types_are_no_estimates() -> None:
    taker, (old, new) = _talk("g6.xlarge for 60 hours, cost?", "and g5.xlarge, how much more?")
    assert taker == "money.saved"
    between = _value(new, "cost", "USD") - _value(old, "cost", "USD")
    assert _value(new, "cost between", "USD") == pytest.approx(between, abs=0.01)
    assert "estimate" not in new.text


def test_a_smaller_type_of_the_family_is_told_for_the_same_hours() -> None:
    taker, (_, new) = _talk("p3.8xlarge for 20 hours, cost?", "the single card one?")
    assert taker == "money.smaller"
    assert "p3.2xlarge" in new.text
    assert "20 h" in new.text


def test_without_a_change_nothing_is_set_against_anything() -> None:
    taker, _ = _talk("7B LoRA, 30k samples on an A10: how long?", "how long does a 14B take there?")
    assert taker != "money.saved"


@pytest.mark.parametrize(
    ("question", "total"),
    [
        ("A6000 at 0.5 dollars an hour, what does a month around the clock cost?", 365),
        ("4090 2块一小时 一个月不关机多少钱", 1460),
        ("V100 3 元/小时 挂一个星期多少钱", 504),
    ],
)
def test_a_price_that_was_said_is_multiplied_with_a_span(question: str, total: float) -> None:
    taker, (answer,) = _talk(question)
    assert taker == "money.sums"
    assert _value(answer, "cost", "USD" if question.isascii() else "CNY") == pytest.approx(total)


def test_a_month_of_a_card_is_told_on_demand_and_on_spot_for_the_count_that_was_named() -> None:
    _, (answer,) = _talk("one H100 on google cloud running all month, on demand and spot, cost?")
    machine = re.search(r"`([^`]+)` \((\d+)×", answer.text)
    assert machine is not None
    assert machine[2] == "1"
    assert "730 h" in answer.text


def test_undated_prices_are_multiplied_too_and_whole_cards_come_first() -> None:
    _, (answer,) = _talk("腾讯云 T4 挂一个月多少钱")
    lines = [line for line in answer.text.splitlines() if line.startswith("- ")]
    assert any("730 小时" in line for line in lines)
    assert not any("切片" in line for line in lines[:2])


def test_a_sum_beside_a_training_is_held_against_its_cost() -> None:
    _, (answer,) = _talk("60 dollars, 7B QLoRA, 20k samples")
    assert answer.intent == "cost_estimate"
    assert "60" in answer.text
    assert "enough" in answer.text
