"""A conversation or a report becomes a row, without what is personal."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from evals.__main__ import main
from evals.adding import append, row_from, strip_personal, turns_from
from evals.sample import read_rows
from tools.errors import UserInputError


@pytest.mark.parametrize(
    ("text", "kept", "gone"),
    [
        ("写信给 li.lei@corp.example.cn 问 A10", "A10", "li.lei"),
        ("api_key=abc123XYZ987 跑 7B", "7B", "abc123XYZ987"),
        ("Authorization: Bearer eyJhbGciOi.abc on A100", "A100", "eyJ"),
        ("key LTAI5tAbCdEfGhIjKlMn", "key", "LTAI5t"),
        ("电话 13812345678,显存 24GB", "24GB", "138"),
        ("root@gpu-node-3:~# nvidia-smi", "nvidia-smi", "gpu-node-3"),
        ("/home/zhangsan/ckpt 7B", "7B", "zhangsan"),
        (r"C:\Users\Anna\run.py fails", "fails", "Anna"),
        ("see https://git.corp.example/x?token=1 on T4", "T4", "corp"),
        ("on 192.168.1.17:8000 with seq 4096", "4096", "192.168"),
        ("instance i-0abcd1234ef567890 is a p4d.24xlarge", "p4d.24xlarge", "0abcd"),
    ],
)
def test_personal_details_are_struck_out(text: str, kept: str, gone: str) -> None:
    stripped = strip_personal(text)
    assert kept in stripped
    assert gone not in stripped


@pytest.mark.parametrize(
    "text",
    [
        "7B LoRA,token 数 1024,batch 4,A10 24GB 8 张",
        "tokens per second on 8x A100-SXM4-80GB, 10.5 GiB free",
        "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 23.69 GiB total capacity)",
        "ecs.gn7i-c8g1.2xlarge 2026-11-30 8.58 元/小时",
        "meta-llama/Llama-3.1-8B-Instruct max_model_len 8192",
    ],
)
def test_technical_text_is_left_alone(text: str) -> None:
    assert strip_personal(text) == text


def typed(*answers: str) -> Callable[[str], str]:
    queue = list(answers)
    return lambda prompt: queue.pop(0)


GOOD = ("does_not_fit", "28;NVLink|PCIe", "", "28-34 per_gpu", "data sheet", "said it fits")


def test_report_becomes_a_row_that_the_suite_accepts(tmp_path: Path) -> None:
    report = tmp_path / "report.txt"
    report.write_text("14B bf16 on a 4090? mail me: a@b.example", encoding="utf-8")
    row = row_from(turns_from(report), typed(*GOOD))
    assert row["question"] == "14B bf16 on a 4090? mail me: <email>"
    assert row["truth"]["must_mention"] == [["28"], ["NVLink", "PCIe"]]
    assert row["truth"]["memory_range_gb"] == [28.0, 34.0]
    append(tmp_path / "cases.jsonl", row)
    assert [r["id"] for r in read_rows(tmp_path / "cases.jsonl")] == [row["id"]]
    with pytest.raises(UserInputError, match="already"):
        append(tmp_path / "cases.jsonl", row)


def test_exported_conversation_keeps_its_turns(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    turns = [{"question": "7B LoRA A10?", "answer": {}}, {"question": "那 QLoRA 呢", "answer": {}}]
    path.write_text(json.dumps(turns), encoding="utf-8")
    answers = ("fits", "", "", "", "fits", "", "", "", "derived", "follow-up forgot")
    row = row_from(turns_from(path), typed(*answers))
    assert row["turns"] == ["那 QLoRA 呢"]
    assert len(row["turns_truth"]) == 1


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (("maybe",), "Unknown verdict 'maybe'"),
        (("fits", "", "", "lots"), "no range"),
        (("fits", "", "", "", "", "why"), "needs a source"),
    ],
)
def test_row_without_truth_or_source_is_refused(answers: tuple[str, ...], message: str) -> None:
    with pytest.raises(UserInputError, match=message):
        row_from(["7B?"], typed(*answers, "", "", ""))


def test_a_slip_is_asked_again_with_its_reason() -> None:
    prompts: list[str] = []
    queue = ["fit", "fits", "", "", "24", "14-22 per_gpu", "table", "why"]

    def ask(prompt: str) -> str:
        prompts.append(prompt)
        return queue.pop(0)

    row = row_from(["7B?"], ask, tries=3)
    assert row["truth"]["verdict_accept"] == ["fits"]
    assert row["truth"]["memory_range_gb"] == [14.0, 22.0]
    assert prompts[1].startswith("Unknown verdict 'fit'")
    assert "14-22 per_gpu" in prompts[5]


def test_input_that_ends_adds_nothing_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.txt"
    report.write_text("7B on a T4?", encoding="utf-8")
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(["add", str(report), "--to", str(tmp_path / "cases.jsonl")]) == 2
    assert "nothing was added" in capsys.readouterr().err
    assert not (tmp_path / "cases.jsonl").exists()


def test_empty_report_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.txt"
    path.write_text("\n---\n", encoding="utf-8")
    with pytest.raises(UserInputError, match="no question"):
        turns_from(path)
