"""Reading the guidance notes: guidance/<note>.<language>.md.

A note opens with front matter between ``---`` lines: id, title, language, claims, sources,
checked_on, confidence. Each ``##`` section is one passage; an HTML comment under its heading
says which claims it covers and how people ask for it:

    ## Spot discounts
    <!--
    id: discount
    claims: 2.26 4.19
    sources: SPOT-ALI SPOT-AWS
    asks:
    - how cheap is spot
    -->
    Text that is shown.
"""

from __future__ import annotations

import re
from datetime import date
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import yaml

from knowledge.sources import get_source
from knowledge.types import Section
from tools.errors import DataError

MAX_CLAIMS = 5
_FRONT = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_SECTION = re.compile(r"^## (.+?)\n<!--\n(.*?)\n-->\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
_REQUIRED = ("id", "title", "language", "claims", "sources", "checked_on", "confidence")


def note_files() -> tuple[Traversable, ...]:
    """The note files that ship with the package, by name."""
    folder = files("knowledge").joinpath("guidance")
    return tuple(sorted((f for f in folder.iterdir() if f.name.endswith(".md")), key=str))


def _fields(text: str, *, where: str) -> dict[str, Any]:
    try:
        loaded = yaml.load(text, Loader=yaml.CBaseLoader)
    except yaml.YAMLError as error:
        raise DataError(f"{where}: the header is not YAML: {error}") from error
    if not isinstance(loaded, dict):
        raise DataError(f"{where}: the header is not a list of fields.")
    return loaded


def parse_note(text: str, *, name: str) -> tuple[Section, ...]:
    """Sections of one note.

    Args:
        text: The file's text.
        name: The file's name, for messages and locators.

    Raises:
        DataError: If a field is missing or wrong; the message names file, section and field.
    """
    front = _FRONT.match(text)
    if front is None:
        raise DataError(f"{name}: no front matter between '---' lines.")
    head = _fields(front.group(1), where=name)
    if missing := [f for f in _REQUIRED if f not in head]:
        raise DataError(f"{name}: front matter lacks {', '.join(missing)}.")
    body = text[front.end() :]
    matches = list(_SECTION.finditer(body))
    if len(matches) != len(re.findall(r"^## ", body, re.MULTILINE)) or not matches:
        raise DataError(f"{name}: every '##' heading needs a <!-- --> block right under it.")
    sections = tuple(_section(m, head, name) for m in matches)
    covered = {claim for s in sections for claim in s.claims}
    if covered != set(head["claims"].split()):
        raise DataError(f"{name}: front matter claims differ from those of the sections.")
    return sections


def _section(match: re.Match[str], head: dict[str, Any], name: str) -> Section:
    title, block, text = (g.strip() for g in match.groups())
    where = f"{name} section {title!r}"
    fields = _fields(block, where=where)
    claims = tuple(fields.get("claims", "").split())
    if len(claims) > MAX_CLAIMS:
        raise DataError(f"{where}: {len(claims)} claims; {MAX_CLAIMS} at most.")
    source_ids = tuple(fields.get("sources", head["sources"]).split())
    for short in source_ids:
        get_source(short)
    note, section, language = head["id"], fields["id"], head["language"]
    return Section(
        passage_id=f"guide:{note}#{section}.{language}",
        unit_id=f"{note}#{section}",
        note_id=note,
        title=f"{head['title']} · {title}",
        language=language,
        text=text,
        locator=f"guidance/{name}#{section}",
        claims=claims,
        source_ids=source_ids,
        checked_on=date.fromisoformat(fields.get("checked_on", head["checked_on"])),
        confidence=fields.get("confidence", head["confidence"]),
        asks=tuple(fields.get("asks") or ()),
    )


@cache
def all_sections() -> tuple[Section, ...]:
    """Every section of every note, zh and en."""
    found: list[Section] = []
    for file in note_files():
        found.extend(parse_note(file.read_text(encoding="utf-8"), name=file.name))
    ids = [s.passage_id for s in found]
    if twice := {i for i in ids if ids.count(i) > 1}:
        raise DataError(f"guidance: passage ids used twice: {', '.join(sorted(twice))}.")
    return tuple(found)
