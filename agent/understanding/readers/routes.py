"""From where to where data are copied: the cloud at either end (table: data/routes.yaml)."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from agent.request import Route
from agent.understanding.data import load
from agent.understanding.lexicon.phrases import PhraseTable
from agent.understanding.lexicon.readings import Board
from agent.understanding.lexicon.text import Document

_BEFORE = 16
"""Characters in front of an end in which its role is said."""
_BETWEEN = 14
"""Characters between a cloud and its own store: "AWS us-east-1 S3"."""
_AMOUNT = re.compile(r"\d\s?(?:[tgp]i?b|[tp]|terabytes?|gigabytes?)(?![a-z0-9])")
_REGION = re.compile(
    r"[\s的上,]*(?:[a-z]{2}-[a-z]+-?\d?|[a-z]+-[a-z]+\d|[\u4e00-\u9fff]{1,4})?[\s的上]*\Z"
)


class End(NamedTuple):
    """One place that data come from or go to."""

    start: int
    end: int
    place: str
    """A cloud's id, or "outside"."""
    role: str | None


@cache
def _table(name: str) -> PhraseTable:
    held = load("routes")[name]
    return PhraseTable(held if isinstance(held, dict) else {name: held})


def read_routes(document: Document, board: Board) -> None:
    """Note both ends of a copy of data, where the text names two different ones."""
    text = document.text
    if not _AMOUNT.search(text) or not (_table("moves").has(text) or _table("stores").has(text)):
        return
    ends = _joined(text, _ends(text))
    route = _route(ends)
    if route is not None:
        board.add("route", route, ends[0].start, ends[-1].end)


def _ends(text: str) -> list[End]:
    from tools.catalog import scan_providers

    hits = [(h.start, h.end, h.value) for name in ("stores", "outside")
            for h in _table(name).find(text)]  # fmt: skip
    covered = [(start, end) for start, end, _ in hits]
    hits += [
        (mention.start, mention.end, mention.provider)
        for mention in scan_providers(text)
        if not any(start <= mention.start < end for start, end in covered)
    ]
    return [End(start, end, place, _role(text, start)) for start, end, place in sorted(hits)]


def _role(text: str, start: int) -> str | None:
    """Whether the words in front make a place the one that data come from, or go to."""
    before = text[max(0, start - _BEFORE) : start].rstrip()
    found = [
        (hit.end - hit.start, role)
        for role in ("source", "target")
        for hit in _table(role).every(before)
        if hit.end == len(before)
    ]
    return max(found)[1] if found else None


def _joined(text: str, ends: list[End]) -> list[End]:
    """A cloud and its store are one end; of the same place named again the first with a role."""
    found: list[End] = []
    for end in ends:
        last = found[-1] if found else None
        if last is not None and last.place == end.place and (
            end.role is None or _REGION.match(text[last.end : end.start])
        ):  # fmt: skip
            found[-1] = last._replace(end=end.end, role=last.role or end.role)
            continue
        found.append(end)
    return found


def _route(ends: list[End]) -> Route | None:
    """The two ends by what is said of them; where nothing is, in the order of the text."""
    source = next((end for end in ends if end.role == "source"), None)
    target = next((end for end in ends if end.role == "target" and end is not source), None)
    rest = [end for end in ends if end.role is None]
    if source is None:
        source = next((end for end in rest if end.place != (target and target.place)), None)
    if target is None:
        target = next((e for e in rest if e is not source and e.place != (source and source.place)),
                      None)  # fmt: skip
    if source is None or target is None or source.place == target.place:
        return None
    return Route(source=source.place, target=target.place)
