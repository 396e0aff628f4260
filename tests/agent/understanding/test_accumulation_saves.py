"""Accumulation raised by itself saves no memory; beside a smaller batch it is the right way."""

from __future__ import annotations

import pytest

from agent.understanding import parse


@pytest.mark.parametrize(
    ("text", "is_wrong"),
    [
        ("increased grad_accum to 128 to cut memory but 7B lora on a 3090 still OOMs", True),
        ("把梯度累积调到 64 来降显存,13B qlora 4090 还是 OOM", True),
        ("lower batch to 1 and more accumulation steps to save memory on a 3090?", False),
        ("does more gradient accumulation change the loss", False),
    ],
)
def test_accumulation_alone(text: str, *, is_wrong: bool) -> None:
    facts = [c.fact for c in parse(text).corrections]
    assert any("micro batch" in fact for fact in facts) is is_wrong
