"""What a machine must have, read as a need: each number is given to the words beside it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.request import Money, Slots
from agent.understanding import parse
from agent.understanding.readers.machine_need import read_machine_need
from agent.understanding.readers.need_amounts import read_cards_counted, read_least_amounts


@pytest.mark.parametrize(
    ("text", "points"),
    [
        # the same two numbers, words in front or behind
        ("内存64g 显存24g", {"min_memory_gib": 64, "min_gpu_memory_gb": 24}),
        ("64g内存 24g显存", {"min_memory_gib": 64, "min_gpu_memory_gb": 24}),
        ("ram 64gb, vram 24gb", {"min_memory_gib": 64, "min_gpu_memory_gb": 24}),
        ("64gb ram 24gb vram", {"min_memory_gib": 64, "min_gpu_memory_gb": 24}),
        ("32g内存 16g显存 8核", {"min_memory_gib": 32, "min_gpu_memory_gb": 16, "min_vcpu": 8}),
        ("十六核 64g 内存", {"min_vcpu": 16, "min_memory_gib": 64}),
        ("1.5 tb of ram", {"min_memory_gib": 1536}),
        ("rdma 不低于 200gbps, 网卡 25gbps", {"min_rdma_gbps": 200, "min_network_gbps": 25}),
        ("200g rdma 25g 网络", {"min_rdma_gbps": 200, "min_network_gbps": 25}),
        ("总显存 320g 以上", {"min_total_gpu_memory_gb": 320}),
        ("at least 48gb per gpu", {"min_gpu_memory_gb": 48}),
        ("24g 的卡", {"min_gpu_memory_gb": 24}),
        ("64 gib memory, one card with 24gb of vram",
         {"min_memory_gib": 64, "min_gpu_memory_gb": 24}),
        ("48gb memory each", {"min_gpu_memory_gb": 48}),
        ("3.2 tbps efa", {"min_rdma_gbps": 3200}),
        # numbers of other things, and greatest ones
        ("500g 系统盘, 24g 显存", {"min_gpu_memory_gb": 24}),
        ("显存带宽 900gb/s", {}),
        ("内存不超过 64g", {}),
        ("up to 64gb ram", {}),
        ("ddr4 内存", {}),
    ],
)  # fmt: skip
def test_amounts(text: str, points: dict[str, float]) -> None:
    assert read_least_amounts(text)[0] == points


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("双卡", (2, True)),
        ("四张 4090", (4, True)),
        ("at least two gpus", (2, False)),
        ("8-gpu box", (8, True)),
        ("4 gpus or more", (4, False)),
        ("至少 4 张 a10", (4, False)),
        ("4x a100", (4, True)),
        ("半张卡", None),
        ("1/4 张卡", None),
        ("最多 4 张卡", None),
        ("3 gpu hours", None),
        ("a100", None),
    ],
)
def test_cards_counted(text: str, counted: tuple[int, bool] | None) -> None:
    assert read_cards_counted(text) == counted


@pytest.mark.parametrize(
    ("question", "field", "value"),
    [
        ("有 NVLink 的机器有哪些", "nvlink", True),
        ("没有 NVLink 的机器有哪些", "nvlink", False),
        ("有没有 NVLink 的机器", "nvlink", True),
        ("不需要 NVLink,双卡的机型", "nvlink", None),
        ("boxes without RDMA, RDMA is no wish", "rdma", False),
        ("boxes where RDMA is optional, no NVLink is fine", "nvlink", None),
        ("不要切片的 A10 实例", "slices", "none"),
        ("半张 A10 的实例", "slices", "only"),
        ("整张 A10 的实例", "slices", "none"),
        ("半张 A10 的实例", "gpu_share", 0.5),
        ("哪个规格是 1/4 张卡", "gpu_share", 0.25),
        ("instances with half an L4", "gpu_share", 0.5),
        ("which size has an eighth of a card", "gpu_share", 0.125),
        ("which sizes hold a whole one", "gpu_share", 1.0),
        ("instances with FP8 at half the price", "gpu_share", None),
        ("instances with FP8 for half an hour", "gpu_share", None),
        ("除了 AWS 哪些机器有 FP8", "exclude_providers", ("aws",)),
        ("FP8 machines, not on Azure", "exclude_providers", ("azure",)),
        ("machines with 1TB RAM, no GPU sharing", "slices", "none"),
        ("machines with FP8 except AWS and Azure", "exclude_providers", ("aws", "azure")),
        ("哪些机器每小时 20 元以内", "max_price_of_card", False),
        ("8 卡机器,每卡每小时 20 元以内的", "max_price_of_card", True),
        ("什么卡的实例有 FP8", "asks_cards", True),
    ],
)
def test_features_names_and_prices(question: str, field: str, value: object) -> None:
    need = parse(question).need
    assert need is not None
    assert getattr(need, field) == value


def test_a_price_of_an_hour_is_a_limit() -> None:
    need = parse("which GPU machines are under $4 an hour").need
    assert need is not None
    assert isinstance(need.max_price, Money)
    assert (need.max_price.amount, need.max_price.currency) == (4.0, "USD")


@pytest.mark.parametrize(
    "question", ["7B 微调要多少显存", "what is NVLink", "你好", "什么卡的实例便宜"]
)
def test_nothing_is_looked_for(question: str) -> None:
    assert parse(question).need is None


@given(st.text(max_size=80))
def test_any_text_can_be_read(text: str) -> None:
    read_machine_need("机器 " + text, Slots(), inferred=frozenset(), budget=None)
