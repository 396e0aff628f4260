"""What is said of the catalog holds for the whole catalog, and for larger cards only."""

from __future__ import annotations

import pytest

from tests.agent.answers import answer
from tools.catalog import find_instance


@pytest.mark.parametrize(
    "question",
    ["Full fine-tune Llama-3-70B on 8×A100 80G", "全参微调 Llama-3-70B,8 张 H800"],
)
def test_other_clouds_are_looked_at_before_none_is_said_to_have_it(question: str) -> None:
    found = answer(question)
    assert "No machine with 8 cards" not in found.text
    assert "目录里没有每张卡显存够" not in found.text
    sizes = [find_instance(o.instance_type).offers[0].gpu_memory_gb for o in found.offers]
    assert sizes
    assert all(size is not None and size > 160 for size in sizes)


def test_a_machine_of_two_has_half_of_the_cards() -> None:
    text = answer("full finetune Llama-3.1-405B on 2 nodes of 8xH100 80GB").text
    assert "16 cards in the catalog" not in text


def test_cards_with_more_memory_have_more_memory() -> None:
    text = answer("用 2 张 L4 微调 Qwen3-8B").text
    told = next(line for line in text.split("\n") if line.startswith("每张卡显存更大"))
    assert "A10、" not in told
    assert "不切分（DDP）每张卡要 20.3 GiB，放不下" not in text


def test_a_named_machine_keeps_its_count() -> None:
    text = answer("can I full finetune a 70B on two p4de.24xlarge machines?").text
    assert "4 cards" not in text
