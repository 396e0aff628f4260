"""BM25 over units, precomputed into postings, with scores that mean the same for every query.

The sum of BM25 weights is divided by the most that the query's terms could have given, so a
score of 0.5 says "half of what was asked for stands there", whatever the query's length.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from knowledge.glossary import concepts, other_trades
from knowledge.text import terms

K1 = 1.2
B = 0.5
"""Length normalisation, below the textbook value: more ways of asking make a unit longer."""


def index_terms(text: str, *, glossary: bool = True) -> list[str]:
    """Terms of a text, with its concepts as ``c:<concept>``, other trades as ``x:<trade>``."""
    found = list(terms(text))
    if glossary:
        found.extend(f"c:{concept}" for concept in sorted(concepts(text)))
        found.extend(f"x:{trade}" for trade in sorted(other_trades(text)))
    return found


@dataclass(frozen=True, slots=True)
class LexicalIndex:
    """Postings of every term: which units hold it and what each holding weighs."""

    vocabulary: dict[str, int]
    idf: NDArray[np.float32]
    """(terms,)"""
    starts: NDArray[np.int64]
    """(terms + 1,) bounds of each term's postings."""
    units: NDArray[np.int32]
    weights: NDArray[np.float32]
    """(postings,) BM25 weight, idf included."""
    unit_count: int

    @classmethod
    def build(cls, documents: Sequence[Iterable[str]]) -> LexicalIndex:
        """Index of documents, each given as its terms."""
        counts = [Counter(d) for d in documents]
        lengths = np.array([sum(c.values()) for c in counts], dtype=np.float32)
        mean = float(lengths.mean()) if len(lengths) else 1.0
        postings: dict[str, list[tuple[int, int]]] = {}
        for unit, counted in enumerate(counts):
            for term, times in counted.items():
                postings.setdefault(term, []).append((unit, times))
        total = len(counts)
        idf, starts, units, weights = [], [0], [], []
        for held in postings.values():
            rarity = math.log(1 + (total - len(held) + 0.5) / (len(held) + 0.5))
            idf.append(rarity)
            for unit, times in held:
                room = K1 * (1 - B + B * float(lengths[unit]) / max(mean, 1e-9))
                units.append(unit)
                weights.append(rarity * times * (K1 + 1) / (times + room))
            starts.append(len(units))
        return cls(
            vocabulary={term: i for i, term in enumerate(postings)},
            idf=np.array(idf, dtype=np.float32),
            starts=np.array(starts, dtype=np.int64),
            units=np.array(units, dtype=np.int32),
            weights=np.array(weights, dtype=np.float32),
            unit_count=total,
        )

    def scores(self, query_terms: Iterable[str]) -> NDArray[np.float32]:
        """Share of the query that each unit holds, (units,), 0 to about 1."""
        result = np.zeros(self.unit_count, dtype=np.float32)
        if not self.unit_count:
            return result
        unknown = math.log(1 + (self.unit_count + 0.5) / 0.5)
        possible = 0.0
        for term in set(query_terms):
            row = self.vocabulary.get(term)
            possible += (unknown if row is None else float(self.idf[row])) * (K1 + 1) / 2
            if row is not None:
                held = slice(self.starts[row], self.starts[row + 1])
                result[self.units[held]] += self.weights[held]
        return result / possible if possible else result

    def save(self, folder: Path) -> None:
        """Writes lexical.npz and vocabulary.json into a folder."""
        with (folder / "lexical.npz").open("wb") as file:
            np.savez(
                file,
                idf=self.idf,
                starts=self.starts,
                units=self.units,
                weights=self.weights,
                unit_count=np.array(self.unit_count),
            )
        text = json.dumps(list(self.vocabulary), ensure_ascii=False)
        (folder / "vocabulary.json").write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> LexicalIndex:
        """Reads what `save` wrote."""
        names = json.loads((folder / "vocabulary.json").read_text(encoding="utf-8"))
        with np.load(folder / "lexical.npz", allow_pickle=False) as arrays:
            return cls(
                vocabulary={name: i for i, name in enumerate(names)},
                idf=arrays["idf"],
                starts=arrays["starts"],
                units=arrays["units"],
                weights=arrays["weights"],
                unit_count=int(arrays["unit_count"]),
            )
