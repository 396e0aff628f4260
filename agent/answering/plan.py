"""How an answer is planned: a generator that asks for tool calls and ends with an answer.

A composer reads straight through, `results = yield (Call(...), ...)`, and returns the answer.
It keeps no state: run again with the results recorded so far it makes the same calls, so a chat
model that is handed only messages can go on from any step.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.answer import Answer
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.simulate import SimulationState


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that a composer wants made."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Context:
    """What a composer may know besides the request."""

    own_machine: bool = False
    simulation: SimulationState = "off"
    """Whether a training step can be simulated for an answer."""
    earlier: tuple[Request, ...] = ()
    """Requests of the earlier turns, oldest first."""


Plan = Generator[tuple[Call, ...], tuple[ToolResult, ...], Answer]


def advance(plan: Plan, recorded: Sequence[ToolResult]) -> tuple[Call, ...] | Answer:
    """The next calls that `plan` wants after the recorded results, or its answer."""
    rest = list(recorded)
    try:
        wanted = next(plan)
        while len(rest) >= len(wanted):
            given, rest = tuple(rest[: len(wanted)]), rest[len(wanted) :]
            wanted = plan.send(given)
    except StopIteration as finished:
        answer: Answer = finished.value
        return answer
    plan.close()
    return wanted
