"""Switches said to be off, halves of a day, and a smaller number of the same cards."""

from __future__ import annotations

import pytest

from agent.understanding import parse


@pytest.mark.parametrize(
    "off", ["不开 offload", "没开 cpu offload", "不带offload", "without offload"]
)
def test_offload_that_is_off(off: str) -> None:
    assert parse(f"14B 全参 zero3 {off} 8张A100 80G 放得下吗").slots.offload is None
    assert parse("14B 全参 zero3 开 offload 8张A100 80G 放得下吗").slots.offload is True


def test_half_a_day_more() -> None:
    """2.5 days are 60 hours."""
    assert parse("租 2 张 A10,每张每小时 9 元,跑2天半要多少钱").slots.hours == 60
    assert parse("租 2 张 A10,每张每小时 9 元,跑2天要多少钱").slots.hours == 48


def test_if_there_were_fewer() -> None:
    first = parse("pretrain a 3B on 60B tokens with 16x H100, how long?")
    then = parse("if only 8 of them?", [first])
    assert (then.intent, then.slots.gpu_count) == ("time_estimate", 8)
    assert then.slots.tokens == 60_000_000_000
