"""Is a text fit to be shown: language, length, and nothing of the prompt in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from agent.answer import Answer

LONGEST = 2500
"""Characters of an answer at the very most."""
_HAN = re.compile(r"[\u4e00-\u9fff]")
_FENCE = re.compile(r"==[0-9a-f]{8}==")
_LEAST_HAN = 0.12
_MOST_HAN = 0.05


@dataclass(frozen=True, slots=True)
class WordingProblem:
    """Why a text may not be shown."""

    reason: str


def wording_problems(text: str, draft: Answer) -> Iterator[WordingProblem]:
    """What is wrong with the form of a text that stands for `draft`."""
    if len(text) > LONGEST:
        yield WordingProblem(f"the reply has {len(text)} characters; at most {LONGEST} are allowed")
    letters = re.sub(r"[\s\d`|*_.,:;()\-]", "", text)
    share = len(_HAN.findall(letters)) / max(len(letters), 1)
    if draft.language == "zh" and share < _LEAST_HAN:
        yield WordingProblem("the reply must be in Chinese")
    if draft.language == "en" and share > _MOST_HAN:
        yield WordingProblem("the reply must be in English")
    if _FENCE.search(text):
        yield WordingProblem("the reply repeats marks of the prompt")
    if draft.corrections and not any(_told(text, c.fact) for c in draft.corrections):
        yield WordingProblem(f"the correction is missing: {draft.corrections[0].fact}")


def _told(text: str, fact: str) -> bool:
    """True when the text shares the names or numbers that a correction is about."""
    folded = text.casefold()
    marks = set(re.findall(r"[a-z]+\d[\w.-]*|\d+(?:\.\d+)?|[A-Z]{2,}\w*", fact))
    return not marks or any(mark.casefold() in folded for mark in marks)
