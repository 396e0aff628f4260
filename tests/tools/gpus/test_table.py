"""The GPU table: every row plausible, every spelling on its row."""

from __future__ import annotations

import csv

import pytest

from tests.helpers import ROOT, shared_file
from tools.errors import BadQuantityError, DataError, UnknownGpuError
from tools.gpus import all_gpus, find_gpu, get_gpu, memory_class
from tools.gpus.registry import gpus_by_name
from tools.gpus.spec import spec_from_row
from tools.gpus.vocabulary import vocabulary
from tools.units import MIB

FILE = ROOT / "tools/gpus/data/gpus.csv"


def _rows() -> list[dict[str, str]]:
    """Rows of the file, read without the table."""
    with FILE.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_every_row_of_the_file_is_loaded() -> None:
    names = [row["name"] for row in _rows()]
    assert [spec.name for spec in all_gpus()] == names
    assert len(gpus_by_name()) == len(names) > 0


def test_every_spelling_of_every_row_finds_its_row() -> None:
    for spec, row in zip(all_gpus(), _rows(), strict=True):
        assert list(spec.aliases) == row["aliases"].split(";")
        for written in (spec.name, *spec.aliases):
            match = find_gpu(written)
            assert match.spec.name == spec.name, written
            assert match.conflict is None, written


def test_usable_memory_is_known_below_the_total_and_near_the_label() -> None:
    for spec in all_gpus():
        if spec.memory_usable_mib is None:
            assert spec.is_unified, spec.name
            continue
        total = spec.memory_smi_mib or round((spec.memory_label_gb or 0) * 1024)
        assert spec.memory_usable_mib <= total, spec.name
        assert spec.usable_basis in ("seen", "derived"), spec.name
        if "one 64 GB device" in spec.notes:
            assert spec.memory_usable_mib < 64 * 1024
        elif spec.memory_label_gb and not spec.is_unified:
            assert 0.8 < spec.memory_usable_mib / (spec.memory_label_gb * 1024) <= 1.01, spec.name


def test_support_follows_the_compute_capability() -> None:
    for spec in all_gpus():
        capability = spec.compute_capability
        if capability is not None:
            assert spec.bf16_supported is (capability >= 8.0), spec.name
            assert spec.fp8_supported is (capability >= 8.9), spec.name


def test_every_row_has_a_source() -> None:
    for spec in all_gpus():
        assert spec.sources, spec.name
        assert spec.source.id == f"data:gpus.csv#{spec.name}"


@pytest.mark.parametrize(
    ("name", "label_gb", "smi_mib", "usable_mib"),
    [
        ("NVIDIA A10", 24, 23028, 22476),
        ("Tesla T4", 16, 15360, 14909),
        ("GeForce RTX 4090", 24, 24564, 24084),
        ("NVIDIA A100 SXM4 80GB", 80, 81920, 81039),
    ],
)
def test_the_three_levels_of_memory(
    name: str, label_gb: float, smi_mib: int, usable_mib: int
) -> None:
    spec = get_gpu(name)
    assert spec.memory_label_gb == label_gb
    assert spec.memory_smi_mib == smi_mib
    assert spec.memory_usable_mib == usable_mib
    assert spec.usable_bytes == usable_mib * MIB


def test_blank_is_unknown_and_not_false() -> None:
    assert get_gpu("Tesla P4").nvlink is None
    assert get_gpu("NVIDIA A10").nvlink is False
    assert get_gpu("AMD Instinct MI300X").compute_capability is None


FILLED = {
    "Tesla T4": {"nvlink": "false"},
    "AMD Instinct MI250X": {"memory_usable_mib": "64716", "usable_basis": "derived"},
    "AMD Instinct MI250": {"memory_usable_mib": "64716", "usable_basis": "derived"},
    "Huawei Ascend 910C": {"memory_usable_mib": "62433", "usable_basis": "derived"},
}
"""Cells that the reference table leaves blank, and what was read or derived for them since."""
APPENDED = ("source", "notes")
"""Columns in which a filled row says more than the reference: where the new figure is from."""


def test_the_shipped_table_holds_the_reference_table() -> None:
    with shared_file("facts/gpus.csv").open(encoding="utf-8", newline="") as stream:
        reference = list(csv.DictReader(stream))
    shipped = {row["name"]: row for row in _rows()}
    names = [row["name"] for row in reference]
    assert [name for name in shipped if name in set(names)] == names
    for row in reference:
        name, filled = row["name"], FILLED.get(row["name"], {})
        for column, cell in row.items():
            ours = shipped[name][column]
            if column in filled:
                assert (cell, ours) == ("", filled[column]), (name, column)
            elif column == "aliases":
                assert set(ours.split(";")) >= set(cell.split(";")), name
            elif filled and column in APPENDED:
                assert ours.startswith(cell), (name, column)
            else:
                assert ours == cell, (name, column)
        usable = shipped[name]["memory_usable_mib"]
        assert get_gpu(name).memory_usable_mib == (int(usable) if usable else None)


def _row() -> dict[str, str]:
    return _rows()[0]


@pytest.mark.parametrize(
    ("column", "cell"),
    [("memory_smi_mib", "a lot"), ("bf16_supported", "maybe"), ("tdp_w", "75 W"), ("name", "")],
)
def test_a_bad_cell_names_file_row_and_column(column: str, cell: str) -> None:
    with pytest.raises(DataError, match=f"row 5.*{column}"):
        spec_from_row({**_row(), column: cell}, where="row 5")


def test_a_renamed_column_is_an_error() -> None:
    row = _row()
    row["memory_gb"] = row.pop("memory_label_gb")
    with pytest.raises(DataError, match=r"memory_gb.*memory_label_gb"):
        spec_from_row(row, where="row 5")


@pytest.mark.parametrize(
    ("label_gb", "usable_mib"), [(24, 22476), (16, 14909), (48, 45404), (80, 80739), (15, 14848)]
)
def test_a_memory_class_has_the_least_usable_memory_of_its_common_cards(
    label_gb: float, usable_mib: int
) -> None:
    spec = memory_class(label_gb)
    assert spec.is_class
    assert spec.memory_usable_mib == usable_mib
    assert spec.bf16_supported is None
    assert str(usable_mib) in spec.source.locator


def test_a_given_total_wins_over_the_class() -> None:
    assert memory_class(24, total_mib=22_579).memory_usable_mib == 22_579


@pytest.mark.parametrize("size", [0, -24, 1e9])
def test_an_impossible_memory_class_is_refused(size: float) -> None:
    with pytest.raises(BadQuantityError):
        memory_class(size)


def test_names_in_the_vocabulary_are_rows() -> None:
    known = vocabulary()
    listed = {*known.common_cards.values(), *known.extra_keys.values()}
    for names in (*known.also.values(), *known.ask.values(), *known.mig_hosts.values()):
        listed.update(names)
    assert listed <= set(gpus_by_name())


def test_the_common_card_of_a_label_has_that_label() -> None:
    for label, name in vocabulary().common_cards.items():
        assert get_gpu(name).memory_label_gb == float(label)


def test_an_unknown_name_gives_the_closest() -> None:
    with pytest.raises(UnknownGpuError) as caught:
        find_gpu("A10O")
    assert "NVIDIA A10" in caught.value.candidates
