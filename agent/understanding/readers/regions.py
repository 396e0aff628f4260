"""Regions by their clouds' own ids: us-central1, europe-west4, cn-wulanchabu."""

from __future__ import annotations

import re
from itertools import islice

from agent.understanding.lexicon.readings import Board
from agent.understanding.lexicon.text import Document

_ID = re.compile(
    r"(?<![a-z0-9\-.])(?P<id>[a-z]{2,12}-[a-z]{3,14}(?:-?\d{1,2})?)[a-f]?(?![a-z0-9\-])"
)
_MOST = 40


def read_regions(document: Document, board: Board) -> None:
    """Note every id of a region that the catalog knows."""
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
