"""One model served over two machines: what a token exchanges over the link."""

from __future__ import annotations

import pytest

from tests.agent.answers import answered


@pytest.mark.parametrize(
    ("question", "layers"),
    [
        (
            "72B AWQ tensor parallel inference, 2 machines, one A6000 each, 25 Gbps enough?",
            80,
        ),
        ("两台机器各一张 4090,万兆网 10Gbps,张量并行推理 Qwen2.5-32B int4 网络够吗", 64),
    ],
)
def test_a_token_makes_two_all_reduces_a_layer(question: str, layers: int) -> None:
    answer, _ = answered(question)
    numbers = {f.name: f.value for f in answer.figures}
    assert float(numbers["all-reduces a token"]) == 2 * layers
    assert "ZeRO" not in answer.text
