"""From three kinds of evidence to one relevance between 0 and 1.

Evidence for a unit: the best cosine of its views with the query (`dense`), the share of the
query's terms that stand in it (`lexical`, glossary concepts included). Constants are in
data/calibration.yaml with how they were found; `python -m knowledge evaluate` measures them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import yaml
from numpy.typing import NDArray

Scores = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Calibration:
    """Weights of the logistic that turns evidence into relevance."""

    dense_weight: float
    dense_zero: float
    lexical_weight: float
    lexical_zero: float
    bias: float


@cache
def calibration(mode: str) -> Calibration:
    """The constants for one mode: hybrid or lexical."""
    raw = files("knowledge").joinpath("data/calibration.yaml").read_text(encoding="utf-8")
    rows = yaml.load(raw, Loader=yaml.CSafeLoader)
    return Calibration(**rows[mode])


def relevance(dense: Scores | None, lexical: Scores) -> Scores:
    """Relevance of each unit, (units,): 0.5 is the threshold below which nothing is returned."""
    c = calibration("lexical" if dense is None else "hybrid")
    x = c.lexical_weight * (lexical - c.lexical_zero) + c.bias
    if dense is not None:
        x = x + c.dense_weight * (dense - c.dense_zero)
    result: Scores = 1 / (1 + np.exp(-x))
    return result
