"""A cloud that the catalog has no rows of: another's machines are told for scale, and said so."""

from __future__ import annotations

import pytest

from agent.advisor import Advisor
from tests.agent.answers import answer


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("runpod: which gpu for QLoRA of Llama-3.1-8B, cheapest?", "RunPod"),
        ("在 AutoDL 上租什么卡跑 Qwen2.5-7B LoRA 便宜", "AutoDL"),
        ("my Kaggle T4 cannot hold a Qwen2.5-14B lora, which card should I rent", "Kaggle"),
    ],
)
def test_machines_of_another_cloud_are_told_for_scale(question: str, name: str) -> None:
    found = answer(question)
    assert found.offers
    assert {offer.provider for offer in found.offers} == {"alibaba"}
    assert found.text.count(name) == 1


def test_a_card_that_holds_the_run_where_it_is_needs_no_other_cloud() -> None:
    found = answer("QLoRA of Llama-3.2-3B on a free Colab T4, does it fit?")
    assert found.verdict == "fits"
    assert not found.offers


def test_a_need_beyond_the_cards_explains_a_failure_while_loading() -> None:
    """70.6e9 parameters in 4 bits are more than 35 GB; two T4 give 2 * 14.6 GiB."""
    with Advisor() as advisor:
        thread = "a-need-beyond-the-cards"
        advisor.delete(thread)
        first = advisor.ask(
            "Kaggle 2xT4, Llama-3.1-70B in nf4 for a lora: OOM while loading checkpoint shards",
            thread=thread,
        )
        second = advisor.ask("which card do I have to rent for it then", thread=thread)
        advisor.delete(thread)
    assert first.verdict == "does_not_fit"
    assert "A100" in second.text


def test_a_run_that_should_fit_is_still_looked_into_when_it_fails_while_loading() -> None:
    assert answer("4090, QLoRA Qwen2.5-7B, OOM at loading checkpoint shards").verdict == "depends"
