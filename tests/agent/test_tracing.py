"""Traces leave the process only when the settings ask, and carry no text unless told."""

from __future__ import annotations

import pytest

from agent import Settings
from agent.tracing import configure_tracing


def environment(**changes: object) -> dict[str, str]:
    env = {"LANGSMITH_TRACING": "true", "LANGCHAIN_TRACING_V2": "true"}
    configure_tracing(Settings(**changes), env)  # type: ignore[arg-type]
    return env


def test_off_overrides_a_shell_that_traces() -> None:
    env = environment()
    assert env["LANGSMITH_TRACING"] == "false"
    assert "LANGCHAIN_TRACING_V2" not in env


@pytest.mark.parametrize(("tracing", "otel"), [("langsmith", "false"), ("opentelemetry", "true")])
def test_tracing_is_on_where_asked_and_hides_text(tracing: str, otel: str) -> None:
    env = environment(tracing=tracing)
    assert env["LANGSMITH_TRACING"] == "true"
    assert env["LANGSMITH_OTEL_ONLY"] == otel
    assert env["LANGSMITH_HIDE_INPUTS"] == env["LANGSMITH_HIDE_OUTPUTS"] == "true"


def test_text_is_traced_only_when_content_may_be_logged() -> None:
    env = environment(tracing="langsmith", log_content=True)
    assert env["LANGSMITH_HIDE_INPUTS"] == "false"
