"""How `ui serve` and `ui mcp` begin, or say in one sentence why they do not."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from ui.cli import main

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("port", ["99999", "-1", "65536", "7e3", "", "१"])
@pytest.mark.parametrize("command", ["serve", "mcp"])
def test_a_port_is_from_0_to_65535(
    command: str, port: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([command, f"--port={port}"])
    assert "1 to 65535" in capsys.readouterr().err


@pytest.mark.parametrize("rest", [[], ["--workers", "2"]])
@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("XUANKA_API_TOKENS", "al:hush", "XUANKA_API_TOKENS .* 16 characters"),
        ("XUANKA_API_TOKENS", "hush", "an entry without a name"),
        ("XUANKA_ANSWER_TIMEOUT_S", "abc", "XUANKA_ANSWER_TIMEOUT_S is 'abc'.* number"),
        ("XUANKA_ANSWER_TIMEOUT_S", "-1", "XUANKA_ANSWER_TIMEOUT_S is '-1'.* greater than 0"),
        ("XUANKA_PAGE", "perhaps", "XUANKA_PAGE is 'perhaps'.* boolean"),
    ],
)
def test_a_setting_that_cannot_be_used_is_one_sentence(
    name: str, value: str, said: str, rest: list[str],
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv(name, value)
    assert main(["serve", "--port", "0", *rest]) == 2
    complaint = capsys.readouterr().err
    assert re.search(said, complaint)
    assert len(complaint.splitlines()) == 1
    assert "hush" not in complaint


@pytest.mark.sockets
@pytest.mark.parametrize("command", [["serve"], ["serve", "--workers", "2"], ["mcp", "--http"]])
def test_a_taken_port_and_a_foreign_host_are_said_and_nothing_is_on(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = str(other.getsockname()[1])
        assert main([*command, "--port", taken]) == 2
    assert main([*command, "--host", "192.0.2.1", "--port", "0"]) == 2
    complaint = capsys.readouterr().err
    assert "a free port" in complaint
    assert "--host is '192.0.2.1'" in complaint
    assert " is on " not in complaint


@pytest.mark.sockets
@pytest.mark.slow
def test_any_free_port_is_told_once_it_is_bound(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "ui", "serve", "--port", "0", "--log-level", "error"],
        cwd=ROOT, env={**os.environ, "XUANKA_STATE_DIR": str(tmp_path)},
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        line = next(row for row in process.stderr if " is on " in row)
        url = line.split()[-1]
        assert not url.endswith(":0")
        assert httpx.get(f"{url}/healthz", timeout=60).json() == {"status": "ok"}
    finally:
        process.terminate()
        process.communicate(timeout=60)
