"""`--check-backend`: tries the configured endpoint and says exactly what is wrong."""

from __future__ import annotations

from typing import Any, NamedTuple

import httpx2
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool

from agent.backends.attempt import Deadline, attempt
from agent.backends.endpoint import Endpoint, chat_model, endpoint_of, timeout_of
from agent.backends.faults import Fault
from agent.settings import Settings


class BackendReport(NamedTuple):
    """What the check found."""

    ok: bool
    text: str


@tool
def largest_number(numbers: list[float]) -> float:
    """The largest of some numbers."""
    return max(numbers)


def check_backend(settings: Settings) -> BackendReport:
    """Asks the endpoint for a word, streamed and not, and for a tool call."""
    if not settings.uses_endpoint:
        return BackendReport(
            True, "backend: embedded (no endpoint is configured); nothing to check"
        )
    lines: list[str] = []
    try:
        endpoint = endpoint_of(settings)
        lines.append(f"endpoint: {endpoint.base_url}  model: {endpoint.model}")
        _check_replies(settings, endpoint, lines)
    except Fault as fault:
        lines.append(f"FAILED [{fault.kind}] {fault}")
        return BackendReport(False, "\n".join(lines))
    return BackendReport(True, "\n".join(lines))


def _check_replies(settings: Settings, endpoint: Endpoint, lines: list[str]) -> None:
    with httpx2.Client(timeout=timeout_of(settings)) as client:
        _ask(chat_model(settings, endpoint, http_client=client), settings, lines)


def _ask(model: Any, settings: Settings, lines: list[str]) -> None:
    question = [HumanMessage("Reply with the single word: ready")]
    for name, listen in (("reply", None), ("streamed reply", lambda _: None)):
        deadline = Deadline.after(settings.answer_budget_s)
        attempt(model, question, deadline=deadline, on_text=listen)
        lines.append(f"{name}: ok")
    asked = [HumanMessage("Use the tool to find the largest of 3, 9 and 4.")]
    deadline = Deadline.after(settings.answer_budget_s)
    try:
        reply = attempt(model.bind_tools([largest_number]), asked, deadline=deadline, on_text=None)
    except Fault as fault:
        if fault.kind != "no_tools":
            raise
        lines.append("tool calling: not supported; answers are phrased without tools")
        return
    lines.append(f"tool calling: {'ok' if reply.tool_calls else 'offered, not used by the model'}")
