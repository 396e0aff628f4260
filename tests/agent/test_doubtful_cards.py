"""A card in a size that it does not come in is asked back."""

from __future__ import annotations

import pytest

from tests.agent.answers import answered


@pytest.mark.parametrize(
    "question",
    [
        "A100 24G 能跑 13B 吗",
        "will a 13B fit on an A100 24GB in bf16?",
        "can a 12GB A10 LoRA a 7B?",
    ],
)
def test_the_verdict_depends_on_the_real_card(question: str) -> None:
    """13e9 * 2 B = 24.2 GiB of weights: too much for 24 GB, enough room on 40 and 80."""
    answer, _ = answered(question)
    assert answer.verdict == "depends"
    first = answer.text.split("\n")[0]
    assert "核对显卡" in first or "Check the card" in first
    if "A100" in question:
        assert "A100 SXM4 40GB" in answer.text
        assert "A100 SXM4 80GB" in answer.text


def test_host_memory_beside_a_card_is_no_size_of_it() -> None:
    answer, _ = answered("llama 70b q4 with llama.cpp on a 4090 with 64 GB RAM")
    assert not answer.corrections
    assert answer.request["host_ram_gb"] == 64
