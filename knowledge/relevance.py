"""From several kinds of evidence to one relevance between 0 and 1.

Evidence for a unit: the best cosine of its views with the query (dense), the share of the
query's terms that stand in it (lexical, glossary concepts included). Evidence for the query
as a whole: its place in the field (field.py) and how many concepts of the field it names.
The constants are in data/calibration.yaml, with how they were found.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import yaml
from numpy.typing import NDArray

from knowledge.field import Belonging

Scores = NDArray[np.float32]
Relevance = NDArray[np.float64]
"""In double precision: near 1 single precision would tie what is not equal."""
THRESHOLD = 0.5
"""A query whose best unit stays below this is answered with nothing."""
CONCEPTS_COUNTED = 4
"""More concepts than this say no more about a query."""
TRADES_COUNTED = 2
"""More words of other trades than of so many trades say no more."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Weights of the logistic that turns evidence into relevance."""

    dense: float
    """Per standard deviation of the field's cosines, over the nearest background question."""
    lexical: float
    """For all of the query's terms being there."""
    probe: float
    concept: float
    """Per concept of the field that the query names."""
    wording: float
    """Per unit of log odds of the query's words."""
    other_trade: float
    """Per trade next door that the query names."""
    bias: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was measured for one query."""

    lexical: Scores
    """(units,)"""
    terms: tuple[str, ...]
    """The query's index terms, concepts included."""
    concept_count: int
    wording: float
    """Log odds of the query's words, summed (field.wording_place)."""
    trade_count: int = 0
    """Trades next door that the query names (glossary.other_trades)."""
    dense: Scores | None = None
    """(units,) cosines; None where no embedder was there."""
    belonging: Belonging | None = None
    spread: float = 1.0
    vector: Scores | None = None
    """(dimensions,) the query as the embedder sees it."""


@cache
def calibration(mode: str) -> Calibration:
    """The constants for one mode: hybrid or lexical."""
    raw = files("knowledge").joinpath("data/calibration.yaml").read_text(encoding="utf-8")
    rows = yaml.load(raw, Loader=yaml.CSafeLoader)
    return Calibration(**rows[mode])


def relevance(evidence: Evidence, constants: Calibration | None = None) -> Relevance:
    """Relevance of each unit, (units,), 0 to 1."""
    e = evidence
    c = constants or calibration("lexical" if e.dense is None else "hybrid")
    x = (
        c.lexical * e.lexical.astype(np.float64)
        + c.concept * min(e.concept_count, CONCEPTS_COUNTED)
        + c.bias
    )
    x = x + c.wording * e.wording + c.other_trade * min(e.trade_count, TRADES_COUNTED)
    if e.dense is not None and e.belonging is not None:
        x = x + c.dense * (e.dense - e.belonging.nearest_background) / e.spread
        x = x + c.probe * e.belonging.probe
    result: Relevance = 1 / (1 + np.exp(-x))
    return result


def document_relevance(evidence: Evidence, lexical: Scores, dense: Scores | None) -> Relevance:
    """Relevance of each piece of a reader's own documents, (pieces,), 0 to 1.

    They may be about anything, so the field does not matter: a piece is compared with how near
    the query comes to unrelated questions on average.
    """
    c = calibration("documents-lexical" if dense is None else "documents")
    x = c.lexical * lexical.astype(np.float64) + c.bias
    if dense is not None and evidence.belonging is not None:
        x = x + c.dense * (dense - evidence.belonging.mean_background) / evidence.spread
    result: Relevance = 1 / (1 + np.exp(-x))
    return result
