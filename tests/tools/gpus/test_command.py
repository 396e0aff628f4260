"""`python -m tools gpus`."""

from __future__ import annotations

import csv
import json

import pytest

from tests.helpers import ROOT
from tools.__main__ import main


def _output(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["gpus", *arguments]) == 0
    return capsys.readouterr().out


def test_the_list_has_every_row(capsys: pytest.CaptureFixture[str]) -> None:
    with (ROOT / "tools/gpus/data/gpus.csv").open(encoding="utf-8", newline="") as stream:
        names = [row["name"] for row in csv.DictReader(stream)]
    printed = _output(capsys).splitlines()
    assert len(printed) == len(names)
    assert all(name in line for name, line in zip(names, printed, strict=True))
    assert [row["name"] for row in json.loads(_output(capsys, "--json"))] == names
    assert "NVIDIA A10 " not in _output(capsys, "--min-memory-gb", "40")


def test_one_card_by_any_spelling(capsys: pytest.CaptureFixture[str]) -> None:
    text = _output(capsys, "A10")
    assert "usable       21.9 GiB (seen)" in text
    assert "bf16 yes, FP8 no, NVLink no" in text
    assert "may be       NVIDIA A100 SXM4 40GB" in _output(capsys, "A100")
    assert "question" in _output(capsys, "A100", "24G")
    record = json.loads(_output(capsys, "A10-4Q", "--json"))
    assert record["slice_memory_gb"] == 4
    assert record["usable_bytes"] == (4 * 1024 - 512) * 1024**2


def test_an_unknown_card_is_one_sentence_and_exit_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gpus", "A10O"]) == 2
    assert capsys.readouterr().err.startswith("Unknown GPU 'A10O'. Closest: NVIDIA A10")
