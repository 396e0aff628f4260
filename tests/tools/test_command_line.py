"""What a command line refuses, and that it says so in one sentence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.__main__ import main
from tools.console import INTERRUPTED
from tools.errors import UserInputError
from tools.json_lines import read_rows

_ROOT = Path(__file__).resolve().parents[2]


def complaint(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that a refused command prints."""
    try:
        status = main(words)
    except SystemExit as ended:
        status = int(ended.code or 0)
    said = capsys.readouterr()
    assert status == 2
    assert said.out == ""
    assert said.err.count("\n") == 1
    return said.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["estimate", "7B", "--gpu", ""], "--gpu: the value is empty"),
        (["estimate", "7B", "--seq-len", "0"], "--seq-len: given '0'"),
        (["estimate", "7B", "--seq-len", "2000000000000000000"], "up to 1e18"),
        (["estimate", "7B", "--method", "full", "--parallelism", "tp=nan"], "given 'tp=nan'"),
        (["estimate", "7B", "--method", "full", "--parallelism", "tp0"], "given 'tp0'"),
        (["estimate", "7B", "--out", "x"], "--cases"),
        (["speed", "7B", "--gpu", "A10", "--out", "x"], "--cases"),
        (["estimate", "1e30"], "model is '1e30'"),
        (["estimate"], "model is missing; give a model's name"),
        (["fit", "7B"], "--gpu is missing; give a card's name"),
        (["fit", "7B", "--usable-gib", "nan"], "--usable-gib: given 'nan'"),
        (["recommend"], "--model is missing"),
        (["recommend", "7B", "--model", "14B"], "Two models are given"),
        (["estimate", "7B", "--bacth", "3"], "did you mean --batch?"),
        (["catalog", "lookup", "x", "--tmie"], "did you mean --time?"),
        (["speed", "7B", "--gpu", "A10", "--batch", "-4"], "--batch: given '-4'"),
        (["estimate", "7B", "--gpu", "RTX 9999"], "GeForce RTX 5090"),
        (["estimate", "no-such-file.json"], "no-such-file.json cannot be read"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else None,
)
def test_what_cannot_be_is_refused_by_its_name(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in complaint(words, capsys)


def test_a_long_name_is_not_repeated_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(complaint(["estimate", "a" * 100_000], capsys)) < 200


@pytest.mark.parametrize("words", [["estimate"], ["speed"]], ids=" ".join)
@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("missing.jsonl", None, "No such file"),
        (".", None, "Is a directory"),
        ("text.jsonl", b'{"id": "a"}\n\nroot:x\n', "line 3 is not JSON"),
        ("list.jsonl", b"[1]\n", "line 1 holds no JSON object"),
        ("binary.jsonl", b"\xff\xfe\x00", "not UTF-8"),
    ],
)
def test_a_file_of_cases_that_cannot_be_read_is_said_in_a_line(
    words: list[str],
    name: str,
    content: bytes | None,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    assert said in complaint([*words, "--cases", str(path)], capsys)


def test_rows_are_read_with_blank_lines_and_a_mark_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes('\ufeff{"id": "a\\u2028b"}\r\n\n{"id": "行"}'.encode())
    assert read_rows(path) == [{"id": "a\u2028b"}, {"id": "行"}]
    path.write_text('{"id": 1}\n"x"\n', encoding="utf-8")
    with pytest.raises(UserInputError, match="line 2"):
        read_rows(path)


@pytest.mark.parametrize("command", [["speed", "--gpu", "A10"], ["recommend"]], ids=" ".join)
def test_a_model_may_stand_without_its_flag(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "7B", "--json"]) == 0
    bare = json.loads(capsys.readouterr().out)
    assert main([*command, "--model", "7B", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == bare


def test_a_type_without_the_word_lookup_is_looked_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "p5.48xlarge"]) == 0
    bare = capsys.readouterr().out
    assert bare.startswith("aws")
    assert main(["catalog", "lookup", "p5.48xlarge"]) == 0
    assert capsys.readouterr().out == bare


def test_fit_says_what_to_expect_and_the_worst_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["fit", "qwen2.5-7b", "--method", "lora", "--gpu", "A10"]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    need, high = found["estimate"]["process_bytes"], found["estimate"]["high_bytes"]
    assert need < 0.85 * found["usable_bytes"] < found["usable_bytes"] < high
    assert (found["verdict"], found["likely_verdict"]) == ("tight", "fits")
    assert main(words) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("fits: ")
    assert f"tight if everything left open turns out large ({high / 2**30:.1f} GiB)" in first


def test_ctrl_c_ends_a_command_without_a_trace() -> None:
    code = (
        "import os, signal; from tools.console import run_console\n"
        # A shell's background job hands SIGINT down as ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "def main(): os.kill(os.getpid(), signal.SIGINT); return 0\n"
        "run_console(main)"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=_ROOT, capture_output=True)
    assert (ended.returncode, ended.stderr) == (INTERRUPTED, b"")


def test_a_state_folder_that_cannot_be_made_is_said_in_a_line(tmp_path: Path) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("x", encoding="utf-8")
    env = {**os.environ, "XUANKA_STATE_DIR": str(occupied / "state")}
    words = ["knowledge", "ingest", str(occupied)]
    ended = subprocess.run(
        [sys.executable, "-m", *words], cwd=_ROOT, capture_output=True, env=env, text=True
    )
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert "XUANKA_STATE_DIR" in ended.stderr
