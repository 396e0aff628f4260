"""Steps of model families that the reference cases do not hold, against their simulation.

The peaks in data/families_simulated.jsonl were printed by `tools.memory.simulate` with torch
2.13.0, transformers 5.24.0 and peft 0.21.2; no torch is needed to read them.
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import pytest

from tools.errors import BadQuantityError
from tools.memory import answer_case
from tools.memory.estimator import estimate
from tools.memory.workload import TrainingWorkload
from tools.models import get_model

_FILE = Path(__file__).parent / "data" / "families_simulated.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in _FILE.read_text().splitlines()]
_COMMON = {
    "num_gpus": 1, "parallelism": "none", "fused_ce": False, "versions": {"torch": "2.13.0+cpu"},
}  # fmt: skip


def error_of(row: dict[str, Any]) -> float:
    """Error of the closed form, relative to the simulated peak."""
    answer = answer_case({**_COMMON, **row})
    assert answer["status"] == "ok", answer["reason"]
    return answer["allocated_bytes"] / row["peak_bytes"] - 1


def name_of(row: dict[str, Any]) -> str:
    """A readable test id."""
    return "-".join(str(row.get(k)) for k in ("model", "method", "precision", "attention"))


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_families_outside_the_reference_cases(row: dict[str, Any]) -> None:
    assert abs(error_of(row)) <= 0.01


def test_they_are_met_together() -> None:
    errors = sorted(abs(error_of(row)) for row in ROWS)
    assert statistics.median(errors) <= 0.002
    assert errors[int(len(errors) * 0.95)] <= 0.008


def _full(parallelism: str, model: str = "Qwen/Qwen2.5-7B") -> int:
    return estimate(
        TrainingWorkload(
            get_model(model), method="full", micro_batch_size=1, seq_len=1024, gpu_count=8,
            parallelism=parallelism,
        )
    ).allocated_bytes  # fmt: skip


def test_the_second_fsdp_shards_over_all_cards() -> None:
    assert _full("fsdp2") == _full("fsdp") == _full("FSDP8")


def test_stage_zero_shards_nothing() -> None:
    assert _full("zero0") == _full("ddp") > _full("zero1")


def test_a_bare_word_spreads_over_all_cards() -> None:
    assert _full("tp", "meta-llama/Llama-2-7b-hf") == _full("tp8", "meta-llama/Llama-2-7b-hf")
    assert _full("pp") == _full("pp8")


@pytest.mark.parametrize(
    ("parallelism", "says"),
    [("tp8", "1, 2, 4, 28"), ("zero4", "zero3"), ("ep8", "no experts")],
)
def test_what_cannot_be_split_names_what_can(parallelism: str, says: str) -> None:
    with pytest.raises(BadQuantityError, match=says):
        _full(parallelism)
