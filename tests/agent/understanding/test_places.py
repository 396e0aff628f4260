"""Continents and cities are regions; a list of conditions is a need without a word for machines."""

from __future__ import annotations

import pytest

from agent.understanding import parse


@pytest.mark.parametrize(
    ("text", "region"),
    [
        ("cheapest L4 in the EU", "eu"),
        ("欧洲哪里有便宜的 T4", "eu"),
        ("A10 price in the US", "us"),
        ("亚太区 A100 多少钱", "ap"),
        ("gn7i in Frankfurt, price?", "eu-central-1"),
        ("乌兰察布的 A10 多少钱", "cn-wulanchabu"),
    ],
)
def test_a_place_is_a_region(text: str, region: str) -> None:
    assert parse(text).slots.region == region


@pytest.mark.parametrize("text", ["tell us which GPU is cheap", "what do you offer us for a 7B"])
def test_us_is_mostly_a_pronoun(text: str) -> None:
    assert parse(text).slots.region is None


@pytest.mark.parametrize(
    ("text", "cards", "size"),
    [
        ("深圳,预算 25 元/小时,三张卡以上,每张不低于 16G,能跑 bf16,有哪些", 3, 16.0),
        ("2+ GPUs, 24GB each at least, bf16, under $5/h, in europe", 2, 24.0),
    ],
)
def test_conditions_in_one_line_are_a_need(text: str, cards: int, size: float) -> None:
    need = parse(text).need
    assert need is not None
    assert need.min_gpu_count == cards
    assert need.min_gpu_memory_gb == size
    assert need.bf16
    assert need.max_price is not None
    assert need.region is not None


def test_a_run_within_a_price_is_no_need() -> None:
    assert parse("上海,预算 30 元/小时,两张卡训 7B LoRA,bf16").need is None
