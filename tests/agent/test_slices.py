"""A slice of a card named apart from it: the memory is the slice's, and none is borrowed."""

from __future__ import annotations

import pytest

from tests.agent.answers import answered


@pytest.mark.parametrize(
    ("question", "enough"),
    [
        ("H100开了MIG,给我分的是1g.20gb,想部署qwen2.5-14b fp16,可以吗", "3g.40gb"),
        ("they gave me a 1g.10gb slice of an A100-80GB, serve Llama 3.1 8B in bf16?", "1g.20gb"),
    ],
)
def test_what_a_slice_lacks_a_larger_one_has(question: str, enough: str) -> None:
    """14.8e9 * 2 B = 27.5 GiB > 20 GB; 8.03e9 * 2 B = 15 GiB > 10 GB."""
    answer, _ = answered(question)
    assert answer.verdict == "does_not_fit"
    assert enough in answer.text


def test_slices_are_not_joined() -> None:
    answer, _ = answered("A100 80G切了MIG,我手里是1g.10gb,qlora微调qwen2.5-14b行吗")
    assert answer.verdict == "does_not_fit"
    assert "ZeRO-3" not in answer.text
