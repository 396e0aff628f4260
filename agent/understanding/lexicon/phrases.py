"""Tables of phrases, compiled once: which words of a text stand for which value.

How a phrase is written in a data file:

* a blank or a hyphen between words matches any separator or none: ``4 bit`` finds 4bit, 4-bit
  and 4_bit;
* ``~`` stands for up to eight characters of the same sentence: ``多少~显存``;
* a phrase that begins or ends with an ASCII letter or digit must not touch another one there;
* everything else is itself. Phrases are folded like the text they are looked for in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

from agent.understanding.data import load
from agent.understanding.lexicon.text import fold

_SEPARATOR = r"[ \-_]?"
_GAP = r"[^\n。!?;]{0,8}?"


class Hit(NamedTuple):
    """A phrase found in a text."""

    value: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Phrase:
    key: str
    """Its longest literal piece: cheap to look for before the pattern runs."""
    pattern: str
    value: str


def phrase_pattern(phrase: str, *, open_start: bool = False, open_end: bool = False) -> str:
    """Regular expression of one phrase, borders included.

    Args:
        phrase: As in the data files.
        open_start: A digit may touch its beginning: the ``ctx`` of 4ctx.
        open_end: A digit may touch its end: the ``bs`` of bs1.
    """
    folded = fold(phrase)[0].strip()
    pieces: list[str] = []
    for place, char in enumerate(folded):
        if char in " -_" and place > 0:
            pieces.append(_SEPARATOR)
        elif char == "~":
            pieces.append(_GAP)
        else:
            pieces.append(re.escape(char))
    before = (r"(?<![a-z])" if open_start else r"(?<![a-z0-9])") if _is_word(folded[0]) else ""
    after = (r"(?![a-z])" if open_end else r"(?![a-z0-9])") if _is_word(folded[-1]) else ""
    return before + "".join(pieces) + after


def phrase_key(phrase: str) -> str:
    """Longest literal piece of a phrase."""
    return max(re.split(r"[ \-_~]+", fold(phrase)[0].strip()), key=len)


def _is_word(char: str) -> bool:
    return char.isascii() and char.isalnum()


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern of ours, compiled when a text first needs it: most never do."""
    return re.compile(pattern)


def gram_of(key: str) -> str:
    """The piece of a phrase's key that is looked up first: its beginning, three letters at most."""
    return key[:3]


@lru_cache(maxsize=256)
def grams_of(text: str) -> frozenset[str]:
    """Every run of one, two and three characters of a text: most phrases have none of them."""
    pairs = map("".join, pairwise(text))
    threes = (text[place : place + 3] for place in range(len(text) - 2))
    return frozenset((*text, *pairs, *threes))


class PhraseTable:
    """Values and the phrases that stand for them."""

    def __init__(self, phrases: Mapping[str, Iterable[str]]) -> None:
        entries = [
            _Phrase(phrase_key(str(phrase)), phrase_pattern(str(phrase)), value)
            for value, written in phrases.items()
            for phrase in written
        ]
        self._entries: Sequence[_Phrase] = tuple(
            sorted(entries, key=lambda entry: len(entry.pattern), reverse=True)
        )
        by_gram: dict[str, list[int]] = {}
        for place, entry in enumerate(self._entries):
            by_gram.setdefault(gram_of(entry.key), []).append(place)
        self._by_gram = by_gram
        self._grams = frozenset(by_gram)

    def find(self, text: str) -> list[Hit]:
        """All phrases of the text in order; of overlapping ones the longest."""
        hits = sorted(self._all(text), key=lambda hit: (hit.start - hit.end, hit.start))
        kept: list[Hit] = []
        for hit in hits:
            if all(hit.end <= other.start or hit.start >= other.end for other in kept):
                kept.append(hit)
        return sorted(kept, key=lambda hit: hit.start)

    def every(self, text: str) -> list[Hit]:
        """All phrases of the text, overlapping ones too."""
        return list(self._all(text))

    def values(self, text: str) -> set[str]:
        """Values with at least one phrase in the text; overlaps all count."""
        return {hit.value for hit in self._all(text)}

    def has(self, text: str) -> bool:
        """Whether any phrase is in the text."""
        return next(self._all(text), None) is not None

    def _all(self, text: str) -> Iterator[Hit]:
        near = self._grams & grams_of(text)
        if not near:
            return
        for place in sorted(place for gram in near for place in self._by_gram[gram]):
            entry = self._entries[place]
            if entry.key in text:
                for count, found in enumerate(compiled(entry.pattern).finditer(text)):
                    if count >= 200:
                        break
                    yield Hit(entry.value, found.start(), found.end())


@cache
def table(file: str, name: str) -> PhraseTable:
    """Phrase table `name` of a data file, compiled once.

    A list instead of a mapping is a table whose only value is its name.
    """
    rows = load(file)[name]
    return PhraseTable(rows if isinstance(rows, dict) else {name: rows})


@cache
def tables(file: str) -> dict[str, PhraseTable]:
    """Every table of a data file whose entries are value -> phrases."""
    return {name: table(file, name) for name in load(file)}
