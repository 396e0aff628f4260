"""Names as drivers write them, to rows of the table."""

from __future__ import annotations

import pytest

from tools.probe import Device
from tools.probe.recognize import described, recognize
from tools.units import MIB


@pytest.mark.parametrize(
    ("name", "total_mib", "row"),
    [
        ("NVIDIA A10", 23028, "NVIDIA A10"),
        ("NVIDIA A10G", 23028, "NVIDIA A10G"),
        ("Tesla V100-SXM2-16GB", 16160, "Tesla V100 SXM2 16GB"),
        ("Tesla V100-SXM2...", 32510, "Tesla V100 SXM2 32GB"),
        ("NVIDIA A100-SXM4-80GB", 81920, "NVIDIA A100 SXM4 80GB"),
        ("NVIDIA A100-SXM...", 40960, "NVIDIA A100 SXM4 40GB"),
        ("NVIDIA A100-PCIE-40GB", 40960, "NVIDIA A100 PCIe 40GB"),
        ("NVIDIA H100 80GB HBM3", 81559, "NVIDIA H100 SXM5 80GB"),
        ("NVIDIA H100 PCIe", 81559, "NVIDIA H100 PCIe 80GB"),
        ("NVIDIA H20", 97871, "NVIDIA H20 96GB"),
        ("NVIDIA H200", 143771, "NVIDIA H200 SXM 141GB"),
        ("NVIDIA B200", 183359, "NVIDIA B200"),
        ("NVIDIA GH200 480GB", 97871, "NVIDIA GH200 96GB"),
        ("NVIDIA GB10", 122570, "NVIDIA GB10 (DGX Spark)"),
        ("NVIDIA GeForce RTX 3060", 12288, "GeForce RTX 3060 12GB"),
        ("NVIDIA GeForce RTX 3060 Laptop GPU", 6144, "GeForce RTX 3060 Laptop 6GB"),
        ("NVIDIA GeForce RTX 3080", 12288, "GeForce RTX 3080 12GB"),
        ("NVIDIA GeForce RTX 4090", 49140, "GeForce RTX 4090 48GB (modified)"),
        ("NVIDIA GeForce RTX 5070 Ti", 16303, "GeForce RTX 5070 Ti"),
        ("NVIDIA RTX 6000 Ada Generation", 49140, "RTX 6000 Ada Generation"),
        ("Quadro RTX 6000", 24576, "Quadro RTX 6000"),
        ("NVIDIA RTX A6000", 49140, "RTX A6000"),
        ("NVIDIA TITAN RTX", 24576, "NVIDIA TITAN RTX"),
        ("Tesla K80", 11441, "Tesla K80 (one of 2 GPUs)"),
        ("910B4", 32768, "Huawei Ascend 910B4 32GB"),
        ("Ascend910B4-1", 65536, "Huawei Ascend 910B4-1 64GB"),
        ("AMD Instinct MI300X", 196592, "AMD Instinct MI300X"),
        ("Intel(R) Arc(TM) A770 Graphics", 16225, "Intel Arc A770 16GB"),
        ("Apple M2 Pro", 32768, "Apple M2 Pro"),
    ],
)
def test_a_driver_name_finds_its_row(name: str, total_mib: int, row: str) -> None:
    spec = recognize(name, total_mib * MIB).spec
    assert spec is not None
    assert spec.name == row


@pytest.mark.parametrize(
    ("name", "slice_name", "row"),
    [
        ("GRID A100-40C", "A100-40C", "NVIDIA A100 SXM4 80GB"),
        ("NVIDIA A10-24Q", "A10-24Q", "NVIDIA A10"),
        ("GRID T4-8Q", "T4-8Q", "Tesla T4"),
    ],
)
def test_a_vgpu_profile_is_a_slice(name: str, slice_name: str, row: str) -> None:
    found = recognize(name, 8192 * MIB)
    assert found.slice_name == slice_name
    assert found.spec is not None
    assert found.spec.name == row


@pytest.mark.parametrize(
    ("name", "total_mib"),
    [("NVIDIA GeForce ...", 24576), ("NVIDIA Phantom 9900", 40000), ("NVIDIA A10", 99999)],
)
def test_a_name_that_does_not_settle_it_is_not_guessed(name: str, total_mib: int) -> None:
    assert recognize(name, total_mib * MIB).spec is None


@pytest.mark.parametrize(
    ("capability", "bf16", "fp8", "flash"),
    [(7.5, False, False, False), (8.6, True, False, True), (9.0, True, True, True),
     (12.0, True, True, None), (None, None, None, None)],
)  # fmt: skip
def test_support_of_an_unknown_card_follows_its_capability(
    capability: float | None, bf16: bool | None, fp8: bool | None, flash: bool | None
) -> None:
    device = described(Device(index=0, name="Phantom", compute_capability=capability))
    assert device.bf16_supported is bf16
    assert device.fp8_supported is fp8
    assert device.flash_attention2_supported is flash
