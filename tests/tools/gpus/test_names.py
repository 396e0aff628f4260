"""One written name to one card."""

from __future__ import annotations

import pytest

from tools.errors import AmbiguousGpuError, UnknownGpuError
from tools.gpus import find_gpu, scan_gpus, slices_of
from tools.units import MIB


@pytest.mark.parametrize(
    ("written", "row"),
    [
        ("a100-80g", "NVIDIA A100 SXM4 80GB"),
        ("A100-SXM4-40GB", "NVIDIA A100 SXM4 40GB"),
        ("A100 PCIe", "NVIDIA A100 PCIe 80GB"),
        ("A100 (80GB)", "NVIDIA A100 SXM4 80GB"),
        ("32GV100", "Tesla V100 SXM2 32GB"),
        ("V100-16GB (p3.16xlarge)", "Tesla V100 SXM2 16GB"),
        ("H100-80GB HBM3", "NVIDIA H100 SXM5 80GB"),
        ("NVIDIA H100 80GB HBM3", "NVIDIA H100 SXM5 80GB"),
        ("2080ti 22g(魔改)", "GeForce RTX 2080 Ti 22GB (modified)"),
        ("4090D 48G", "GeForce RTX 4090 48GB (modified)"),
        ("4060ti16G", "GeForce RTX 4060 Ti 16GB"),
        ("RTX 4090 笔记本", "GeForce RTX 4090 Laptop 16GB"),
        ("NVIDIA GeForce RTX 4080 Laptop GPU", "GeForce RTX 4080 Laptop 12GB"),
        ("6G 的3060笔记本", "GeForce RTX 3060 Laptop 6GB"),
        ("RTX 6000 24G", "Quadro RTX 6000"),
        ("RTX 6000 48GB", "RTX 6000 Ada Generation"),
        ("RTX 5000 Ada", "RTX 5000 Ada Generation"),
        ("A6000", "RTX A6000"),
        ("华为昇腾910B3", "Huawei Ascend 910B3"),
        ("Ascend 910", "Huawei Ascend 910A 32GB"),
        ("ＲＴＸ４０９０", "GeForce RTX 4090"),
        ("RTX 4090 (WSL2)", "GeForce RTX 4090"),
        ("T4 16GB + 208GB DRAM + 1.5TB SSD (GCP)", "Tesla T4"),
        ("V100S", "Tesla V100S PCIe 32GB"),
        ("4070TiS", "GeForce RTX 4070 Ti SUPER"),
        ("RTX 4080S", "GeForce RTX 4080 SUPER"),
        ("T4G", "NVIDIA T4G"),
        ("L40S", "NVIDIA L40S"),
        ("TITAN X (Maxwell)", "GeForce GTX TITAN X"),
    ],
)
def test_a_spelling_finds_its_card(written: str, row: str) -> None:
    match = find_gpu(written)
    assert match.spec.name == row
    assert match.conflict is None


@pytest.mark.parametrize(
    ("written", "row", "also"),
    [
        ("A100", "NVIDIA A100 SXM4 80GB", "NVIDIA A100 SXM4 40GB"),
        ("H100", "NVIDIA H100 SXM5 80GB", "NVIDIA H100 NVL 94GB"),
        ("V100", "Tesla V100 SXM2 16GB", "Tesla V100 SXM2 32GB"),
        ("RTX 3060", "GeForce RTX 3060 12GB", "GeForce RTX 3060 Laptop 6GB"),
        ("4060 Ti", "GeForce RTX 4060 Ti 8GB", "GeForce RTX 4060 Ti 16GB"),
        ("910B", "Huawei Ascend 910B 64GB", "Huawei Ascend 910B4 32GB"),
    ],
)
def test_a_bare_name_says_what_else_it_may_be(written: str, row: str, also: str) -> None:
    match = find_gpu(written)
    assert match.spec.name == row
    assert also in [spec.name for spec in match.also]


def test_a_size_leaves_no_doubt() -> None:
    assert find_gpu("A100 40G").also == ()


@pytest.mark.parametrize("name", ["RTX 6000", "RTX5000", "rtx 4000", "Apple Silicon", "A10 / T4"])
def test_a_name_of_several_cards_is_asked_about(name: str) -> None:
    with pytest.raises(AmbiguousGpuError) as caught:
        find_gpu(name)
    assert len(caught.value.candidates) >= 2


@pytest.mark.parametrize(
    ("written", "nearest", "sizes"),
    [
        ("A100 24G", "NVIDIA A100 SXM4 40GB", "40 or 80 GB"),
        ("A10 80G", "NVIDIA A10", "24 GB"),
        ("A6000 40G", "RTX A6000", "48 GB"),
        ("P100 30GB", "Tesla P100 PCIe 16GB", "12 or 16 GB"),
        ("23G的A100", "NVIDIA A100 SXM4 40GB", "40 or 80 GB"),
        ("4090 Ti", "GeForce RTX 4090", "not a known card"),
        ("Jetson Orin Super", "Jetson AGX Orin 64GB", "not a known card"),
    ],
)
def test_a_size_that_does_not_exist_is_questioned(written: str, nearest: str, sizes: str) -> None:
    match = find_gpu(written)
    assert match.spec.name == nearest
    assert match.conflict is not None
    assert sizes in match.conflict


def test_a_size_joined_to_the_name_is_read_where_the_card_has_it() -> None:
    assert find_gpu("A100-40").spec.name == "NVIDIA A100 SXM4 40GB"
    assert find_gpu("3060 12gig").given_memory_gb == 12


def test_a_comma_before_the_count_parts_sentences_and_no_thousands() -> None:
    assert [(m.count, m.match.spec.name) for m in scan_gpus("2.03 GiB,2*A30,34b")] == [
        (2, "NVIDIA A30")
    ]
    assert [m.match.spec.name for m in scan_gpus("batch 4, 3090 enough?")] == ["GeForce RTX 3090"]
    assert scan_gpus("it costs 1,3090") == []
    assert [m.match.spec.name for m in scan_gpus("batch 8,4090 够吗")] == ["GeForce RTX 4090"]
    assert [m.match.spec.name for m in scan_gpus("4090,512 长度")] == ["GeForce RTX 4090"]


@pytest.mark.parametrize(("written", "row"), [("A10 22G", "NVIDIA A10"), ("T4 15GB", "Tesla T4")])
def test_what_a_tool_shows_of_a_card_is_no_contradiction(written: str, row: str) -> None:
    match = find_gpu(written)
    assert (match.spec.name, match.conflict) == (row, None)


@pytest.mark.parametrize(
    ("written", "row", "slice_gb"),
    [
        ("A100 MIG 1g.5gb", "NVIDIA A100 SXM4 40GB", 5),
        ("A100 80GB MIG 1g.10gb", "NVIDIA A100 SXM4 80GB", 10),
        ("H100 1g.10gb", "NVIDIA H100 SXM5 80GB", 10),
        ("MIG-3g.40gb", "NVIDIA A100 SXM4 80GB", 40),
        ("A30 2g.12gb", "NVIDIA A30", 12),
        ("A10-4Q", "NVIDIA A10", 4),
        ("A40-48C", "NVIDIA A40", 48),
    ],
)
def test_a_slice_has_its_own_memory(written: str, row: str, slice_gb: float) -> None:
    match = find_gpu(written)
    assert match.spec.name == row
    assert match.slice_memory_gb == slice_gb
    assert match.conflict is None
    assert match.usable_bytes is not None
    assert match.usable_bytes < slice_gb * 1024 * MIB


def test_mig_on_a_card_without_mig_is_a_wrong_premise() -> None:
    assert "has no MIG" in (find_gpu("T4 1g.5gb").conflict or "")
    assert "slices" in (find_gpu("A30 7g.24gb").conflict or "")


def test_the_total_of_a_log_wins() -> None:
    match = find_gpu("T4 (14.74 GiB torch total)")
    assert match.spec.name == "Tesla T4"
    assert match.usable_bytes == int(14.74 * 1024 + 0.5) * MIB


@pytest.mark.parametrize("written", ["A10 23028MiB", "A10 21340MiB / 23028MiB", "A10 (23028 MiB)"])
def test_the_total_of_a_pasted_line_is_the_second_figure(written: str) -> None:
    match = find_gpu(written)
    assert match.total_mib == 23028
    assert match.usable_bytes == 23028 * MIB


def test_a_mig_profile_that_no_card_has_is_no_card() -> None:
    with pytest.raises(UnknownGpuError):
        find_gpu("MIG 9g.99gb")


def test_a_jetson_keeps_its_row_whatever_size_is_written() -> None:
    assert find_gpu("Jetson AGX Orin 32GB").spec.name == "Jetson AGX Orin 32GB"


def test_apple_memory_is_a_purchase_option() -> None:
    assert find_gpu("M2 Max").usable_bytes is None
    assert find_gpu("Mac M2 24G").usable_bytes == 16 * 1024 * MIB
    assert find_gpu("M1 Max 64GB").usable_bytes == 48 * 1024 * MIB


@pytest.mark.parametrize(
    ("written", "usable_mib"),
    [("24 GB class (22.05 GiB torch total)", int(22.05 * 1024)), ("24G显存", 22476),
     ("an 80GB card", 80739)],
)  # fmt: skip
def test_memory_without_a_card_is_a_class(written: str, usable_mib: int) -> None:
    match = find_gpu(written)
    assert match.spec.is_class
    assert match.spec.memory_usable_mib == usable_mib


@pytest.mark.parametrize(
    "name",
    [
        "",
        "CPU 48 cores",
        "GTX 9999",
        "none",
        "RTX",
        "i9-10940X",
        "A1000",
        "x" * 10_000,
        "GTX 980 4GB card",
        "FooBar 24G显存",
    ],
)
def test_what_is_no_card_is_not_guessed(name: str) -> None:
    with pytest.raises(UnknownGpuError):
        find_gpu(name)


@pytest.mark.parametrize(
    "text", ["管理员给我一个3g.40gb来跑", "分到的是1g.12gb那种", "got one 2g.20gb slice"]
)
def test_a_slice_is_read_without_blanks_around_it(text: str) -> None:
    found = scan_gpus(text)
    assert [m.match.slice_name for m in found] == [text[found[0].start : found[0].end]]


def test_slices_of_a_card_are_listed_by_size() -> None:
    profiles = slices_of("NVIDIA A100 SXM4 80GB")
    assert [size for _, size in profiles] == sorted(size for _, size in profiles)
    assert ("3g.40gb", 40.0) in profiles
    assert slices_of("GeForce RTX 4090") == ()
