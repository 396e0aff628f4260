"""Public data sets that a text names (table: data/data_sets.yaml)."""

from __future__ import annotations

from functools import cache

from agent.understanding.data import load
from agent.understanding.lexicon.phrases import PhraseTable
from agent.understanding.lexicon.readings import Board
from agent.understanding.lexicon.text import Document


@cache
def _table() -> PhraseTable:
    return PhraseTable(load("data_sets"))


def read_data_sets(document: Document, board: Board) -> None:
    """Note each data set that is named outside the name of a model."""
    names = [(reading.start, reading.end) for reading in board.of("model_match")]
    for hit in _table().find(document.text):
        if not any(start <= hit.start < end for start, end in names):
            board.add("data_set", hit.value, hit.start, hit.end)
