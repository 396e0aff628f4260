"""Memory and hours of one run, asked for together."""

from __future__ import annotations

import pytest

from agent.answer import Answer
from tests.agent.answers import answer


def _figures(found: Answer) -> dict[str, float]:
    return {f.name: float(f.value) for f in found.figures}


def test_a_network_on_a_known_set_is_told_both() -> None:
    found = answer("Swin-B on ImageNet from scratch, 512 total batch on 4 A100 40G: memory a card "
                   "and hours for 100 epochs")  # fmt: skip
    figures = _figures(found)
    assert found.memory is not None
    assert figures["share_of_a_card"] == 128
    rate = figures["image per s value"]
    assert figures["hours value"] == pytest.approx(1_281_167 * 100 / rate / 3600, rel=0.01)


def test_pairs_of_preferences_have_hours_and_a_price_beside_their_memory() -> None:
    found = answer("ORPO LoRA on an 8B, 40k pairs, 2xL40S: memory, and hours and dollars?")
    assert found.memory is not None
    assert found.intent == "fit_check"
    assert "hours" in found.text
    assert "40,000 samples" in found.text


def test_a_share_that_checkpointing_makes_fit_leaves_the_verdict_open() -> None:
    found = answer("ViT-L/16 training, 2048 in total over 4 A100 40G, batch 2048 total, fits?")
    assert found.verdict == "depends"
