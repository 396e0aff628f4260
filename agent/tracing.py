"""Traces of LangChain's steps: off unless the settings ask for them, without text unless told."""

from __future__ import annotations

import os
from collections.abc import MutableMapping

from agent.settings import Settings


def configure_tracing(
    settings: Settings, environment: MutableMapping[str, str] | None = None
) -> None:
    """Sets what the langsmith client reads from the environment, before it is first used.

    `off` also switches off a tracing that the shell has on for other programs: questions and
    documents leave this process only when these settings say so. `opentelemetry` sends the spans
    to the collector of the usual OTEL_EXPORTER_OTLP_* variables and to nobody else.

    Args:
        settings: `tracing` and `log_content` decide.
        environment: Where to set it; the process environment by default.
    """
    env = os.environ if environment is None else environment
    is_on = settings.tracing != "off"
    is_otel = settings.tracing == "opentelemetry"
    env["LANGSMITH_TRACING"] = _flag(is_on)
    env["LANGSMITH_OTEL_ENABLED"] = _flag(is_otel)
    env["LANGSMITH_OTEL_ONLY"] = _flag(is_otel)
    for name in ("LANGSMITH_HIDE_INPUTS", "LANGSMITH_HIDE_OUTPUTS"):
        env[name] = _flag(not settings.log_content)
    for name in ("LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2"):
        env.pop(name, None)


def _flag(is_set: bool) -> str:
    return "true" if is_set else "false"
