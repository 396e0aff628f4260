"""Which cards show a total, and an answer for that total where no card was named."""

from __future__ import annotations

import pytest

from agent.toolbox.resolve import resolve_card
from agent.toolbox.totals import card_total
from tests.agent.answers import answer
from tools.units import GIB


@pytest.mark.parametrize(
    ("total_gib", "label", "shown_by", "not_by"),
    [
        (23.69, 24, {"GeForce RTX 3090", "GeForce RTX 4090", "RTX A5000"}, {"NVIDIA A10"}),
        (22.06, 24, {"NVIDIA A10", "NVIDIA A10G", "NVIDIA L4"}, {"GeForce RTX 4090"}),
        (79.15, 80, {"NVIDIA A100 SXM4 80GB", "NVIDIA H100 SXM5 80GB"}, set()),
        (14.58, 16, {"Tesla T4"}, {"Tesla V100 SXM2 16GB", "GeForce RTX 4080"}),
        (44.4, 48, {"NVIDIA L40S", "NVIDIA A40"}, {"RTX A6000"}),
    ],
)
def test_a_total_of_a_process_tells_the_cards(
    total_gib: float, label: int, shown_by: set[str], not_by: set[str]
) -> None:
    found = card_total(total_gib * 1024)
    assert found is not None
    assert found.label_gb == label
    assert found.is_of_process
    assert shown_by <= {spec.name for spec in found.cards}
    assert not_by <= {spec.name for spec in found.others}
    assert found.usable_mib == int(total_gib * 1024)


def test_a_total_of_nvidia_smi_is_no_total_of_a_process() -> None:
    """24,564 MiB are printed for a 4090, of which 24,084 are for a process."""
    found = card_total(24_564)
    assert found is not None
    assert not found.is_of_process
    assert [spec.name for spec in found.cards] == ["GeForce RTX 4090"]
    assert found.usable_mib == 24_084


@pytest.mark.parametrize("total_gib", [3.1, 60.0, 400.0])
def test_a_total_that_no_card_shows_tells_none(total_gib: float) -> None:
    assert card_total(total_gib * 1024) is None


def test_a_size_with_a_fraction_is_the_total_of_a_card() -> None:
    card = resolve_card(None, memory_gb=23.69)
    label = resolve_card(None, memory_gb=24.0)
    assert card is not None
    assert label is not None
    assert card.spec.memory_label_gb == label.spec.memory_label_gb == 24
    assert card.usable_bytes == pytest.approx(23.69 * GIB, rel=1e-3)
    assert label.usable_bytes is not None
    assert label.usable_bytes < card.usable_bytes  # of the cards of this label the least counts


def test_the_error_is_answered_for_the_total_that_it_shows() -> None:
    told = answer(
        "CUDA out of memory. Tried to allocate 1.10 GiB (GPU 0; 21.99 GiB total capacity; 20.90 "
        "GiB already allocated; 310 MiB free) llama-3.1-8b qlora batch 2 length 2048"
    )
    assert told.memory is not None
    assert told.memory.usable_bytes == pytest.approx(21.99 * GIB, rel=1e-3)
    assert "NVIDIA A10G" in told.text
    assert "GeForce RTX 3090" in told.text  # of the same label, with another total


def test_a_card_that_was_named_needs_no_guess() -> None:
    told = answer(
        "CUDA out of memory. Tried to allocate 1.10 GiB (GPU 0; 23.69 GiB total capacity; 22.90 "
        "GiB already allocated) qwen2.5-7b qlora 3090"
    )
    assert "TITAN RTX" not in told.text


@pytest.mark.parametrize(
    "question",
    [
        "nvidia-smi shows 23034MiB, pytorch says 21.95 GiB and the label is 24GB, which counts?",
        "A10 标称 24G，nvidia-smi 显示 23028MiB，按哪个算",
        "the spec sheet of my L40S says 48 GB, torch shows 44.4 GiB, where does the rest go?",
    ],
)
def test_sizes_of_one_card_are_set_side_by_side(question: str) -> None:
    told = answer(question)
    assert told.verdict == "not_applicable"
    assert told.intent == "concept"
    assert "PyTorch" in told.text.split("\n")[0]
    assert "nvidia-smi" in told.text
    assert "1024 MiB" in told.text


@pytest.mark.parametrize(
    "question",
    [
        "4090 报错 OOM，nvidia-smi 显示才用了 10G，为什么",
        "which one, 24 GB or 48 GB, should I rent for a 14B?",
    ],
)
def test_use_of_a_card_is_no_size_of_it(question: str) -> None:
    assert "1024 MiB" not in answer(question).text
