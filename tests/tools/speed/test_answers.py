"""Answers by the contract: keys, refusals, and the errors over the reference rows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.helpers import shared_rows
from tools.__main__ import main
from tools.speed import answer_case, compare_runs, left_out_scores, score_rows
from tools.speed.answers import truth_of
from tools.speed.cases import REMOVED, without_truth
from tools.speed.results import load_data

TRAINING = {
    "id": "t1", "task": "llm-pretrain", "model": "Llama-3.1-8B", "params_b": 8.03,
    "method": "pretrain/full", "precision": "bf16", "quant": None, "gpu": "H100-SXM-80GB",
    "gpu_mem_gb": 80, "num_gpus": 8, "nodes": 1, "intra_node": "nvlink", "inter_node": None,
    "parallelism": "FSDP2", "micro_batch": 2, "grad_accum": None, "global_batch": 16,
    "seq_len": 8192, "token_fill": "full", "grad_ckpt": "selective (op)", "flash_attn": True,
    "optimizer": None, "compile": True, "metric": "train_throughput", "unit": "tokens/s/GPU",
}  # fmt: skip
SERVING = {
    "id": "s1", "task": "llm", "model": "Llama-3-8B", "params_b": 8.03, "weight_format": "bf16",
    "engine": "vllm", "gpu": "A100", "gpu_mem_gb": 80, "num_gpus": 1, "interconnect": None,
    "batch": 1, "prompt_len": 1, "gen_len": 2048, "metric": "decode_tokens_s", "unit": "tokens/s",
}  # fmt: skip


def test_a_training_row_answers_tokens_per_gpu() -> None:
    answer = answer_case(TRAINING)
    assert answer["status"] == "ok"
    assert answer["low"] < answer["tokens_per_s_per_gpu"] < answer["high"] <= 4 * answer["low"]
    assert 4_000 < answer["tokens_per_s_per_gpu"] < 14_000


def test_a_serving_row_answers_one_stream() -> None:
    answer = answer_case(SERVING)
    assert answer["low"] < answer["decode_tokens_per_s"] < answer["high"]
    assert "samples_per_s" not in answer


def test_padded_sequences_ask_for_tokens_and_plain_sentences_for_samples() -> None:
    row = {
        **TRAINING, "task": "nlp-train", "model": "BERT-base pretrain (seq 128)", "params_b": 0.11,
        "gpu": "V100-SXM2-16GB", "precision": "AMP fp16", "seq_len": 128, "micro_batch": 96,
        "unit": "sentences/s", "token_fill": None, "flash_attn": False, "compile": None,
    }  # fmt: skip
    assert "samples_per_s" in answer_case(row)
    padded = {**row, "unit": "sequences/s (total)", "token_fill": "padded to 128"}
    assert "tokens_per_s_per_gpu" in answer_case(padded)


def test_image_rows_answer_samples_of_all_gpus() -> None:
    row = {
        **TRAINING, "task": "vision-train", "model": "ResNet-50 v1.5", "params_b": 0.0256,
        "gpu": "V100 16GB", "precision": "AMP", "seq_len": None, "micro_batch": 256,
        "parallelism": "DDP", "unit": "images/s (total)",
    }  # fmt: skip
    one = answer_case({**row, "num_gpus": 1, "parallelism": "single GPU"})["samples_per_s"]
    assert 5 * one < answer_case(row)["samples_per_s"] <= 8 * one


def test_prefill_counts_where_the_metric_says_so() -> None:
    long = {**SERVING, "prompt_len": 30_720}
    without = answer_case(long)["decode_tokens_per_s"]
    with_it = answer_case({**long, "metric": "speed_prompt_plus_gen"})["decode_tokens_per_s"]
    assert with_it < without


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"gpu": "RTX 9999 Hyper"}, "invalid"),
        ({"num_gpus": -1}, "invalid"),
        ({"model": "bert-base-uncased", "params_b": None, "task": "asr"}, "unsupported"),
    ],
)
def test_rows_that_cannot_be_answered_say_why(changes: dict[str, object], status: str) -> None:
    answer = answer_case({**SERVING, **changes})
    assert answer["status"] == status
    assert answer["reason"].endswith(".")


def test_truth_is_removed_before_answering() -> None:
    row = {**SERVING, "decode_tok_s": 1.0, "figures": "1 tok/s", "extra": {"a": 1}}
    assert not set(without_truth(row)) & REMOVED
    assert truth_of(row) == ("decode_tokens_per_s", 1.0)
    assert truth_of({**row, "confidence": "low"}) is None


def test_command_answers_a_file_line_by_line(tmp_path: Path) -> None:
    rows, out = tmp_path / "in.jsonl", tmp_path / "new" / "out.jsonl"
    rows.write_text(json.dumps(TRAINING) + "\n" + json.dumps(SERVING) + "\n", encoding="utf-8")
    assert main(["speed", "--cases", str(rows), "--out", str(out)]) == 0
    answers = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [a["id"] for a in answers] == ["t1", "s1"]
    assert all(set(a) >= {"id", "status", "reason", "low", "high", "assumptions"} for a in answers)


def test_command_answers_from_flags(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["speed", "--model", "8B", "--gpu", "RTX 4090", "--json"]) == 0
    names = {figure["name"] for figure in json.loads(capsys.readouterr().out)["figures"]}
    assert {"decode_tokens_per_s", "ttft", "total_tokens_per_s"} <= names
    assert main(["speed", "--model", "Qwen2.5-7B", "--gpu", "A10", "--train"]) == 0
    assert "tokens_per_s_per_gpu" in capsys.readouterr().out
    assert main(["speed", "--model", "7B"]) == 2


def test_reference_rows_are_met_and_beat_the_baseline() -> None:
    rows = shared_rows("cases/speed_training.jsonl") + shared_rows("cases/speed_inference.jsonl")
    scores = {score.name: score for score in score_rows(rows)}
    training, decode = scores["training, all"], scores["decode"]
    assert training.median_error <= 0.25
    assert decode.median_error <= 0.20
    assert training.median_error < training.baseline_error
    assert training.same_rows_error < training.baseline_error
    assert decode.same_rows_error < decode.baseline_error
    for score in (training, decode):
        assert score.answered / score.rows >= 0.9
        assert score.covered >= 0.8


def test_published_runs_cost_what_was_printed() -> None:
    runs = {run.name: run for run in compare_runs()}
    assert len(runs) == 18
    off = {name for name, run in runs.items() if not 1 / 1.5 <= run.factor <= 1.5}
    # The authors' three hours are not of the released code: that took 40 minutes on such cards
    # (tatsu-lab/stanford_alpaca issue 170), as the row beside it has it.
    assert off <= {"Stanford Alpaca 7B, full"}


def test_learnt_files_say_where_they_come_from() -> None:
    for name in ("training", "serving", "vision"):
        data = load_data(name)
        assert data["rows"] > 100
        assert data["sources"]
        for constant, row in data["constants"].items():
            assert row["low"] <= row["value"] <= row["high"], constant
            assert ":" in constant or row["meaning"], constant
        for kind in data["groups"].values():
            assert all(row["rows"] >= 1 and row["factor"] > 0 for row in kind.values())
        assert all(1.2 <= row["factor"] <= 2.0 for row in data["spread"].values())


def test_no_case_is_known_by_its_name() -> None:
    ids = {row["id"] for row in shared_rows("cases/speed_training.jsonl")}
    ids |= {row["id"] for row in shared_rows("cases/speed_inference.jsonl")}
    folder = Path(__file__).resolve().parents[3] / "tools" / "speed"
    for path in [*folder.glob("*.py"), *folder.glob("data/*.json")]:
        words = set(re.findall(r"[\w.#()-]{12,}", path.read_text(encoding="utf-8")))
        assert not words & ids, path.name


def test_rows_of_unseen_sources_cards_and_families_keep_the_goals() -> None:
    goals = {"training": 0.25, "serving": 0.20}
    for row in left_out_scores():
        assert row.rows > 40
        assert row.covered >= 0.8, row
        if row.name in goals:
            assert row.median_error <= goals[row.name], row
