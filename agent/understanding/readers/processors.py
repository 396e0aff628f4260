"""The processor of a host, and how fast its memory is (table: data/processors.yaml)."""

from __future__ import annotations

import re
from functools import cache

from agent.request import Processor
from agent.understanding.data import load
from agent.understanding.lexicon.phrases import phrase_pattern
from agent.understanding.lexicon.readings import Board
from agent.understanding.lexicon.text import Document

_OF_THE_HOST = r"(?!\d{1,4}\s?(?:[gt]i?b?|核|cores?|c|vcpus?|threads?)(?![a-z0-9]))"
_MODEL = rf"(?:[ -]?{_OF_THE_HOST}[a-z0-9.]{{1,12}}){{0,2}}"
"""What follows the family in a processor's name; memory and cores are no part of it."""
_BARE = r"i[3579][ -]?\d{4,5}\w{0,2}"
"""An Intel processor of a desktop by its number alone."""


def _either(phrases: list[str]) -> str:
    ordered = sorted(map(str, phrases), key=len, reverse=True)
    return "|".join(phrase_pattern(p, open_start=True, open_end=True) for p in ordered)


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Of a name, of channels with their kind of memory, and of a bandwidth."""
    rows = load("processors")
    families = _either([word for words in rows["families"].values() for word in words])
    counts = rf"\d{{1,2}}|{_either([w for words in rows['counts'].values() for w in words])}"
    channels = rf"\s?-?\s?(?:{_either(rows['channels'])})"
    kind = r"ddr(?P<kind{0}>[45])(?:[ \-]?(?P<rate{0}>\d{{4}}))?"
    width = _either(rows["bandwidth"])
    return (
        re.compile(
            rf"(?:(?P<sockets>{_either(rows['sockets'])})\s?-?\s?)?(?:(?:amd|intel)\s)?"
            rf"(?:(?P<family>{families})(?P<model>{_MODEL})|(?P<bare>{_BARE}))"
        ),
        re.compile(
            rf"(?P<count1>{counts}){channels}\D{{0,8}}{kind.format(1)}"
            rf"|{kind.format(2)}\D{{0,8}}(?P<count2>{counts}){channels}"
        ),
        re.compile(
            rf"(?:{width})\D{{0,6}}(?P<before>\d{{2,4}})\s?gb/s"
            rf"|(?P<behind>\d{{2,4}})\s?gb/s[^,。;]{{0,12}}(?:{width})"
        ),
    )


def read_processor(document: Document, board: Board) -> None:
    """Note the processor that is named, or the memory of one, as one reading."""
    name, memory, width = (pattern.search(document.text) for pattern in _patterns())
    if name is None and memory is None and width is None:
        return
    said = {
        "name": _name(name), "sockets": 2 if name is not None and name["sockets"] else 1,
        "channels": _count(memory["count1"] or memory["count2"]) if memory is not None else None,
        "ddr": int(memory["kind1"] or memory["kind2"]) if memory is not None else None,
        "mt_s": _whole(memory["rate1"] or memory["rate2"]) if memory is not None else None,
        "bandwidth_gb_s": (
            float(width["before"] or width["behind"]) if width is not None else None
        ),
    }  # fmt: skip
    board.add("processor", Processor.model_validate(said))


def _name(found: re.Match[str] | None) -> str | None:
    """The name with its family as the table of processors writes it."""
    if found is None:
        return None
    if found["family"] is None:
        return found["bare"]
    families = load("processors")["families"]
    known = next(
        name for name, words in families.items()
        if any(re.fullmatch(phrase_pattern(w), found["family"]) for w in words)
    )  # fmt: skip
    return f"{known}{found['model']}".strip()


def _count(written: str) -> int:
    if written.isdigit():
        return int(written)
    counts = load("processors")["counts"]
    return next(int(number) for number, words in counts.items() if written in map(str, words))


def _whole(written: str | None) -> int | None:
    return int(written) if written else None
