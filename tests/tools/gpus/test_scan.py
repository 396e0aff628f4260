"""Cards in free text, with their counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.gpus import scan_gpus


def _found(text: str) -> list[tuple[str, int | None]]:
    return [(mention.match.spec.name, mention.count) for mention in scan_gpus(text)]


A100, A10, R3090, R4090 = (
    "NVIDIA A100 SXM4 80GB",
    "NVIDIA A10",
    "GeForce RTX 3090",
    "GeForce RTX 4090",
)


@pytest.mark.parametrize(
    ("text", "row", "count"),
    [
        ("7B 微调能在 A10 上跑吗?", A10, None),
        ("4张3090", R3090, 4),
        ("4*A100", A100, 4),
        ("4xA100", A100, 4),
        ("4 x A100", A100, 4),
        ("4×A100", A100, 4),
        ("8卡4090", R4090, 8),
        ("双卡4090", R4090, 2),
        ("我俩4090", R4090, None),
        ("两张A10", A10, 2),
        ("2块A6000", "RTX A6000", 2),
        ("单卡T4", "Tesla T4", 1),
        ("8 * 3090", R3090, 8),
        ("4 2080ti 22Gb", "GeForce RTX 2080 Ti 22GB (modified)", 4),
        ("A10*4", A10, 4),
        ("a100×8", A100, 8),
        ("3090x2", R3090, 2),
        ("T4x2", "Tesla T4", 2),
        ("7900XT 4 cards", "AMD Radeon RX 7900 XT", 4),
        ("单机8*32GV100", "Tesla V100 SXM2 32GB", 8),
        ("8 V100 16GB's", "Tesla V100 SXM2 16GB", 8),
        ("3台8卡L20", "NVIDIA L20", 8),
        ("两台 H100*8", "NVIDIA H100 SXM5 80GB", 8),
        ("2 nodes x 2 A10", A10, 2),
        ("3 nodes of 8x H100", "NVIDIA H100 SXM5 80GB", 8),
        ("two 3090s", R3090, 2),
        ("two 4080s", "GeForce RTX 4080", 2),
        ("一张4080s能跑吗", "GeForce RTX 4080 SUPER", 1),
        ("我的4070s够不够", "GeForce RTX 4070 SUPER", None),
        ("eight NVIDIA A100 GPUs", A100, 8),
        ("昇腾910B 8卡", "Huawei Ascend 910B 64GB", 8),
        ("rtx 5090 ×4", "GeForce RTX 5090", 4),
        ("八张A10起不来", A10, 8),
        ("差不多100张A100", A100, 100),
        ("does it fit on 2x A100 80G for inference", A100, 2),
    ],
)
def test_a_card_and_its_count(text: str, row: str, count: int | None) -> None:
    assert _found(text) == [(row, count)]


@pytest.mark.parametrize(
    "text",
    [
        "ecs.gn7i-c8g1.2xlarge 和 GN10Xp.20XLARGE320",
        "p4d.24xlarge t4g.xlarge m4.xlarge m1.small a2-highgpu-1g",
        "Standard_NC24ads_A100_v4 NV36ads_A10_v5",
        "bge-m3 and bge-reranker-v2-m3",
        "Qwen2-57B-A14B, Qwen3-30B-A3B",
        "max_length 2080, batch 4096",
        "一共3060条数据",
        "2080 tokens",
        "花了3090元",
        "seq=3090",
        "1080p视频 1920x1080",
        "8000 samples",
        "CUDA out of memory. GPU 0 has a total capacity of 22.05 GiB",
        "A100B A1000 XA10 A10x TA4",
        "24G显存够吗",
        "",
    ],
)
def test_what_is_no_card_is_not_found(text: str) -> None:
    assert _found(text) == []


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("A10/T4/L4 哪个好", [A10, "Tesla T4", "NVIDIA L4"]),
        ("V100 32G还是A10 24G 好", ["Tesla V100 SXM2 32GB", A10]),
        ("dual 3090 with NVLink vs dual 4090", [R3090, R4090]),
        ("T4 in T4G", ["Tesla T4", "NVIDIA T4G"]),
        ("腾讯云哪个系列有A10和A100", [A10, A100]),
        ("is P100 30GB or 2xT4 15GB better", ["Tesla P100 PCIe 16GB", "Tesla T4"]),
    ],
)
def test_several_cards_come_in_order(text: str, rows: list[str]) -> None:
    assert [row for row, _ in _found(text)] == rows


@pytest.mark.parametrize(
    "text", ["llama 2 A100", "gpt-4 A100", "cuda 12 A100", "第8张A100", "phi-3 4090"]
)
def test_a_number_of_something_else_is_no_count(text: str) -> None:
    ((_, count),) = _found(text)
    assert count is None


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("A10 32GB RAM", None),
        ("4090 64G内存", None),
        ("A6000 各40G内存", 40),
        ("RTX4090 显存24G", 24),
        ("24g的4090", 24),
        ("4090显卡24G显存", 24),
        ("A10 8G数据", None),
        ("4张3070共64g", None),
    ],
)
def test_memory_of_the_card_is_told_from_other_sizes(text: str, size: float | None) -> None:
    (mention,) = scan_gpus(text)
    assert mention.match.given_memory_gb == size


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("用2080跑", True),
        ("on a 2080 with 32GB RAM", True),
        ("2080能跑吗", True),
        ("value 2080 here", False),
        ("2080x1440", False),
        ("我的1080显卡", True),
        ("第 1080 步", False),
        ("4090?", True),
    ],
)
def test_a_bare_number_is_a_card_only_in_its_place(text: str, found: bool) -> None:
    assert bool(_found(text)) is found


def test_an_ambiguous_name_carries_its_question() -> None:
    (mention,) = scan_gpus("RTX 6000 能跑吗")
    assert "several cards" in (mention.match.conflict or "")
    assert len(mention.match.also) == 2


@given(st.text(alphabet=st.sampled_from("A10T4x*×张卡双 40998GgB-_./()RTX\nv100"), max_size=60))
def test_any_text_is_read_without_error_and_spans_match(text: str) -> None:
    end = 0
    for mention in scan_gpus(text):
        assert mention.start >= end
        assert text[mention.start : mention.end] == mention.text
        assert mention.count is None or mention.count > 0
        end = mention.end


@pytest.mark.parametrize(
    "text",
    [
        "over a 10 Gbps link", "a 40 GB card", "A 100 GB dataset", "a 30 hour job", "a 16 gb gpu",
        "a 10 gbit nic", "a 2 day run", "a 40 layer model",
    ],
)  # fmt: skip
def test_an_article_and_a_measure_are_no_card(text: str) -> None:
    assert _found(text) == []


def test_a_card_with_a_blank_in_its_name_stays_one() -> None:
    assert _found("rent a 10 for a week") == [(A10, None)]
    assert _found("use a 100 80gb") == [(A100, None)]


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("两张3090一张4090", [2, 1]),
        ("4张A100 2张V100", [4, 2]),
        ("A100两张 V100一张", [2, 1]),
        ("A100 8卡", [8]),
        ("一台8卡A100 一台4卡V100", [8, 4]),
    ],
)
def test_a_count_between_two_cards_is_that_of_the_card_without_one(
    text: str, counts: list[int]
) -> None:
    assert [mention.count for mention in scan_gpus(text)] == counts
