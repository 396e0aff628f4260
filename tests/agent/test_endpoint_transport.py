"""Faults of the transport, through the client that openai uses."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import httpx2
import pytest
import respx

from agent import Advisor, Settings
from agent.backends.check import check_backend

URL = "http://model.test/v1"
QUESTION = "Qwen2.5-7B QLoRA 在 A10 上行吗"


def settings(tmp_path: Path, **changes: Any) -> Settings:
    return Settings(
        base_url=URL, model="m", state_dir=tmp_path, breaker_failures=50, max_retries=0, **changes
    )


def refused() -> Exception:
    return httpx2.ConnectError("[Errno 111] Connection refused")


def unresolved() -> Exception:
    return httpx2.ConnectError("[Errno -2] Name or service not known")


def untrusted() -> Exception:
    error = httpx2.ConnectError("certificate verify failed")
    error.__cause__ = ssl.SSLCertVerificationError("certificate verify failed")
    return error


def silent() -> Exception:
    return httpx2.ReadTimeout("read timed out")


CASES = [
    (refused, "connection", "连不上"),
    (unresolved, "dns", "域名"),
    (untrusted, "tls", "TLS"),
    (silent, "timeout", "时限"),
]


@pytest.mark.parametrize(("make", "kind", "words"), CASES)
def test_transport_fault_is_told_apart(
    make: Any, kind: str, words: str, httpx2_mock: respx.Router, tmp_path: Path
) -> None:
    httpx2_mock.post(f"{URL}/chat/completions").mock(side_effect=make())
    with Advisor(settings(tmp_path)) as advisor:
        answer = advisor.ask(QUESTION)
    assert answer.backend == "embedded"
    assert words in (answer.degraded or "")
    report = check_backend(settings(tmp_path))
    assert not report.ok
    assert f"[{kind}]" in report.text


def test_check_says_when_nothing_is_configured(tmp_path: Path) -> None:
    report = check_backend(Settings(state_dir=tmp_path))
    assert report.ok
    assert "embedded" in report.text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"preset": "nobody"}, "unknown preset"),
        ({"preset": "deepseek"}, "DEEPSEEK_API_KEY"),
        ({"base_url": URL}, "XUANKA_MODEL"),
    ],
)
def test_check_says_what_is_missing(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    report = check_backend(Settings(state_dir=tmp_path, **changes))
    assert not report.ok
    assert words in report.text


@pytest.mark.parametrize(
    ("status", "kind"), [(401, "unauthorized"), (404, "not_found"), (429, "rate_limited")]
)
def test_check_names_the_status(
    status: int, kind: str, httpx2_mock: respx.Router, tmp_path: Path
) -> None:
    httpx2_mock.post(f"{URL}/chat/completions").respond(status, json={"error": {"message": "no"}})
    assert f"[{kind}]" in check_backend(settings(tmp_path)).text
