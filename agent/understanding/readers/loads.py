"""What a service is asked over a day or an hour, and its peaks (table: data/loads.yaml)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice

from agent.understanding.data import load
from agent.understanding.lexicon.numerals import number_pattern, parse_number
from agent.understanding.lexicon.phrases import phrase_pattern
from agent.understanding.lexicon.readings import Board
from agent.understanding.lexicon.text import Document

_MOST = 10
_AHEAD = 24
"""Characters in front of a count in which its span of time may stand."""
_NUMBER = rf"(?<![\d.,a-z])(?P<n>{number_pattern()})"
_GAP = r"[^\d,。;!?\n]"
_GREATEST_PEAK = 1000.0
_MOST_A_SECOND = 1e7


def _either(phrases: list[str], **ends: bool) -> str:
    return "|".join(phrase_pattern(p, **ends) for p in sorted(phrases, key=len, reverse=True))


@cache
def _spans() -> tuple[tuple[int, re.Pattern[str], re.Pattern[str]], ...]:
    """Seconds of each span, and how it is said in front of a count and behind it."""
    table = load("loads")
    rows = []
    for seconds, words in table["seconds"].items():
        leading = _either([w for w in words if w not in table["not_before"]])
        rows.append((
            int(seconds),
            re.compile(rf"(?:{leading}){_GAP}{{0,12}}\Z"),
            re.compile(rf"{_GAP}{{0,16}}?(?:{_either(words)})(?![a-z内])"),
        ))  # fmt: skip
    return tuple(rows)


@cache
def _counts() -> tuple[re.Pattern[str], ...]:
    """A count of requests, its word behind it or in front."""
    table = load("loads")
    return (
        re.compile(
            rf"{_NUMBER}\s?(?:多|来)?\s?(?:[a-z\-]+\s){{0,2}}?(?:{_either(table['asked'])})"
        ),
        re.compile(
            rf"(?:{_either(table['amount_of'])})(?:是|为|有|大概|约|大约|到|of|is|about|[:=\s]){{0,4}}"
            rf"{_NUMBER}\s?(?:次|个|条)?(?!\s?(?:token|字|倍|x))"
        ),
    )


@cache
def _peaks() -> tuple[re.Pattern[str], ...]:
    """How many times the mean the busiest time has."""
    table = load("loads")
    peak = _either(table["peak"], open_end=True)
    times = rf"\s?(?:{_either(table['times'], open_start=True)})"
    number = rf"(?P<n>{number_pattern(scale=False)})"
    return (
        re.compile(rf"(?:{peak})[^\d。;!?\n]{{0,24}}?{number}{times}"),
        re.compile(rf"(?<![\d.]){number}{times}{_GAP}{{0,16}}?(?:{peak})"),
        re.compile(rf"(?:峰均比|peak to average|peak-to-average)(?: ratio)?{_GAP}{{0,6}}{number}"),
    )


def read_loads(document: Document, board: Board) -> None:
    """Note requests a day or an hour as a mean rate, and the factor of the peak."""
    for start, end, number in _requests(document):
        value = parse_number(document.text[number[0] : number[1]])
        seconds = _seconds(document.text, number[0], end)
        if value is None or value < 1 or seconds is None or value / seconds > _MOST_A_SECOND:
            continue
        board.add("request_rate_per_s", round(value / seconds, 6), start, end, weight=5.0)
        board.add("rate_is_mean", True, start, end)
        document.take(*number)
        break
    for pattern in _peaks() if board.has("rate_is_mean") or _is_rate(document) else ():
        found = pattern.search(document.rest())
        factor = parse_number(found["n"]) if found is not None else None
        if found is not None and factor is not None and 1 < factor <= _GREATEST_PEAK:
            board.add("peak_factor", factor, found.start(), found.end())
            document.take(*found.span("n"))
            return


_RATE = re.compile(r"qps|rps|req(?:uest)?s?\s?(?:/|per|a)\s?s|(?:次|个)(?:请求)?[/每]秒|每秒")


def _is_rate(document: Document) -> bool:
    """Whether requests a second are spoken of."""
    return _RATE.search(document.text) is not None


def _requests(document: Document) -> Iterator[tuple[int, int, tuple[int, int]]]:
    """Where counts of requests stand: the whole of each, and its number."""
    for pattern in _counts():
        for found in islice(pattern.finditer(document.rest()), _MOST):
            yield found.start(), found.end(), found.span("n")


def _seconds(text: str, number: int, end: int) -> int | None:
    """Length of the span of time that a count is of, by the words in front of it and behind."""
    before = text[max(0, number - _AHEAD) : number]
    for seconds, leading, following in _spans():
        if following.match(text, end) or leading.search(before):
            return seconds
    return None
