"""`python -m tools models`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers import ROOT
from tools.__main__ import main


def _output(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["models", *arguments]) == 0
    return capsys.readouterr().out


def test_the_list_has_every_row(capsys: pytest.CaptureFixture[str]) -> None:
    lines = (ROOT / "tools/models/data/models.jsonl").read_text(encoding="utf-8").splitlines()
    names = [json.loads(line)["name"] for line in lines]
    printed = _output(capsys).splitlines()
    assert len(printed) == len(names)
    assert all(name in line for name, line in zip(names, printed, strict=True))
    assert [row["name"] for row in json.loads(_output(capsys, "--json"))] == names
    lines = _output(capsys, "--kind", "moe-lm").splitlines()
    assert all("moe-lm" in line for line in lines)


def test_one_model_by_any_spelling(capsys: pytest.CaptureFixture[str]) -> None:
    text = _output(capsys, "qwen2.5:7b-instruct-q4_K_M")
    assert "7,615,616,512" in text
    assert "56 KiB per token" in text
    assert "q4_k_m" in text
    record = json.loads(_output(capsys, "Qwen3-30B-A3B", "--json"))
    assert record["params_active"] == 3_353_032_704
    assert "active" in _output(capsys, "Qwen3-30B-A3B")


def test_a_size_gives_the_reference_architecture(capsys: pytest.CaptureFixture[str]) -> None:
    assert "7B reference architecture" in _output(capsys, "7b")
    assert "30B-A3B reference architecture" in _output(capsys, "30B-A3B")


def test_a_file_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12,
              "n_positions": 1024, "vocab_size": 50257}  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    assert "124,439,808" in _output(capsys, str(tmp_path / "config.json"))
    assert "124,439,808" in _output(capsys, str(tmp_path))


def test_an_unknown_name_is_one_sentence_and_exit_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "Llama-3.1-80B"]) == 2
    error = capsys.readouterr().err.strip()
    assert error.startswith("Unknown model 'Llama-3.1-80B'. Closest: ")
    assert len(error.splitlines()) == 1
