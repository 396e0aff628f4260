"""Every number, name, date, citation and claim of a text against what the tools found."""

from __future__ import annotations

from agent.answer import Answer
from agent.grounding.check import Problem, orphan_numbers, problems
from agent.grounding.evidence import Evidence

__all__ = ["Evidence", "Problem", "orphan_numbers", "problems", "ungrounded"]


def ungrounded(answer: Answer, *, question: str = "") -> tuple[Problem, ...]:
    """Numbers of an answer's text that stand neither in its figures nor in what it cites.

    Args:
        answer: A finished answer; its figures, offers, corrections and citations are the evidence.
        question: The text that was answered; numbers of the asker may be repeated.
    """
    from knowledge import get_passage

    found = (get_passage(citation.id) for citation in answer.citations)
    passages = [passage.text for passage in found if passage is not None]
    return orphan_numbers(answer.text, Evidence.of(answer, question=question, passages=passages))
