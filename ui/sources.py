"""An answer's sources as a reader lists them: each once, however many of its rows were used."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ui.wording import Language, provider_labels, say

if TYPE_CHECKING:
    from agent import Answer

_TABLE = "data:"
"""Ids of rows of a table: `data:<file>#<row>`."""


class SourceLine(NamedTuple):
    """One source: what it is called, where in it, and the id of the first passage or row."""

    title: str
    locator: str
    id: str


def source_lines(answer: Answer) -> tuple[SourceLine, ...]:
    """The sources of an answer; rows of one table are one source, whose places are listed."""
    groups: dict[tuple[str, ...], list[SourceLine]] = {}
    for cited in answer.citations:
        table = cited.id.partition("#")[0]
        key = (table,) if cited.id.startswith(_TABLE) else (cited.title, cited.locator)
        groups.setdefault(key, []).append(SourceLine(cited.title, cited.locator, cited.id))
    return tuple(_joined(lines, answer.language) for lines in groups.values())


def _joined(lines: list[SourceLine], language: Language) -> SourceLine:
    first = lines[0]
    title = _table_title(first.id, language) or first.title
    places = dict.fromkeys(part for line in lines for part in line.locator.split("; "))
    return SourceLine(title, "; ".join(places), first.id)


def _table_title(source_id: str, language: Language) -> str | None:
    """A cloud's price list or its instance types; None for other sources."""
    if not source_id.startswith(_TABLE):
        return None
    folder, _, name = source_id.removeprefix(_TABLE).partition("#")[0].rpartition("/")
    provider = provider_labels(language).get(name.partition(".")[0])
    if provider is None or folder not in ("", "prices"):
        return None
    return say("source_prices" if folder else "source_types", language, provider=provider)
