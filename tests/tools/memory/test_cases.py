"""Rows of measured runs: the contract of the answer line, and the goals over the reference rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.accuracy import FILES, Scored, goals, quantile, read, score, verdicts
from tests.helpers import shared_file
from tools.__main__ import main
from tools.memory import answer_case
from tools.memory.case_words import (
    engine_word,
    format_word,
    framework_word,
    optimizer_word,
    parallelism_word,
    targets_word,
)

CONTRACT = {
    "id", "status", "reason", "allocated_bytes", "reserved_bytes", "process_bytes", "low_bytes",
    "high_bytes", "scope", "kv_cache_bytes", "weights_bytes", "verdict", "assumptions", "parts",
    "elapsed_ms",
}  # fmt: skip


def a_row(**fields: Any) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": "a", "model": "Qwen/Qwen2.5-7B", "task": "train", "method": "lora",
        "counter": "allocated", "extra": None,
    }  # fmt: skip
    return {**row, **fields}


def test_an_answer_has_the_fields_of_the_contract() -> None:
    answer = answer_case(a_row())
    assert set(answer) >= CONTRACT
    assert answer["status"] == "ok"
    assert answer["scope"] == "per_gpu"
    assert answer["verdict"] is None
    assert answer_case(a_row(gpu="RTX 4090"))["verdict"] in ("fits", "tight", "does_not_fit")


def test_an_impossible_row_is_invalid_with_the_reason() -> None:
    answer = answer_case(a_row(micro_batch_size=-1))
    assert answer["status"] == "invalid"
    assert "micro_batch_size" in answer["reason"]


def test_an_unknown_model_with_a_size_is_answered_from_a_reference() -> None:
    answer = answer_case(a_row(model="Nobody's model", params_b=6.9))
    assert answer["status"] == "ok"
    assert answer["weights_bytes"] == pytest.approx(2 * 6.9e9, rel=0.1)
    assert answer_case(a_row(model="Nobody's model"))["status"] == "invalid"


def test_the_command_answers_a_file_line_by_line(tmp_path: Path) -> None:
    cases, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    rows = [a_row(id="x"), a_row(id="y", task="infer", engine="vllm", method=None)]
    cases.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    assert main(["estimate", "--cases", str(cases), "--out", str(out)]) == 0
    answers = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [answer["id"] for answer in answers] == ["x", "y"]


@pytest.mark.parametrize(
    ("read_word", "written", "meant"),
    [
        (engine_word, "vLLM 0.6 (V0)", "vllm"),
        (engine_word, "somebody's server", "transformers"),
        (framework_word, "axolotl 0.9 on HF Trainer", "axolotl"),
        (framework_word, "own script", "plain loop"),
        (format_word, "AWQ w4 g64", "awq-int4"),
        (format_word, "gguf iq4_xs (imatrix)", "gguf-iq4_xs"),
        (format_word, "W8A8 int8", "int8"),
        (format_word, "bf16 weights", "bf16"),
        (optimizer_word, "8bit lamb", "adamw-8bit"),
        (optimizer_word, "lamb", "adamw"),
        (parallelism_word, "device_map=auto", None),
    ],
)
def test_words_of_sources_become_known_names(
    read_word: Callable[[str], str | None], written: str, meant: str | None
) -> None:
    assert read_word(written) == meant


def test_unknown_targets_fall_back_to_what_is_known() -> None:
    assert targets_word(["q_proj", "nose"]) == ("q_proj",)
    assert targets_word(["nose"]) == "all-linear"


def scored_rows() -> list[Scored]:
    folder = shared_file("cases/memory_training.jsonl").parent
    rows = [(file, row) for file in FILES for row in read(folder / f"{file}.jsonl")]
    return [found for file, row in rows if (found := score(file, row)) is not None]


# median, 90th percentile, worst (None: not a goal) of each group of reference rows
GOALS = {
    "training, allocated, full configuration (goal 2 / 10 %)": (0.02, 0.10, None),
    "training, reserved (7 / 16 %)": (0.07, 0.16, None),
    "training, process (6 / 14 %)": (0.06, 0.14, None),
    "training, all (4 / 20 %)": (0.04, 0.20, None),
    "serving, full configuration (1 / 10 %)": (0.01, 0.10, None),
    "serving, all (2.5 / 16 %)": (0.025, 0.16, None),
    "simulated, language models (0.2 / - / 1 / 3 %)": (0.002, 0.01, 0.03),
}


def test_reference_rows_are_within_the_goals() -> None:
    groups = goals(scored_rows())
    assert set(groups) == set(GOALS)
    for name, (median, ninety, worst) in GOALS.items():
        errors = [abs(r.error) for r in groups[name]]
        assert len(errors) >= 5, name
        assert quantile(errors, 0.5) <= median, name
        assert quantile(errors, 0.9) <= ninety, name
        assert worst is None or max(errors) <= worst, name
        assert sum(r.held for r in groups[name]) >= 0.8 * len(errors), name


def test_reference_verdicts_are_on_the_right_side() -> None:
    counts, wrong = verdicts(shared_file("cases/memory_training.jsonl").parent)
    assert counts["right"] >= 0.9 * counts.total(), wrong
    assert not [text for text in wrong if ": oom" in text]
