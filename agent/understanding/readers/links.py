"""Links between machines ("8x200G IB", "3.2T RDMA", "50GB/s InfiniBand"), and rates measured."""

from __future__ import annotations

import re
from functools import cache
from itertools import islice

from agent.understanding.data import load
from agent.understanding.lexicon.numerals import HAN, parse_number
from agent.understanding.lexicon.phrases import phrase_pattern, table
from agent.understanding.lexicon.readings import Board
from agent.understanding.lexicon.text import Document

_MOST = 20
_SIZES = frozenset({1, 2.5, 10, 20, 25, 40, 50, 56, 100, 200, 400, 800, 1600, 3200, 6400})
"""Gbit/s of links that are sold: a bare number of G beside a word for a network must be one."""
_TIMES = rf"\d{{1,2}}|{HAN}|双"
_UNIT = r"(?P<unit>[gt])(?P<bits>bps|bits?/s|bits?(?:每秒)?|be|b/s|b)?(?![a-z/])"
_SIZE = rf"(?<![\d.])(?P<n>\d{{1,4}}(?:\.\d)?)\s?{_UNIT}"
_IN_BITS = ("bps", "bit", "be")
"""Units that only links have; "G" and "GB" are those of memory as well."""
_RATE = re.compile(
    r"(?<![a-z0-9.])(?P<n>\d{1,4}(?:\.\d{1,3})?)\s?(?P<unit>gb/s|gib/s|gbps|gb/sec|g/s|gb每秒"
    r"|gb per sec(?:ond)?|gb a second|mb/s|mib/s|mb/sec|mb每秒)(?![a-z])"
)
_MOST_GB_S = 5_000.0
_BEFORE = 14
"""Characters in front of a rate in which a word says that it is a card's own."""


@cache
def _kinds() -> str:
    ordered = sorted(load("links")["kinds"], key=len, reverse=True)
    return f"(?:{'|'.join(phrase_pattern(str(phrase), open_start=True) for phrase in ordered)})"


@cache
def _products() -> tuple[re.Pattern[str], ...]:
    """Several links of one machine, with the word for what they are behind, between or in front."""
    kind = rf"\s?(?:的)?\s?(?P<kind>{_kinds()})(?!\s?[:=是]?\s?\d)"
    ahead = rf"(?P<ahead>{_kinds()})\s?(?:是|为|:|=|of)?\s?"
    times = rf"(?P<times>{_TIMES})\s?[x*]?\s?"
    return tuple(
        re.compile(pattern)
        for pattern in (
            rf"(?:{ahead})?(?<![a-z0-9.])(?:bonded\s|聚合\s?)?{times}{_SIZE}(?:{kind})?",
            rf"(?:{ahead})?{_SIZE}(?:\s?(?P<kind>{_kinds()}))?\s?[x*]\s?(?P<times>\d{{1,2}})(?![\w.])",
        )
    )


@cache
def _single() -> re.Pattern[str]:
    return re.compile(rf"{_SIZE}(?:\s?(?:的)?\s?(?P<kind>{_kinds()}))?")


@cache
def _in_bytes() -> re.Pattern[str]:
    return re.compile(
        rf"(?<![\d.])(?P<n>\d{{1,4}}(?:\.\d)?)\s?(?P<unit>g[bi]{{0,2}}/s)\s?(?:的)?\s?(?P<kind>{_kinds()})"
    )


def read_links(document: Document, board: Board) -> None:
    """Note the Gbit/s of a machine's links, and GB/s that a test of collectives gave."""
    for pattern in _products():
        for found in islice(pattern.finditer(document.rest()), _MOST):
            each = _gbps(found, has_kind=bool(found["kind"] or found["ahead"]))
            times = 2 if found["times"] == "双" else int(parse_number(found["times"]) or 0)
            if each is not None and times > 1:
                _note(document, board, each * times, found)
    for found in islice(_single().finditer(document.rest()), _MOST):
        is_large = found["unit"] == "t" and (found["bits"] or found["kind"])
        if "B/s" in document.span(*found.span()).text:
            continue
        if (found["kind"] and found["bits"] != "be") or is_large:
            each = _gbps(found, has_kind=bool(found["kind"]))
            if each is not None:
                _note(document, board, each, found)
    for found in islice(_in_bytes().finditer(document.rest()), _MOST):
        in_bits = "b" in document.span(*found.span("unit")).text.removesuffix("/s")
        _note(document, board, float(found["n"]) * (1 if in_bits else 8), found)
    if table("links", "collectives").has(document.text):
        _read_measured(document, board)


def _note(document: Document, board: Board, gbps: float, found: re.Match[str]) -> None:
    board.add("bandwidth_gbps", gbps, found.start("n"), found.end(), weight=3.0)
    document.take(found.start(), found.end())


def _gbps(found: re.Match[str], *, has_kind: bool) -> float | None:
    """Gbit/s of one link; None where a size is more likely that of a memory."""
    value = float(found["n"]) * (1000 if found["unit"] == "t" else 1)
    is_sure = (found["bits"] or "").startswith(_IN_BITS)
    return value if is_sure or (has_kind and value in _SIZES) else None


def _read_measured(document: Document, board: Board) -> None:
    """Note GB/s in a text about a test of collectives. As written, GB are bytes and Gb bits."""
    measured: list[tuple[float, int, int]] = []
    for found in islice(_RATE.finditer(document.rest()), _MOST):
        value = float(found["n"]) / (1000 if found["unit"].startswith("m") else 1)
        written = document.span(*found.span("unit")).text
        before = document.text[max(0, found.start() - _BEFORE) : found.start()]
        if table("links", "not_measured").has(before) or value > _MOST_GB_S:
            continue
        if written.startswith(("Gb", "gbp", "Mb", "mbp")):
            if written.startswith("G") or found["unit"] == "gbps":
                _note(document, board, value, found)
            continue
        measured.append((value, found.start(), found.end()))
        document.take(found.start(), found.end())
    if measured:
        values = tuple(value for value, _, _ in measured)
        board.add("busbw_gb_s", values, measured[0][1], measured[-1][2])
