"""Which disk a training of images is read from: the set, the need, and what delivers it."""

from __future__ import annotations

import re

import pytest

from agent.answering.links.disk_choice import asks_disk
from agent.understanding import parse
from tests.agent.answers import answer

EIGHT = "训练 ResNet-50,ImageNet 128 万张图,每张 110 kB,8 张 A100,磁盘选什么"


def _mb_per_s(text: str) -> float:
    found = re.search(r"(?:供约|deliver about)\s?([\d.,]+) MB/s", text)
    assert found is not None
    return float(found[1].replace(",", ""))


def test_size_of_the_set_is_images_times_bytes() -> None:
    """1.28e6 images * 110 kB = 140.8 GB."""
    assert "约 141 GB" in answer(EIGHT).text


def test_need_is_images_a_second_times_bytes_and_parts_the_disks() -> None:
    """The images a second that are told, times 0.110 MB; a disk below that is too slow."""
    text = answer(EIGHT).text
    told = re.search(r"约吃 (\d+) 张/秒", text)
    assert told is not None
    need = _mb_per_s(text)
    assert need == pytest.approx(float(told[1]) * 0.110, rel=0.01)
    assert 350 < need < 2500
    fast = text.partition("供得上的")[2].partition("\n")[0]
    slow = text.partition("供不上的")[2].partition("\n")[0]
    assert "NVMe" in fast
    assert "ESSD PL1" in slow
    assert "ESSD PL1" not in fast


def test_a_small_card_is_fed_by_the_slowest_disk() -> None:
    text = answer("train resnet50 on one T4, 110 kB an image, which disk should I use?").text
    assert _mb_per_s(text) < 150
    assert "Too slow" not in text
    assert "a spinning disk (150 MB/s)" in text


@pytest.mark.parametrize(
    ("text", "is_asked"),
    [
        ("train resnet50 on A100, which disk should I use?", True),
        ("训练 ResNet-50 用 A100,云盘怎么选", True),
        ("训练 ResNet-50 数据在 NAS 上 A100 利用率低", False),
        ("serve resnet50 on a T4, which disk?", False),
    ],
)
def test_only_a_training_without_a_storage_asks_for_one(text: str, *, is_asked: bool) -> None:
    assert asks_disk(parse(text)) is is_asked
