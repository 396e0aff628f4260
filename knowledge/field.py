"""What the index takes to be its field: learnt at build time from background questions.

Cosines of small embedding models lie close together and differ from query to query, so a fixed
cosine is a poor threshold. A query is compared with questions of other trades as well
(data/background.txt): it belongs here when it lies nearer to the guidance than to those, and on
the right side of a linear probe between the two; and its words are weighed by where they occur.
Everything is relative to the embedder's own spread, so another one needs no other constants.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
RIDGE = 0.12
"""Shrinkage of the probe, as a share of the mean variance of a dimension."""


@cache
def background() -> tuple[str, ...]:
    """Questions of other trades."""
    text = files("knowledge").joinpath("data/background.txt").read_text(encoding="utf-8")
    return tuple(s for line in text.splitlines() if (s := line.strip()) and s[0] != "#")


ODDS_LIMIT = 3.0
"""No word alone says more than this (natural logarithm)."""
ODDS_SUM_LIMIT = 15.0


def word_odds(
    inside: Iterable[Iterable[str]], outside: Iterable[Iterable[str]]
) -> dict[str, float]:
    """How much each term speaks for the field (+) or against it (-), from two sets of texts."""
    held_in, count_in = _document_counts(inside)
    held_out, count_out = _document_counts(outside)

    def share(times: int, count: int) -> float:
        return math.log((times + 0.5) / (count + 1))

    return {
        term: max(
            -ODDS_LIMIT,
            min(ODDS_LIMIT, share(held_in[term], count_in) - share(held_out[term], count_out)),
        )
        for term in held_in.keys() | held_out.keys()
    }


def _document_counts(texts: Iterable[Iterable[str]]) -> tuple[Counter[str], int]:
    counts: Counter[str] = Counter()
    number = 0
    for terms in texts:
        counts.update(set(terms))
        number += 1
    return counts, number


def wording_place(odds: dict[str, float], terms: Iterable[str]) -> float:
    """Sum of the odds of a query's terms: how much its wording speaks for the field."""
    total = sum(odds.get(term, 0.0) for term in set(terms))
    return max(-ODDS_SUM_LIMIT, min(ODDS_SUM_LIMIT, total))


class Belonging(NamedTuple):
    """How a query stands to the field."""

    nearest_background: float
    """Cosine with the nearest background question."""
    mean_background: float
    """Mean cosine with the background questions: what unrelated texts come to."""
    probe: float
    """About +1 inside the field, -1 outside."""


@dataclass(frozen=True, slots=True)
class Field:
    """The border between the guidance and everything else, for one embedder."""

    background: Vectors
    """(questions, dimensions)"""
    weights: Vectors
    """(dimensions,) of the linear probe."""
    centre: Vectors
    """(dimensions,) the point where the probe is 0."""
    spread: float
    """Standard deviation of the cosines between guidance and background."""

    @classmethod
    def learn(cls, inside: Vectors, outside: Vectors) -> Field:
        """Border between texts of the guidance and background questions, both (texts, dims)."""
        both = np.vstack([inside, outside]).astype(np.float64)
        target = np.r_[np.ones(len(inside)), -np.ones(len(outside))]
        share = np.r_[
            np.full(len(inside), 0.5 / len(inside)), np.full(len(outside), 0.5 / len(outside))
        ]
        centre = share @ both
        centred = both - centre
        covariance = (centred * share[:, None]).T @ centred
        ridge = RIDGE * float(np.trace(covariance)) / len(centre)
        weights = np.linalg.solve(
            covariance + ridge * np.eye(len(centre)), (centred * share[:, None]).T @ target
        )
        return cls(
            background=outside.astype(np.float32),
            weights=weights.astype(np.float32),
            centre=centre.astype(np.float32),
            spread=float(np.std(inside @ outside.T)) or 1.0,
        )

    def place(self, query: Vectors) -> Belonging:
        """Where a query lies."""
        cosines = np.einsum("bd,d->b", self.background, query)
        probe = float(np.dot(query - self.centre, self.weights))
        return Belonging(float(cosines.max()), float(cosines.mean()), probe)

    def save(self, folder: Path) -> None:
        """Writes field.npz into a folder."""
        with (folder / "field.npz").open("wb") as file:
            np.savez(
                file,
                background=self.background,
                weights=self.weights,
                centre=self.centre,
                spread=np.array(self.spread),
            )

    @classmethod
    def load(cls, folder: Path) -> Field | None:
        """Reads what `save` wrote; None where the index has no vectors."""
        path = folder / "field.npz"
        if not path.exists():
            return None
        with np.load(path, allow_pickle=False) as arrays:
            return cls(
                arrays["background"], arrays["weights"], arrays["centre"], float(arrays["spread"])
            )
