"""Misspelt words of the field: "modle too big for my crad" means a model and a card.

Only a word that no text of ours knows is looked at, and only a slip of one letter that leads to
exactly one word of the glossary is put right. Longer words may slip in more ways, since a short
one is soon another word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Set

from knowledge.glossary import field_words
from knowledge.text import stem

_WORD = re.compile(r"(?<![\w.+-])[A-Za-z]{4,20}(?![\w+-]|\.\w)")
_SWAPPED, _MISSING, _CHANGED = 4, 5, 7
"""Letters that a word must have for two to be swapped, one missing or doubled, one changed."""


def stems_of(texts: Iterable[str]) -> frozenset[str]:
    """Stems of every Latin word of some texts."""
    return frozenset(
        stem(word) for text in texts for word in re.findall(r"[a-z]{4,}", text.lower())
    )


def is_slip(word: str, meant: str) -> bool:
    """Whether one slip of the fingers makes `word` of `meant`.

    >>> is_slip("modle", "model"), is_slip("memry", "memory"), is_slip("boot", "boat")
    (True, True, False)
    """
    if word[0] != meant[0] or word == meant:
        return False
    first = next((i for i, (a, b) in enumerate(zip(word, meant, strict=False)) if a != b), None)
    at = min(len(word), len(meant)) if first is None else first
    if len(word) == len(meant):
        swapped = word[at : at + 2] == meant[at : at + 2][::-1]
        if swapped and word[at + 2 :] == meant[at + 2 :]:
            return len(word) >= _SWAPPED
        return len(word) >= _CHANGED and word[at + 1 :] == meant[at + 1 :]
    shorter, longer = sorted((word, meant), key=len)
    is_one = len(longer) - len(shorter) == 1 and longer[at + 1 :] == shorter[at:]
    return is_one and len(shorter) >= _MISSING


def corrected(text: str, known: Set[str]) -> str:
    """A query with the slips in its Latin words put right.

    Args:
        text: The query.
        known: Stems that are words already, of the field or not.
    """

    def put_right(match: re.Match[str]) -> str:
        word = match.group().lower()
        if stem(word) in known:
            return match.group()
        meant = [m for m in field_words() if is_slip(word, m)]
        stems = {stem(m) for m in meant}
        return min(meant, key=len) if len(stems) == 1 else match.group()

    return _WORD.sub(put_right, text)
