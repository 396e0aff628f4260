"""What happens while an answer is made, in the order in which a face should show it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agent.answer import Answer


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool is about to run."""

    name: str
    arguments: dict[str, Any]
    id: str
    """Pairs it with its `ToolFinished`."""


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool has run."""

    name: str
    id: str
    ok: bool
    elapsed_ms: float
    summary: str
    """One line: what it found, or why it could not."""
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next piece of the answer's text."""

    delta: str


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """All text sent so far is void: the attempt failed and another answer follows."""

    reason: str


@dataclass(frozen=True, slots=True)
class Answered:
    """The finished answer; always the last event. Its text replaces all text sent before."""

    answer: Answer


Event = ToolStarted | ToolFinished | TextDelta | Withdrawn | Answered
