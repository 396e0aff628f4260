"""The data tables of the calculator: optimizers, weight formats, frameworks, engines."""

from __future__ import annotations

import difflib
import json
import re
from functools import cache
from importlib import resources
from typing import Any

from tools.errors import BadQuantityError, DataError

Row = dict[str, Any]


@cache
def table(name: str) -> dict[str, Row]:
    """The rows of data/<name>.json by their name.

    Raises:
        DataError: If the file is not a mapping of objects.
    """
    text = (resources.files("tools.memory") / f"data/{name}.json").read_text(encoding="utf-8")
    rows = json.loads(text)
    if not isinstance(rows, dict) or not all(isinstance(row, dict) for row in rows.values()):
        raise DataError(f"tools/memory/data/{name}.json: each name must stand for an object.")
    return rows


def _key(text: str) -> str:
    return re.sub(r"[\s_/+.()-]+", "", text.casefold())


@cache
def _index(name: str) -> dict[str, str]:
    index: dict[str, str] = {}
    for row_name, row in table(name).items():
        for alias in (row_name, *row.get("aliases", ())):
            index[_key(alias)] = row_name
    return index


@cache
def row_name(name: str, given: str) -> str | None:
    """The table's name for a written one, by alias; None when there is none."""
    return _index(name).get(_key(given))


def is_format(given: str) -> bool:
    """Whether a written weight format is one that the calculator knows."""
    return row_name("formats", given) is not None


_SHORT = 12
"""Letters of a written name up to which it is told as a likeness."""


def closest_format_names(given: str, *, most: int = 3) -> tuple[str, ...]:
    """Written weight formats that look most like one that is not known."""
    rows = table("formats").items()
    known = {alias for name, row in rows for alias in (name, *row.get("aliases", ()))}
    short = sorted(a for a in known if len(a) <= _SHORT and not a.startswith("gguf"))
    return tuple(difflib.get_close_matches(given.casefold(), short, n=most, cutoff=0.5))


def find_row(name: str, given: str, *, field: str) -> Row:
    """The row for a written name.

    Raises:
        BadQuantityError: If there is none; names the field and what is allowed.
    """
    found = row_name(name, given)
    if found is None:
        raise BadQuantityError(field=field, given=given, allowed=", ".join(table(name)))
    return table(name)[found]
