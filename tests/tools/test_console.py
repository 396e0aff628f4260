"""Command lines whose reader goes away."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tools.console import BROKEN_PIPE

_ROOT = Path(__file__).resolve().parents[2]


def _closed_early(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Runs a command whose output nobody reads."""
    child = subprocess.Popen(
        [sys.executable, "-m", *arguments],
        cwd=_ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.close()
    said = child.stderr.read()
    child.stderr.close()
    return subprocess.CompletedProcess(arguments, child.wait(timeout=60), None, said)


@pytest.mark.parametrize("arguments", [("tools", "gpus"), ("agent", "--show-config")], ids=" ".join)
def test_a_reader_that_goes_away_ends_the_command_without_a_word(
    arguments: tuple[str, ...],
) -> None:
    ended = _closed_early(*arguments)
    assert (ended.returncode, ended.stderr) == (BROKEN_PIPE, b"")


@pytest.mark.parametrize("room", ["tools", "agent", "knowledge", "evals", "ui"])
def test_help_that_nobody_reads_is_no_error(room: str) -> None:
    assert _closed_early(room, "--help").stderr == b""


def test_the_status_of_a_command_is_kept() -> None:
    code = "from tools.console import run_console; run_console(lambda: 3)"
    assert subprocess.run([sys.executable, "-c", code], cwd=_ROOT).returncode == 3


def test_bad_usage_is_still_two() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tools", "fit", "--nonsense"], cwd=_ROOT, capture_output=True
    )
    assert ended.returncode == 2
    assert b"--nonsense" in ended.stderr
