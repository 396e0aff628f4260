"""An attribute of a type or family that is asked for is told first, known or not."""

from __future__ import annotations

import pytest

from agent import ungrounded
from agent.answering.renting.catalog_facts import attributes_asked
from agent.understanding import parse
from tests.agent.answers import answered


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("阿里云 gn8is 是什么卡 有 NVLink 吗", ("nvlink",)),
        ("a2-highgpu-8g nvlink bandwidth and vram", ("nvlink", "vram")),
        ("gn7i 多少内存 多少核", ("ram", "vcpu")),
        ("g5.xlarge network bandwidth?", ("network",)),
        ("ecs.ebmgn8v 有没有 rdma 多少内存", ("rdma", "ram")),
        ("g6e.xlarge 哪些区有", ("regions",)),
        ("gn7i 是什么", ()),
    ],
)
def test_what_is_asked_of_a_type(question: str, asked: tuple[str, ...]) -> None:
    assert attributes_asked(parse(question)) == asked


@pytest.mark.parametrize(
    ("question", "first"),
    [
        # L20 and A10G: PCIe cards without NVLink; V100: no FP8 (7.0 < 8.9); A10: 8.6 has BF16
        ("阿里云 gn8is 是什么卡 有 NVLink 吗", "没有 NVLink"),
        ("does g5.12xlarge have nvlink", "no NVLink"),
        ("does p5.48xlarge have NVLink", "has NVLink"),
        ("gn6v 的卡支持 FP8 吗", "不支持 FP8"),
        ("gn7i 支持 bf16 吗", "支持 BF16"),
        ("does p4d.24xlarge support EFA?", "has RDMA"),
        ("gn7i 有本地盘吗", "目录没有写"),
    ],
)
def test_the_attribute_comes_first(question: str, first: str) -> None:
    answer, _ = answered(question)
    assert first in answer.text.split("\n\n")[0]
    assert not ungrounded(answer, question=question)


def test_a_price_stays_in_front_of_an_attribute() -> None:
    answer, _ = answered("p4d.24xlarge price and efa?")
    head, second = answer.text.split("\n\n")[:2]
    assert "USD" in head
    assert "RDMA" in second


def test_sxm_links_are_no_bridges() -> None:
    answer, _ = answered("H20 和 H100 SXM 有 nvlink 吗 对比一下")
    assert "桥接" not in answer.text
