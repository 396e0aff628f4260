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
