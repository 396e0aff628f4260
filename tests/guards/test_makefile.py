"""What make passes on: a question is data and never a command."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "question", ["`touch x` 7B?", "$(shell touch x) 7B", '"; touch x; "', "$HOME"]
)
def test_a_question_is_not_read_by_make_or_the_shell(question: str) -> None:
    shown = subprocess.run(
        ["make", "-n", "ask", f"q={question}"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert "-m agent" in shown
    assert "touch x" not in shown
    assert question not in shown
