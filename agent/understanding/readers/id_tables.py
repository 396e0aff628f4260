"""Embedding tables of a recommender: "1 亿用户 × 64 维" (vocabulary: data/id_tables.yaml)."""

from __future__ import annotations

import re
from functools import cache
from itertools import islice

from agent.request import IdTable
from agent.understanding.data import load
from agent.understanding.lexicon.numerals import number_pattern, parse_number
from agent.understanding.lexicon.phrases import phrase_pattern, table
from agent.understanding.lexicon.readings import Board
from agent.understanding.lexicon.text import Document

_MOST = 20
_FEWEST_ROWS = 1000
_LEAST_WIDTH = 2


@cache
def _rows_by_width() -> re.Pattern[str]:
    either = {name: _either(name) for name in ("between", "rows", "width", "width_before")}
    return re.compile(
        rf"(?<![a-z0-9.])(?P<rows>{number_pattern()})\s?(?:{either['between']})?\s?"
        rf"(?:{either['rows']})?[^\d\n。;?]{{0,32}}?(?:(?<![\d.])(?P<width>\d{{1,4}})\s?-?"
        rf"(?:{either['width']})|(?:{either['width_before']})\s?[=:]?\s?(?P<behind>\d{{1,4}})(?![\d.]))"
    )


def _either(name: str) -> str:
    phrases = sorted(load("id_tables")[name], key=len, reverse=True)
    return "|".join(phrase_pattern(str(p), open_start=True, open_end=True) for p in phrases)


def read_id_tables(document: Document, board: Board) -> None:
    """Note that tables of ids are spoken of, with rows and width where both are said.

    Their numbers are no size of a model: rows in 亿 are taken before sizes are read.
    """
    if not table("id_tables", "tables").has(document.text):
        return
    for found in islice(_rows_by_width().finditer(document.text), _MOST):
        group = "width" if found["width"] else "behind"
        rows, width = parse_number(found["rows"].strip()), int(found[group])
        if rows and rows >= _FEWEST_ROWS and width >= _LEAST_WIDTH:
            board.add("id_table", IdTable(rows=int(rows), width=width), *found.span())
            document.take(*found.span("rows"))
            document.take(*found.span(group))
            return
    board.add("id_table", IdTable())
