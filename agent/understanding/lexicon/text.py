"""The text of a question, folded for reading, with the way back to what was written.

Folding makes one spelling of many: full-width forms become ASCII, letters lower case, all dashes
one dash, the signs of multiplication ``x``, traditional characters simplified, invisible and
control characters blanks or nothing. Every folded character knows where it stood, so a slot's
span is always a span of the reader's own text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from agent.request import Span
from agent.understanding.data import load

MAX_CHARS = 24_000
"""Characters that are read closely; of longer texts the head, the tail and the telling lines."""
_HEAD = 10_000
_TAIL = 8_000
_WINDOW = 700
_SURROGATES = re.compile(r"[\ud800-\udfff]")
"""Halves of characters: no text that can be written anywhere."""
_NOT_BREAK = re.compile(r"[^\n]")
_PLAIN = re.compile(r"[\x20-\x7e\n\u3400-\u9fff]*\Z")


@cache
def _one_to_one() -> dict[int, str]:
    """Characters replaced by one character."""
    table: dict[int, str] = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    tables = load("folding")
    for name in ("dashes", "times", "quotes", "blanks"):
        for char in tables[name]["from"]:
            table[ord(char)] = tables[name]["to"]
    for pair in tables["simplified"].split():
        table[ord(pair[0])] = pair[1]
    table.update({code: chr(code).lower() for code in range(ord("A"), ord("Z") + 1)})
    table.update({code + 0xFEE0: chr(code).lower() for code in range(ord("A"), ord("Z") + 1)})
    return table


def fold(text: str) -> tuple[str, list[int] | None]:
    """Folded text, and where each of its characters stood (None: at the same place)."""
    table = _one_to_one()
    if _PLAIN.match(text):
        return text.translate(table), None
    out: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text):
        folded = ", " if char == "\uff0c" and _parts_numbers(text, place) else None
        for piece in folded or _fold_char(char, table):
            out.append(piece)
            places.append(place)
    return "".join(out), places


def _parts_numbers(text: str, place: int) -> bool:
    """Whether a Chinese comma stands between two numbers: it never groups the digits of one."""
    before, behind = text[place - 1 : place], text[place + 1 : place + 2]
    return before.isascii() and before.isdigit() and behind.isascii() and behind.isdigit()


def _fold_char(char: str, table: dict[int, str]) -> str:
    known = table.get(ord(char))
    if known is not None:
        return known
    if char.isascii() and char.isprintable():
        return char
    category = unicodedata.category(char)
    if category in ("Cf", "Mn", "Me"):  # zero width, direction marks, variation selectors
        return ""
    if category[0] in "ZC":
        return "\n" if char in "\n\r\u2028\u2029" else " "
    return unicodedata.normalize("NFKC", char).lower() or " "


def blanked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The text with blanks in place of the spans; same length."""
    pieces: list[str] = []
    place = 0
    for start, end in sorted(spans):
        if end <= place:
            continue
        start = max(start, place)
        pieces += [text[place:start], " " * (end - start)]
        place = end
    return "".join([*pieces, text[place:]])


def _telling_windows(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Pieces of a long text around words that a diagnosis needs, in order."""
    found: list[tuple[int, int]] = []
    for word in load("folding")["telling"]:
        place = text.find(word, start, end)
        if place >= 0:
            found.append((max(start, place - _WINDOW // 3), min(end, place + _WINDOW)))
    merged: list[tuple[int, int]] = []
    for low, high in sorted(found):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged


def _excerpt(text: str) -> tuple[str, list[int] | None]:
    """The part of a text that is read closely, and where its characters stood."""
    if len(text) <= MAX_CHARS:
        return text, None
    pieces = [(0, _HEAD), *_telling_windows(text, _HEAD, len(text) - _TAIL)]
    pieces.append((len(text) - _TAIL, len(text)))
    chunks: list[str] = []
    places: list[int] = []
    for low, high in pieces:
        chunks.append(text[low:high] + "\n")
        places.extend(range(low, high))
        places.append(high - 1)
    return "".join(chunks), places


@dataclass(slots=True)
class Document:
    """A text being read: the folded form, and which characters are spoken for."""

    raw: str
    """As written."""
    text: str
    """Folded; readers match on this."""
    places: list[int] | None
    taken: bytearray = field(default_factory=bytearray)
    """One byte a folded character: 1 when a reader has understood it."""
    _rest: str | None = None
    """What `rest` gave last; None once more is taken."""

    @classmethod
    def of(cls, raw: str) -> Document:
        """Document of a text of any length and content."""
        raw = _SURROGATES.sub("\ufffd", raw)
        excerpt, first = _excerpt(raw)
        folded, second = fold(excerpt)
        for typo in load("folding")["typos"]:
            if typo["from"] in folded and any(word in folded for word in typo["when"]):
                folded = folded.replace(typo["from"], typo["to"])
        places = second
        if first is not None:
            places = first if second is None else [first[place] for place in second]
        return cls(raw, folded, places, bytearray(len(folded)))

    def is_free(self, start: int, end: int) -> bool:
        """Whether no reader has taken a character of the range."""
        return not any(self.taken[start:end])

    def take(self, start: int, end: int) -> None:
        """Mark a range as understood."""
        self.taken[start:end] = b"\x01" * (end - start)
        self._rest = None

    def rest(self) -> str:
        """The text with blanks in place of what was taken; same length."""
        if self._rest is None:
            self._rest = self._without_taken()
        return self._rest

    def _without_taken(self) -> str:
        pieces: list[str] = []
        place = 0
        while (start := self.taken.find(1, place)) >= 0:
            end = self.taken.find(0, start)
            end = len(self.text) if end < 0 else end
            gone = self.text[start:end]
            blank = " " * len(gone) if "\n" not in gone else _NOT_BREAK.sub(" ", gone)
            pieces += [self.text[place:start], blank]
            place = end
        return "".join([*pieces, self.text[place:]])

    def span(self, start: int, end: int) -> Span:
        """The reader's own words for a folded range."""
        if start >= end or not self.text:
            return Span(start=0, end=0, text="")
        if self.places is None:
            return Span(start=start, end=end, text=self.raw[start:end])
        low = self.places[start]
        high = self.places[min(end, len(self.places)) - 1] + 1
        return Span(start=low, end=max(low, high), text=self.raw[low:high])
