"""Models that are only described in words."""

from __future__ import annotations

import pytest

from tools.models import described_model


@pytest.mark.parametrize(
    ("text", "hidden", "layers", "heads", "total"),
    [
        # 12 L H^2 + 13 L H + (V + P) H + 2 H: GPT-2's closed form
        ("GPT 498M (1536 hidden x 16 layers)", 1536, 16, 24, 0.498e9),
        ("GPT 3.5B (3072 hidden x 32 layers)", 3072, 32, 48, 3.5e9),
        ("custom GPT 6.86B (h4096 L32 a32)", 4096, 32, 32, 6.86e9),
        ("my transformer: d_model=1024, n_layer 24, 16 heads", 1024, 24, 16, 0.355e9),
        ("隐藏层维度 2048,24层,16个头", 2048, 24, 16, 1.31e9),
    ],
)
def test_width_and_depth_are_taken_as_described(
    text: str, hidden: int, layers: int, heads: int, total: float
) -> None:
    spec = described_model(text)
    assert spec is not None
    assert (spec.hidden_size, spec.num_hidden_layers) == (hidden, layers)
    assert spec.num_attention_heads == heads
    assert spec.params_total == pytest.approx(total, rel=0.03)
    assert spec.is_reference


def test_a_size_alone_is_the_reference_architecture() -> None:
    spec = described_model("an unpublished 22B model")
    assert spec is not None
    assert spec.name == "22B reference architecture"
    mixture = described_model("in-house moe 30B-A3B")
    assert mixture is not None
    assert mixture.moe is not None


def test_a_size_from_elsewhere_decides_the_feed_forward_width() -> None:
    wide = described_model("2048 hidden x 24 layers", params_b=2.0)
    assert wide is not None
    assert wide.params_total == pytest.approx(2.0e9, rel=0.001)
    assert (wide.intermediate_size or 0) > 4 * 2048


@pytest.mark.parametrize(
    "text", ["", "small LSTM", "all-reduce 2 GB", "h l a", "0B", "8x H100, L40"]
)
def test_what_says_nothing_is_none(text: str) -> None:
    assert described_model(text) is None
