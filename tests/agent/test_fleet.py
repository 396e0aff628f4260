"""Many users at once: groups of cards, each with a copy of the model and its share of the users."""

from __future__ import annotations

import pytest

from agent import ungrounded
from tests.agent.answers import answered


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("how many A10 for serving qwen2.5 14b to 200 users 4k ctx", 200),
        ("500 人同时用 qwen2.5 32b awq 8k 上下文 要几张 L20", 500),
    ],
)
def test_groups_hold_all_users_with_the_fewest_cards(question: str, asked: int) -> None:
    answer, _ = answered(question)
    assert answer.verdict == "depends"
    table = {f.name: int(f.value) for f in answer.figures if ", groups of " in f.name}
    sizes = {int(name.rpartition(" ")[2]) for name in table}
    totals = {}
    for size in sizes:
        held = table[f"requests held, groups of {size}"]
        groups = table[f"groups, groups of {size}"]
        assert held * groups >= asked > held * (groups - 1)
        totals[size] = table[f"cards, groups of {size}"]
        assert totals[size] == size * groups
    assert f"{min(totals.values())}" in answer.text.split("\n\n")[0]
    assert not ungrounded(answer, question=question)
