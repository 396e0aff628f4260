"""The places that the notes rest on; data/sources.yaml names each once."""

from __future__ import annotations

from datetime import date
from functools import cache
from importlib.resources import files

import yaml

from tools.errors import DataError
from tools.provenance import Source


@cache
def _all() -> dict[str, Source]:
    raw = files("knowledge").joinpath("data/sources.yaml").read_text(encoding="utf-8")
    rows: dict[str, dict[str, str]] = yaml.load(raw, Loader=yaml.CBaseLoader)
    return {
        key: Source(
            id=row["id"],
            kind=row["kind"],  # type: ignore[arg-type]  # checked by tests/knowledge/test_data.py
            locator=row["locator"],
            retrieved_on=date.fromisoformat(row["date"]) if row.get("date") else None,
        )
        for key, row in rows.items()
    }


def get_source(short: str) -> Source:
    """The source with this short name.

    Raises:
        DataError: If no row of data/sources.yaml has that name.
    """
    try:
        return _all()[short]
    except KeyError:
        known = ", ".join(sorted(_all()))
        raise DataError(f"Unknown source {short!r}; data/sources.yaml has: {known}.") from None
