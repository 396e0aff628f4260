"""Totals of a part of a card, and caches by their heads."""

from __future__ import annotations

import pytest

from agent.understanding import parse
from tests.agent.answers import answered


@pytest.mark.parametrize(
    ("question", "gib", "is_mig"),
    [
        ("our A100 80GB is advertised with 80 but torch reports a total capacity of 9.50 GiB, "
         "defective?", "9.5 GiB", True),
        ("标称24G的A10,程序里总容量 11.2 GiB,是不是坏了", "11.2 GiB", False),
    ],
)  # fmt: skip
def test_a_total_far_below_the_card_is_a_slice(question: str, gib: str, *, is_mig: bool) -> None:
    answer, _ = answered(question)
    assert gib in answer.text
    assert ("MIG" in answer.text) is is_mig
    assert "nvidia-smi -L" in answer.text


def test_the_whole_total_of_a_card_is_no_slice() -> None:
    answer, _ = answered("my 3090 is sold as 24GB but torch reports a total of 23.57 GiB, broken?")
    assert "nvidia-smi -L" not in answer.text


@pytest.mark.parametrize(
    ("question", "share", "saved"),
    [
        ("48 query heads and 8 kv heads: how much does GQA save in the KV cache", "1/6", "83.3%"),
        ("注意力头32个、4个kv头,KV缓存比MHA小多少", "1/8", "87.5%"),
    ],
)
def test_the_cache_goes_with_the_heads_that_are_kept(question: str, share: str, saved: str) -> None:
    """8 of 48 is a sixth; 4 of 32 an eighth."""
    answer, _ = answered(question)
    assert share in answer.text
    assert saved in answer.text


@pytest.mark.parametrize(
    ("text", "is_so"),
    [
        ("8卡DDP,GPU 0 显存比其他卡多 2G 正常吗", True),
        ("with torchrun rank 0 uses more memory than the others, why", True),
        ("card 0 is busy, run a 7B on card 1", False),
    ],
)
def test_more_on_the_first_card(text: str, *, is_so: bool) -> None:
    assert parse(text).says("failures.first_card") is is_so
