"""What the words of a question weigh for each kind of it, learned from labelled questions.

The table (data/evidence.json) holds, for single words, pairs of words and up to three Chinese
characters that stand in several questions, and for the features of intent.py, how much each speaks
for a kind. It is added to the weights of intents.yaml, scaled down; `learning.py` makes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Set
from functools import cache
from importlib.resources import files
from math import sqrt
from typing import NamedTuple

RULES_COUNT = 0.4
"""Share of a weight of intents.yaml beside the learned ones."""
LENGTH = 3.0
"""Length to which the marks of a question are scaled: a long one says no more than a short one."""
_LONGEST = 500
"""Characters up to which a text is a question; longer ones are pasted and judged by rules alone."""
_MOST_CHARS = 3
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_PIECE = re.compile(r"[a-z]+|0|[\ue000-\ue0ff]|[\u3400-\u9fff]+|[?!]")


class Table(NamedTuple):
    """Learned weights."""

    kinds: tuple[str, ...]
    words: dict[str, dict[int, float]]
    features: dict[str, dict[int, float]]


@cache
def table() -> Table:
    """The shipped table."""
    text = (files("agent.understanding.data") / "evidence.json").read_text(encoding="utf-8")
    rows = json.loads(text)

    def weights(section: str) -> dict[str, dict[int, float]]:
        return {
            mark: {int(kind): value for kind, value in row.items()}
            for mark, row in rows[section].items()
        }

    return Table(tuple(rows["kinds"]), weights("words"), weights("features"))


def marks_of(signed: str) -> set[str]:
    """Words, pairs of words and runs of Chinese characters; every number is one word.

    Args:
        signed: Folded text with one sign for every name (frames.with_signs).
    """
    text = _NUMBER.sub("0", signed)
    marks: set[str] = set()
    words: list[str] = []
    for piece in _PIECE.findall(text):
        if "\u3400" <= piece[0] <= "\u9fff":
            for size in range(1, _MOST_CHARS + 1):
                marks |= {piece[at : at + size] for at in range(len(piece) - size + 1)}
        else:
            words.append(piece)
    marks |= set(words)
    return marks | {f"{one} {other}" for one, other in zip(words, words[1:], strict=False)}


def evidence(signed: str, features: Set[str]) -> dict[str, float]:
    """Weight for each kind of question; empty for a text too long to be a question.

    Args:
        signed: Folded text with signs for names.
        features: Features that hold for the text.
    """
    if len(signed) > _LONGEST:
        return {}
    learned = table()
    found = [learned.words[mark] for mark in marks_of(signed) if mark in learned.words]
    found += [learned.features[name] for name in features if name in learned.features]
    if not found:
        return {}
    totals = dict.fromkeys(range(len(learned.kinds)), 0.0)
    for row in found:
        for kind, weight in row.items():
            totals[kind] += weight
    scale = LENGTH / sqrt(len(found))
    return {learned.kinds[kind]: value * scale for kind, value in totals.items()}
