"""Every number, name, date, citation and claim of a text against what the tools found."""

from __future__ import annotations

from agent.grounding.check import Problem, orphan_numbers, problems
from agent.grounding.evidence import Evidence

__all__ = ["Evidence", "Problem", "orphan_numbers", "problems"]
