"""The advisor's façade: everything a face or a suite may use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent.advisor import MAX_QUESTION_BYTES, Advisor
    from agent.answer import Answer
    from agent.conversations.limits import LimitedConnection
    from agent.events import Answered, Event, TextDelta, ToolFinished, ToolStarted, Withdrawn
    from agent.grounding import ungrounded
    from agent.request import Request, Slots
    from agent.settings import Settings
    from agent.toolbox import Tool, ToolResult, build_toolbox

_HOMES = {
    "MAX_QUESTION_BYTES": "agent.advisor",
    "Advisor": "agent.advisor",
    "Answer": "agent.answer",
    "Answered": "agent.events",
    "Event": "agent.events",
    "LimitedConnection": "agent.conversations.limits",
    "Request": "agent.request",
    "Settings": "agent.settings",
    "Slots": "agent.request",
    "TextDelta": "agent.events",
    "Tool": "agent.toolbox",
    "ToolFinished": "agent.events",
    "ToolResult": "agent.toolbox",
    "ToolStarted": "agent.events",
    "Withdrawn": "agent.events",
    "build_toolbox": "agent.toolbox",
    "ungrounded": "agent.grounding",
}

__all__ = [
    "MAX_QUESTION_BYTES",
    "Advisor",
    "Answer",
    "Answered",
    "Event",
    "LimitedConnection",
    "Request",
    "Settings",
    "Slots",
    "TextDelta",
    "Tool",
    "ToolFinished",
    "ToolResult",
    "ToolStarted",
    "Withdrawn",
    "build_toolbox",
    "ungrounded",
]


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first asked for: `Settings` costs no LangChain."""
    if name not in _HOMES:
        raise AttributeError(f"module 'agent' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
