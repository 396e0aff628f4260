"""Types of different clouds set against each other, and what a cloud's name is said of."""

from __future__ import annotations

import pytest

from agent.understanding import parse
from tests.agent.answers import answer


@pytest.mark.parametrize(
    ("question", "cards"),
    [
        ("AWS g5.xlarge vs ecs.gn6i-c4g1.xlarge, which is better", ("A10G", "T4")),
        ("GN7.2XLARGE32 at Tencent vs ecs.gn7i-c8g1.2xlarge", ("T4", "A10")),
        ("GN10X.2XLARGE40 和 gn6i-c4g1.xlarge 对比", ("V100", "T4")),
    ],
)
def test_both_types_and_their_cards_are_told(question: str, cards: tuple[str, str]) -> None:
    found = answer(question)
    assert not found.corrections
    first = [line for line in found.text.split("\n") if line.startswith("- ")][:2]
    assert all(card in line for card, line in zip(cards, first, strict=True))


def test_a_cloud_that_has_none_of_the_name_is_still_put_right() -> None:
    kinds = [c.kind for c in parse("does AWS have ecs.gn7i-c8g1.2xlarge").corrections]
    assert kinds == ["other_cloud"]
