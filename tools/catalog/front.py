"""What a provider's file says of itself above its rows: its names, its sources.

The lines that begin with `#` are TOML. A provider with such lines needs no other file:

    # name_en = "Acme Cloud"
    # name_zh = "顶点云"
    # aliases = ["acmecloud", "acme cloud"]
    # bare_metal = [".metal"]
    # [sources.acme-page]
    # licence = "facts only"
    # locator = "acme.example/gpu, price page"
    instance_type,family,category,...
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, NamedTuple

from tools.errors import CatalogRowError

_MARK = "#"
_NAMES = {"name_en": str, "name_zh": str, "home": str, "aliases": list, "bare_metal": list}
_REQUIRED_NAMES = ("name_en", "name_zh")
_SOURCE = {"licence": str, "locator": str, "published_on": date, "note": str}
_REQUIRED_OF_SOURCE = ("licence", "locator")
_KINDS = {str: "a text", list: "a list of texts", date: "a date as 2026-11-30"}


class SourceRow(NamedTuple):
    """Where rows were read from, and under which licence."""

    source_id: str
    licence: str
    published_on: date | None
    locator: str
    note: str | None


class Names(NamedTuple):
    """How a provider is printed and written."""

    name_en: str
    name_zh: str
    home: str | None
    """Group of regions that a price is meant for when no region is named; None = any."""
    aliases: tuple[str, ...]
    bare_metal: tuple[str, ...] | None = None
    """What the names of its bare-metal types contain; empty = it has none, None = not known."""


class Front(NamedTuple):
    """What stands above the rows of one file."""

    names: Names | None
    sources: tuple[SourceRow, ...]


def split_front(text: str) -> tuple[str, str]:
    """The lines above the rows, and the rows with their header, both as they stand."""
    if not text.startswith(_MARK):
        return "", text
    lines = text.splitlines(keepends=True)
    count = next((n for n, line in enumerate(lines) if not line.startswith(_MARK)), len(lines))
    return "".join(lines[:count]), "".join(lines[count:])


def read_front(block: str, *, file: str) -> Front:
    """Names and sources of the lines above a file's rows.

    Args:
        block: First part of what `split_front` returns.
        file: Name for error messages.

    Raises:
        CatalogRowError: If the lines are no TOML, or a key is unknown, missing or of a wrong kind.
    """
    if not block:
        return Front(None, ())
    import tomllib

    lines = (line[len(_MARK) :].removeprefix(" ") for line in block.splitlines())
    try:
        told = tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError as error:
        raise CatalogRowError(file, 1, _MARK, f"lines are no TOML: {error}") from error
    sources = told.pop("sources", {})
    if not isinstance(sources, dict):
        raise CatalogRowError(file, 1, "sources", "is no table; write # [sources.<id>]")
    return Front(
        _names(told, file), tuple(_source(name, row, file) for name, row in sources.items())
    )


def _names(told: Mapping[str, Any], file: str) -> Names | None:
    if not told:
        return None
    _check(told, _NAMES, _REQUIRED_NAMES, file, "")
    for key in ("aliases", "bare_metal"):
        if not all(isinstance(word, str) and word.strip() for word in told.get(key, [])):
            raise CatalogRowError(file, 1, key, f"must be {_KINDS[list]}")
    return Names(
        told["name_en"],
        told["name_zh"],
        told.get("home"),
        tuple(told.get("aliases", [])),
        tuple(told["bare_metal"]) if "bare_metal" in told else None,
    )


def _source(name: str, row: object, file: str) -> SourceRow:
    where = f"sources.{name}"
    if not isinstance(row, dict):
        raise CatalogRowError(file, 1, where, "is no table; write # [sources.<id>]")
    _check(row, _SOURCE, _REQUIRED_OF_SOURCE, file, f"{where}.")
    return SourceRow(name, row["licence"], row.get("published_on"), row["locator"], row.get("note"))


def _check(
    told: Mapping[str, Any],
    kinds: Mapping[str, type],
    required: tuple[str, ...],
    file: str,
    where: str,
) -> None:
    for key, value in told.items():
        if key not in kinds:
            raise CatalogRowError(
                file, 1, f"{where}{key}", f"is not known here; known are {', '.join(kinds)}"
            )
        is_kind = isinstance(value, kinds[key]) and not isinstance(value, datetime)
        if not is_kind or value == "":
            raise CatalogRowError(file, 1, f"{where}{key}", f"must be {_KINDS[kinds[key]]}")
    for key in required:
        if key not in told:
            raise CatalogRowError(file, 1, f"{where}{key}", "is missing; it is required")
