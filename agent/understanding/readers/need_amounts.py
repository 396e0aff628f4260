"""Least amounts that a machine must have: memory, links, cores, cards (data/machine_need.yaml)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

from agent.understanding.data import load
from agent.understanding.lexicon.numerals import number_pattern, parse_number
from agent.understanding.lexicon.phrases import compiled, phrase_pattern
from agent.understanding.readers.claims import Place, shared_out

_NUMBER = number_pattern(scale=False)
_WORDED = number_pattern(scale=False, words=True)
_MOST = 20
"""Matches of one pattern that are looked at."""
_BEHIND, _FRONT, _ALONE = 2.0, 1.9, 0.5
"""Strength of a word behind a number, in front of it, and of a unit that needs no word."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """One kind of amount."""

    point: str | None
    """Field of the need; None for what no field holds."""
    units: dict[str, float]
    patterns: tuple[tuple[str, float], ...]
    """Regular expressions with the groups number, unit and word, each with its strength."""


@dataclass(frozen=True, slots=True)
class _Claim:
    rule: _Kind
    found: re.Match[str]
    value: float
    score: float

    @property
    def place(self) -> Place:
        return self.found.span()

    @property
    def number(self) -> Place:
        return self.found.span("number")

    @property
    def word(self) -> Place:
        return self.found.span("word") if self.score > _ALONE else (self.found.end(),) * 2


def _either(phrases: Iterable[str], *, leading: bool = False) -> str:
    """Alternation, longest first; a word may touch the number beside it: 8vcpu, vram24g."""
    ordered = sorted(map(str, phrases), key=len, reverse=True)
    return "|".join(phrase_pattern(p, open_end=leading, open_start=not leading) for p in ordered)


@cache
def _parts() -> dict[str, str]:
    """Pieces of patterns that all kinds share."""
    words = load("machine_need")
    least = _either([*words["least"], *words["link"]], leading=True)
    return {
        "least": rf"\s?(?:(?:{least})\s?){{0,2}}",
        "more": rf"\s?(?:(?:{_either(words['more'])})\s?)?",
        "of": rf"(?:(?:{_either(words['of'])})\s?)?",
        "below": rf"(?!\s?(?:{_either(words['most_behind'])}))",
    }


@cache
def _kinds() -> tuple[_Kind, ...]:
    return tuple(_kind(row) for row in load("machine_need")["amounts"].values())


def _kind(row: dict[str, Any]) -> _Kind:
    units = load("machine_need")["units"]
    own, parts = units[row["unit"]], _parts()
    amount = _amount(own, is_bare=row["unit"] == "count") + parts["more"] + parts["below"]
    then = rf"(?:\s?(?:{_either(row['then'], leading=True)}))?" if "then" in row else ""
    front = _either(row.get("front", row["words"]), leading=True)
    patterns = [
        (rf"{amount}{parts['of']}(?P<word>{_either(row['words'])})", _BEHIND),
        (rf"(?P<word>(?:{front}){then}){parts['least']}{amount}", _FRONT),
    ]
    if "alone" in row:
        patterns.append((_amount(units[row["alone"]], is_bare=False) + parts["below"], _ALONE))
    return _Kind(row["point"], own | units.get(row.get("alone"), {}), tuple(patterns))


def _amount(units: Iterable[str], *, is_bare: bool) -> str:
    """A number with its unit; one of things counted needs none."""
    unit = rf"(?P<unit>{_either(units)})(?!/s)"
    if is_bare:
        unit = rf"(?P<unit>{_either(units)})?(?![a-z0-9.%]|\s?(?:g|gi?b|ti?b|[张块卡台])(?![a-z]))"
    return rf"(?<![a-z0-9.$¥])(?P<number>{_NUMBER})\s?\+?\s?{unit}"


def _claims(text: str) -> Iterator[_Claim]:
    for kind in _kinds():
        for pattern, score in kind.patterns:
            for found in islice(compiled(pattern).finditer(text), _MOST):
                value = parse_number(found["number"])
                if value is not None and not _is_greatest(text, found.start("number")):
                    value *= kind.units.get(found["unit"] or "", 1)
                    yield _Claim(kind, found, value, score)


@cache
def _greatest() -> re.Pattern[str]:
    return re.compile(rf"(?:{_either(load('machine_need')['most'], leading=True)})\s?\Z")


def _is_greatest(text: str, start: int) -> bool:
    """Whether the words in front make a number the greatest one."""
    before = text[max(0, start - 16) : start]
    greatest, least = _greatest().search(before), _least().search(before)
    if greatest is None or least is None:
        return greatest is not None
    return greatest.start() <= least.start()  # 低于 is the end of 不低于


def read_least_amounts(text: str) -> tuple[dict[str, float], str]:
    """Least amounts by the field of the need, and the text without them.

    Args:
        text: Folded; what is said of money or not wanted is out of it.
    """
    points: dict[str, float] = {}
    places: list[Place] = []
    for claim in shared_out(list(_claims(text))):
        places.append(claim.place)
        if claim.rule.point is not None:
            points.setdefault(claim.rule.point, claim.value)
    return points, holes(text, places)


def holes(text: str, places: Sequence[Place]) -> str:
    """The text with a comma and blanks in these places: what is beside them stays apart."""
    for start, end in places:
        text = text[:start] + ",".ljust(end - start)[: end - start] + text[end:]
    return text


@cache
def _counted() -> re.Pattern[str]:
    words, parts = load("machine_need"), _parts()
    number = rf"{_WORDED}|{'|'.join(words['counted'])}"
    more = _either(words["more"])
    return re.compile(
        rf"(?:(?P<least>{_either(words['least'], leading=True)})\s?)?(?<![a-z0-9./])"
        rf"(?P<number>{number})\s?(?:(?P<more>{more})\s?)?-?(?:{_either(words['cards'])})"
        rf"(?!\s?-?(?:hours?|小?时))(?:\s?(?P<more2>{more}))?{parts['below']}"
    )


def read_cards_counted(text: str) -> tuple[int, bool] | None:
    """How many cards, and whether no more; None where they are not counted.

    Args:
        text: What `read_least_amounts` left.
    """
    for found in islice(_counted().finditer(text), _MOST):
        value = load("machine_need")["counted"].get(found["number"]) or parse_number(
            found["number"]
        )
        is_whole = value is not None and value == int(value) and 1 <= value <= _MOST_CARDS
        if value is None or not is_whole or _is_greatest(text, found.start()):
            continue
        return int(value), not (found["least"] or found["more"] or found["more2"])
    return _counted_by_name(text)


def without_counts(text: str) -> str:
    """The text with blanks in place of cards counted."""
    return _counted().sub(lambda found: " " * len(found[0]), text)


_MOST_CARDS = 99


def _counted_by_name(text: str) -> tuple[int, bool] | None:
    """A number in front of a card's name: 8 L4 GPUs, at least 4x A10, two A100s."""
    from tools.gpus import scan_gpus

    for mention in scan_gpus(text):
        if mention.count is not None and 1 <= mention.count <= _MOST_CARDS:
            is_least = _least().search(text[max(0, mention.start - 16) : mention.start])
            return mention.count, is_least is None
    return None


@cache
def _least() -> re.Pattern[str]:
    return re.compile(rf"(?:{_either(load('machine_need')['least'], leading=True)})\s?\Z")
