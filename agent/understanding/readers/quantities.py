"""Numbers whose slot follows from the words beside them (table: data/quantities.yaml)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from agent.understanding.data import load
from agent.understanding.numerals import number_pattern, parse_number
from agent.understanding.phrases import phrase_key, phrase_pattern
from agent.understanding.readings import Board
from agent.understanding.text import Document

_NUMBER = number_pattern()
_WORDED = number_pattern(words=True)
_LINK = (
    r"\s{0,3}(?:(?:就|只|能|都|都是|用|要|开|设|设成|设为|设到|调到|改成|改到|是|为|到|开到|of|is|to|at|up to|about|around|under|below|over)\s{0,2})?"
    r"[=:~≈<>≥≤]{0,2}\s{0,3}(?:大概|大约|约|差不多|about|around)?\s{0,2}"
)
_TAIL = r"\s{0,2}(?:-|~|多|来|个|左右|full|的)?\s{0,2}"


@dataclass(frozen=True, slots=True)
class _Rule:
    slot: str
    kind: str
    before: re.Pattern[str] | None
    after: re.Pattern[str] | None
    keys: tuple[str, ...]
    units: dict[str, float]
    low: float
    high: float


def _either(phrases: list[str], *, leading: bool) -> str:
    """Alternation, longest first; the words may touch the number: bs1, tp2, 3epochs."""
    ordered = sorted(phrases, key=len, reverse=True)
    return "|".join(phrase_pattern(p, open_end=leading, open_start=not leading) for p in ordered)


@cache
def _rules() -> tuple[_Rule, ...]:
    return tuple(_rule(slot, row) for slot, row in load("quantities").items())


def _rule(slot: str, row: dict[str, Any]) -> _Rule:
    before, after = [str(p) for p in row["before"]], [str(p) for p in row["after"]]
    units = {str(k): float(v) for k, v in row.get("unit_after", {}).items()}
    number = rf"(?P<number>-?{_NUMBER})"
    unit = rf"\s?(?P<unit>{_either(list(units), leading=False)})" if units else ""
    percent = r"\s?%" if row.get("percent") else ""
    return _Rule(
        slot,
        row["kind"],
        re.compile(rf"(?:{_either(before, leading=True)}){_LINK}{number}{unit}{percent}")
        if before
        else None,
        re.compile(
            rf"(?<![a-z0-9.])(?P<number>-?{_WORDED}){_TAIL}(?:{_either(after, leading=False)})"
        )
        if after
        else None,
        tuple({phrase_key(p) for p in (*before, *after)}),
        units,
        float(row.get("min", -1e18)),
        float(row.get("max", 1e18)),
    )


def _matches(rule: _Rule, text: str) -> Iterator[tuple[re.Match[str], bool]]:
    if not any(key in text for key in rule.keys):
        return
    for pattern, leading in ((rule.before, True), (rule.after, False)):
        if pattern is None:
            continue
        for count, found in enumerate(pattern.finditer(text)):
            if count >= 50:
                break
            yield found, leading


def read_quantities(document: Document, board: Board) -> None:
    """Note every number that its neighbours give a slot.

    Two rules may claim one number ("输入512长度"): the longer match keeps it.
    """
    text = document.rest()
    candidates: list[tuple[int, re.Match[str], bool, _Rule]] = []
    for rule in _rules():
        for found, leading in _matches(rule, text):
            candidates.append((found.end() - found.start(), found, leading, rule))
    candidates.sort(key=lambda item: (-item[0], not item[2], item[1].start()))
    numbers: list[tuple[int, int]] = []
    for _, found, leading, rule in candidates:
        start, end = found.span("number")
        if any(start < high and low < end for low, high in numbers):
            continue
        value = _value(rule, found)
        if value is None:
            continue
        numbers.append((start, end))
        board.add(rule.slot, value, found.start(), found.end(), weight=2.0 if leading else 1.0)
        document.take(start, end)


def _value(rule: _Rule, found: re.Match[str]) -> float | int | None:
    value = parse_number(found["number"], kibi=rule.kind == "tokens")
    if found["number"].startswith("-") and value is None:
        value = parse_number(found["number"][1:])
        value = None if value is None else -value
    if value is None:
        return None
    if rule.units:
        value *= rule.units.get(found.groupdict().get("unit") or "", 1.0)
    if not rule.low <= value <= rule.high:
        return None
    if rule.kind == "float":
        return round(value, 6)
    return int(value) if value == int(value) else None
