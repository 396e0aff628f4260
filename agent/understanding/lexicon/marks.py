"""What a question says beyond its slots, as named marks and amounts (tables: data/marks/).

A table is a room of answers. Each has up to three parts: `words`, classes of words; `frames`, rows
of classes that follow one another within a clause, as in data/frames.yaml; `amounts`, numbers
that get their name from the words beside them, as in data/quantities.yaml. A class and a frame
both give the mark "table.name"; a class that begins with _ serves frames only. Rows may name
classes of their own table, of common.yaml and of frames.yaml.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from agent.understanding.data import load
from agent.understanding.lexicon.frames import FrameBook
from agent.understanding.readers.quantities import rules_of, stated


@cache
def tables() -> dict[str, dict[str, Any]]:
    """Every table of data/marks by its name."""
    folder = files("agent.understanding.data") / "marks"
    names = sorted(path.name.removesuffix(".yaml") for path in folder.iterdir()
                   if path.name.endswith(".yaml"))  # fmt: skip
    return {name: load(f"marks/{name}") for name in names}


@cache
def names() -> frozenset[str]:
    """Every mark that a text can have."""
    return frozenset(
        f"{table}.{name}"
        for table, parts in tables().items()
        for part in ("words", "frames")
        for name in parts.get(part) or {}
        if not name.startswith("_")
    )


@cache
def amount_names() -> frozenset[str]:
    """Every name that an amount can have."""
    return frozenset(
        f"{table}.{name}"
        for table, parts in tables().items()
        for name in parts.get("amounts") or {}
    )


@cache
def _book() -> FrameBook:
    """One book of all tables: classes of a table are known by their short names within it."""
    classes: dict[str, list[str]] = dict(load("frames")["classes"])
    frames: dict[str, list[str]] = {}
    for table, parts in tables().items():
        for name, phrases in (parts.get("words") or {}).items():
            classes[f"{table}.{name}"] = phrases
    for table, parts in tables().items():
        for name, rows in (parts.get("frames") or {}).items():
            frames[f"{table}.{name}"] = [_spelled_out(row, table, classes) for row in rows]
    return FrameBook(classes, frames)


def _spelled_out(row: str, table: str, classes: dict[str, list[str]]) -> str:
    """A row with the full names of its classes."""
    return " ".join(_full_name(token, table, classes) for token in row.split())


def _full_name(token: str, table: str, classes: dict[str, list[str]]) -> str:
    bar = "!" if token.startswith("!") else ""
    name = token.removeprefix("!")
    for candidate in (f"{table}.{name}", f"common.{name}"):
        if candidate in classes:
            return bar + candidate
    return token


def marks_in(signed: str) -> tuple[str, ...]:
    """Marks of a folded text with signs for its names."""
    book = _book()
    return tuple(sorted(book.both(signed) & names()))


@cache
def _rules() -> tuple[Any, ...]:
    rows = {
        f"{table}.{name}": row
        for table, parts in tables().items()
        for name, row in (parts.get("amounts") or {}).items()
    }
    return rules_of(rows)


def amounts_in(signed: str) -> dict[str, tuple[float, ...]]:
    """Numbers with a name of their own in the text."""
    return stated(signed, _rules())
