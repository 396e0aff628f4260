from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.__main__ import main

QUESTION = "A10 标称多少显存"


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XUANKA_STATE_DIR", str(tmp_path))


@pytest.mark.parametrize(
    "words",
    [
        [QUESTION], ["ask", QUESTION], ["--json", "ask", QUESTION], ["ask", "--json", QUESTION],
        ["ask", QUESTION, "--json"], ["ask", *QUESTION.split(" ")],
    ],
)  # fmt: skip
def test_the_verb_may_be_written(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    out = capsys.readouterr().out
    said = json.loads(out)["text"] if "--json" in words else out
    assert "24 GB" in said


@pytest.mark.parametrize("words", [["ask"], []])
def test_without_a_question_it_says_what_to_write(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert 'python -m agent "' in capsys.readouterr().err


def test_a_bad_line_of_a_batch_leaves_the_others_answered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        json.dumps({"id": "a", "question": QUESTION}), "{bad", "[1]", "",
        json.dumps({"id": "d", "question": QUESTION, "turns": [3]}),
        json.dumps({"id": "e", "question": QUESTION, "turns": ["T4 呢"]}),
    ]  # fmt: skip
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text("\n".join(rows), encoding="utf-8")
    assert main(["--batch", str(source), "--out", str(target)]) == 1
    answered = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
    assert [(row["id"], len(row["answers"])) for row in answered] == [("a", 1), ("e", 2)]
    said = capsys.readouterr().err.splitlines()
    assert [f"line {number} " in line for number, line in zip((2, 3, 5), said, strict=True)] == [
        True, True, True,
    ]  # fmt: skip
    source.write_text(rows[0], encoding="utf-8")
    assert main(["--batch", str(source), "--out", str(target)]) == 0


def test_a_flag_that_is_misspelt_is_told_its_closest(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--bacth", "x", QUESTION])
    assert ended.value.code == 2
    assert "did you mean --batch?" in capsys.readouterr().err
