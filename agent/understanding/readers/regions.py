"""Regions by their clouds' own ids and by their cities: us-central1, cn-wulanchabu, Frankfurt."""

from __future__ import annotations

import re
from functools import cache
from itertools import islice

from agent.understanding.lexicon.phrases import PhraseTable, table
from agent.understanding.lexicon.readings import Board
from agent.understanding.lexicon.text import Document

_ID = re.compile(
    r"(?<![a-z0-9\-.])(?P<id>[a-z]{2,12}-[a-z]{3,14}(?:-?\d{1,2})?)[a-f]?(?![a-z0-9\-])"
)
_MOST = 40


@cache
def _cities() -> PhraseTable:
    """Cities and countries of the catalog, by the id of the region that stands for them."""
    from tools.catalog.regions import all_regions

    ids: dict[str, str] = {}
    for row in sorted(all_regions(), key=lambda row: row.provider != "alibaba"):
        for alias in row.aliases or ():
            is_one = ids.get(alias, row.region) == row.region or row.provider == "alibaba"
            ids.setdefault(alias, row.region if is_one else alias)
    by_id: dict[str, list[str]] = {}
    for alias, region in ids.items():
        by_id.setdefault(region, []).append(alias)
    return PhraseTable(by_id)


def _read_cities(document: Document, board: Board) -> None:
    known = table("words", "region")
    for hit in _cities().find(document.text):
        if not known.has(document.text[hit.start : hit.end]):
            board.add("region", hit.value, hit.start, hit.end)


def read_regions(document: Document, board: Board) -> None:
    """Note every id of a region that the catalog knows, and every city that has one."""
    _read_cities(document, board)
    from tools.catalog import regions_named
    from tools.errors import BadQuantityError

    for found in islice(_ID.finditer(document.text), _MOST):
        try:
            known = regions_named(found["id"])
        except BadQuantityError:
            continue
        if known:
            board.add("region", found["id"], found.start(), found.end(), weight=2.0)
            document.take(found.start(), found.end())
