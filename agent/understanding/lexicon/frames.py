"""What a text asks, read from the order of its words (tables: data/frames.yaml, data/marks/).

A frame is a row of word classes that follow one another within a clause: "which" ... "card" ...
"should I" asks for a recommendation whatever stands between. Names of cards, models and instance
types count as one word each, so a long name moves nothing apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from agent.understanding.data import load
from agent.understanding.lexicon.phrases import PhraseTable
from agent.understanding.lexicon.readings import Board

_NAMED = {
    "card": "\ue001",
    "model_match": "\ue002",
    "model_family": "\ue002",
    "model_small": "\ue002",
    "params_b": "\ue002",
    "instance_mention": "\ue003",
    "provider": "\ue004",
}
"""Readings that are one word of a frame, and the sign that stands for each."""
_SIGNS = {"<card>": "\ue001", "<model>": "\ue002", "<instance>": "\ue003", "<provider>": "\ue004"}
_NUMBER = re.compile(r"(?<![a-z0-9.])\d{1,9}(?:\.\d{1,4})?|[一二两三四五六七八九十半]+")
_FIGURES = {"<n>": _NUMBER, "<pct>": re.compile(r"\d{1,3}(?:\.\d)?\s?(?:%|percent)")}
"""Classes that are numbers: any, and a share in per cent."""
_STOP = re.compile(r"[。!?;\n]|\.\s")
_PART = re.compile(r"[。!?;,\n]|\.\s|\s(?=[\u3400-\u9fff])|(?<=[\u3400-\u9fff])\s")
"""Where one part of a sentence ends; a blank beside Chinese characters is such a place."""
_WORD = re.compile(r"[a-z0-9.%$/'\-]+|[\u3400-\u9fff\ue000-\ue0ff]")
_BREAK = re.compile(r"[,:()]")
_BREAK_COSTS = 1
_USUAL_GAP = 3
_BESIDE = 4
"""Characters beside a frame in which a barred word counts."""
_MOST_HITS = 40
_HEAD, _TAIL = 3000, 1500
"""Of a long text the parts in which a question is looked for."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Frame:
    kind: str
    steps: tuple[tuple[str, int], ...]
    """Word class, and the words that may stand between the one before and it."""
    barred: tuple[str, ...]


def _frame(kind: str, written: str) -> _Frame:
    steps: list[tuple[str, int]] = []
    barred: list[str] = []
    gap = _USUAL_GAP
    for token in written.split():
        if token.isdigit():
            gap = int(token)
        elif token.startswith("!"):
            barred.append(token[1:])
        else:
            steps.append((token, gap))
            gap = _USUAL_GAP
    return _Frame(kind, tuple(steps), tuple(barred))


class FrameBook:
    """Classes of words, and the rows of classes that make a frame."""

    def __init__(
        self, classes: Mapping[str, Iterable[str]], frames: Mapping[str, Iterable[str]]
    ) -> None:
        """Compiles the tables.

        Args:
            classes: Name -> phrases; <card>, <model>, <instance> and <provider> stand for names.
            frames: Kind -> rows as written in the data files.

        Raises:
            ValueError: If a row names a class that is not there.
        """
        signed = {name: [p for p in phrases if p in _SIGNS] for name, phrases in classes.items()}
        signed |= {name: [name] for name in _SIGNS}
        self._of_sign = {
            sign: [name for name, written in signed.items() if phrase in written]
            for phrase, sign in _SIGNS.items()
        }
        self._words = PhraseTable(
            {name: [p for p in phrases if p not in _SIGNS] for name, phrases in classes.items()}
        )
        self._frames = tuple(_frame(kind, row) for kind, rows in frames.items() for row in rows)
        for frame in self._frames:
            for name in (*(step for step, _ in frame.steps), *frame.barred):
                if name not in signed and name not in _FIGURES:
                    raise ValueError(f"frame {frame.kind!r} names {name!r}, which is no class")

    def kinds(self, signed: str) -> frozenset[str]:
        """Kinds of frames that stand in a text with signs for its names."""
        return self._kinds(signed, _Hits(self.spans(signed), signed))

    def both(self, signed: str) -> frozenset[str]:
        """Classes of which a word, or a name, stands in the text, and kinds of frames."""
        spans = self.spans(signed)
        return self._kinds(signed, _Hits(spans, signed)) | frozenset(spans)

    def _kinds(self, signed: str, hits: _Hits) -> frozenset[str]:
        return frozenset(frame.kind for frame in self._frames if _holds(frame, signed, hits))

    def spans(self, signed: str) -> dict[str, list[Span]]:
        """Where the classes stand, all of them looked up in one go."""
        found: dict[str, list[Span]] = {}
        for hit in self._words.every(signed):
            found.setdefault(hit.value, []).append((hit.start, hit.end))
        for sign, names in self._of_sign.items():
            places = _places(signed, sign)
            for name in names if places else ():
                found.setdefault(name, []).extend((place, place + 1) for place in places)
        return {name: sorted(spans)[:_MOST_HITS] for name, spans in found.items()}


class _Hits:
    """Where classes stand in one text; numbers are looked up when a frame first needs them."""

    def __init__(self, spans: dict[str, list[Span]], text: str) -> None:
        self._found, self._text = spans, text
        self._figures: dict[str, list[Span]] = {}

    def of(self, name: str) -> Sequence[Span]:
        """Spans of a class, the first ones."""
        if name not in _FIGURES:
            return self._found.get(name, ())
        if name not in self._figures:
            spans = [hit.span() for hit in _FIGURES[name].finditer(self._text)]
            self._figures[name] = spans[:_MOST_HITS]
        return self._figures[name]


@cache
def _book() -> FrameBook:
    rows = load("frames")
    return FrameBook(rows["classes"], rows["frames"])


def with_signs(text: str, board: Board, *, products: bool = True) -> str:
    """The text with one sign in place of every name that was read in it.

    Args:
        text: Folded text, as long as the one that was read.
        board: What was read in it.
        products: Also for products that imply their provider (EFA, ESSD); else they are words.
    """
    spans: list[tuple[int, int, str]] = sorted(
        (reading.start, reading.end, _NAMED[reading.slot])
        for reading in board.readings
        if reading.slot in _NAMED and reading.end > reading.start
        if products or reading.slot != "provider" or reading.weight >= 1
    )
    pieces: list[str] = []
    place = 0
    for start, end, sign in spans:
        if start < place or not text[start:end].strip():
            continue
        pieces += [text[place:start], sign]
        place = end
    return "".join([*pieces, text[place:]])


def asked(text: str, board: Board) -> frozenset[str]:
    """Kinds of questions whose frame stands in the text.

    Args:
        text: Folded text, as long as the one that was read.
        board: What was read in it.
    """
    return _book().kinds(shortened(with_signs(text, board)))


def shortened(signed: str) -> str:
    """Head and tail of a long text: the parts in which a question is looked for."""
    if len(signed) <= _HEAD + _TAIL:
        return signed
    return signed[:_HEAD] + "\n" + signed[-_TAIL:]


def _holds(frame: _Frame, text: str, hits: _Hits) -> bool:
    for start, end in hits.of(frame.steps[0][0]):
        reached = _follow(frame.steps[1:], end, text, hits)
        if reached is not None and not _is_barred(frame, start, reached, text, hits):
            return True
    return False


def _follow(steps: Sequence[tuple[str, int]], place: int, text: str, hits: _Hits) -> int | None:
    """Where the last step ends, or None where a step is missing."""
    if not steps:
        return place
    name, gap = steps[0]
    for start, end in hits.of(name):
        if start < place:
            continue
        between = text[place:start]
        if len(between) > 16 * (gap + 1) or _STOP.search(between):
            break
        if _words_in(between) > gap:
            break
        reached = _follow(steps[1:], end, text, hits)
        if reached is not None:
            return reached
    return None


def _words_in(text: str) -> int:
    return len(_WORD.findall(text)) + _BREAK_COSTS * len(_BREAK.findall(text))


def _is_barred(frame: _Frame, start: int, end: int, text: str, hits: _Hits) -> bool:
    low, high = start - _BESIDE, end + 4 * _BESIDE
    return any(
        hit[1] > low
        and hit[0] < high
        and not _PART.search(text[end : hit[0]])
        and not _PART.search(text[hit[1] : start])
        for name in frame.barred
        for hit in hits.of(name)
    )


def _places(text: str, sign: str) -> list[int]:
    return [place for place, char in enumerate(text) if char == sign][:_MOST_HITS]
