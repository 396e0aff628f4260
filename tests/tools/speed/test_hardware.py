"""Limits of cards: vendor figures, ratios by architecture, processors."""

from __future__ import annotations

import pytest

from tools.errors import UnknownGpuError, UnsupportedError
from tools.gpus import all_gpus
from tools.speed import card
from tools.speed.hardware import card_from_spec
from tools.speed.results import constants_of, load_data


@pytest.mark.parametrize(
    ("name", "bandwidth_gb_s", "tensor16_tflops"),
    [
        ("A100 80GB", 2040, 312),
        ("V100", 898, 125),
        ("T4", 320, 65),
        ("RTX 3090", 936, 71),
        ("RTX 4090", 1010, 165.2),
        ("RTX 2080 Ti", 616, 53.8),  # FP32 accumulation, Turing whitepaper
        ("RTX 3060", 360, 25.5),
        ("RTX 6000 Ada", 960, 364),
        ("H20", 4000, 148),
    ],
)
def test_dense_rates_of_well_known_cards(
    name: str, bandwidth_gb_s: float, tensor16_tflops: float
) -> None:
    found = card(name)
    assert found.bytes_per_s == pytest.approx(bandwidth_gb_s * 1e9, rel=0.01)
    assert found.flops("16") == pytest.approx(tensor16_tflops * 1e12, rel=0.01)


def test_no_card_is_faster_in_a_wider_format() -> None:
    seen = 0
    for spec in all_gpus():
        try:
            found = card_from_spec(spec)
        except UnsupportedError:  # neither bandwidth nor rate of the card is known
            continue
        seen += 1
        assert found.fp32_flops > 0, spec.name
        assert found.flops("fp8") >= found.flops("16") >= 0.99 * found.flops("tf32"), spec.name
    assert seen > 150


def test_a_card_without_fp8_multiplies_in_16_bit() -> None:
    assert card("A100 80GB").flops("fp8") == card("A100 80GB").flops("16")
    assert card("H100").flops("fp8") == pytest.approx(1979e12)


def test_sparsity_is_not_in_the_rates() -> None:
    # vendor sheets print 624 and 1,979 with 2:4 sparsity
    assert card("A100 80GB").flops("16") == pytest.approx(312e12)
    assert card("H100").flops("16") == pytest.approx(989e12)


def test_a_bandwidth_in_the_text_wins() -> None:
    assert card("CPU i5-6500 DDR3 (20.0 GB/s measured)").bytes_per_s == pytest.approx(20e9)


def test_processors_by_name_and_the_unnamed_one() -> None:
    assert card("CPU Raspberry Pi 5 16GB").bytes_per_s == pytest.approx(17e9)
    assert card("CPU 48 cores SPR (Intel 4th Gen Xeon)").bytes_per_s == pytest.approx(307e9)
    unnamed = card("CPU")
    assert unnamed.is_cpu
    assert "assumed" in unnamed.notes[0]


def test_unknown_card_is_refused() -> None:
    with pytest.raises(UnknownGpuError):
        card("RTX 9999 Hyper")


def test_unmeasured_siblings_share_a_generation() -> None:
    assert card("RTX 4080").generation == card("RTX 4090").generation
    assert card("RTX 4090").generation != card("RTX 6000 Ada").generation
    assert card("H800").generation == card("H100").generation


def test_every_correction_of_the_table_says_where_it_is_from() -> None:
    data = load_data("cards")
    rows = [*data["tensor_ratio"], *data["overrides"].values(), *data["cpus"]]
    assert len(rows) > 40
    assert all(row["origin"] for row in rows)
    names = {spec.name for spec in all_gpus()}
    assert set(data["overrides"]) <= names


def test_power_holds_a_t4_below_half_of_its_peak_and_a_quadro_near_it() -> None:
    # 70 W against 65 TFLOPS, 260 W against 130: the same chip generation, the same rate a watt
    constants = constants_of("training")
    shares = {
        name: card(name).powered_rate("16", 1.0, constants) / card(name).tensor16_flops
        for name in ("T4", "Quadro RTX 8000", "RTX 4090")
    }
    assert shares["T4"] < 0.5 < 0.7 < shares["Quadro RTX 8000"]
    assert shares["RTX 4090"] > 0.95


def test_a_stated_power_limit_wins_over_the_tables() -> None:
    constants = constants_of("training")
    full, held = card("H100 SXM"), card("H100 SXM (500W limit)")
    assert (full.power_w, held.power_w) == (700.0, 500.0)
    ratio = held.powered_rate("16", 0.8, constants) / full.powered_rate("16", 0.8, constants)
    assert 500 / 700 < ratio < 1


def test_power_never_raises_a_rate_and_fp32_is_left_alone() -> None:
    constants = constants_of("training")
    for name in ("L4", "A10", "H20", "A100 80GB", "B200", "MI250X"):
        one = card(name)
        assert one.powered_rate("16", 0.8, constants) <= 0.8 * one.tensor16_flops
        assert one.powered_rate("fp32", 0.8, constants) == 0.8 * one.fp32_flops
