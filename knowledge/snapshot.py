"""The form of an index that is read: plain arrays in a folder, opened without a database.

A snapshot is never changed. It is written into a folder of its own and put in place by one
rename, so a reader finds all of it or nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from dataclasses import field as dataclass_field
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from knowledge.field import Field, word_odds
from knowledge.lexical import LexicalIndex, index_terms
from knowledge.spelling import stems_of
from knowledge.types import Section

Vectors = NDArray[np.float32]
_NEAREST = 3
"""Views of a unit that count beside the best one."""


class View(NamedTuple):
    """One text by which a passage is found by meaning: a way of asking for it, or itself."""

    passage: int
    text: str


def views_of(sections: Sequence[Section]) -> list[View]:
    """Texts to embed, in the order of the sections."""
    found: list[View] = []
    for row, section in enumerate(sections):
        if section.trust == "user":
            found.append(View(row, f"{section.title}\n{section.text}"))
            continue
        found.extend(View(row, ask) for ask in section.asks)
        found.append(View(row, _opening(section)))
    return found


def _opening(section: Section) -> str:
    """The first sentence or two, some 40 tokens: embedding takes time by length."""
    flat = " ".join(section.text.replace("**", "").split())
    return flat[: 70 if section.language == "zh" else 160]


def _unit_terms(sections: Sequence[Section]) -> list[str]:
    found: list[str] = []
    for s in sections:
        for text in (s.title, s.title, s.text, *s.asks):
            found.extend(index_terms(text))
    return found


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An index in memory."""

    passages: tuple[Section, ...]
    units: tuple[tuple[int, ...], ...]
    """Passage rows of each unit."""
    view_bounds: NDArray[np.int64]
    """(units,) first view of each unit; the views of a unit lie together."""
    vectors: Vectors
    """(views, dimensions); (0, 0) where no embedder was there."""
    lexical: LexicalIndex
    embedder_id: str
    field: Field | None = None
    odds: dict[str, float] = dataclass_field(default_factory=dict)
    """What each term says about belonging to the field; empty for a reader's documents."""
    words: frozenset[str] = frozenset()
    """Stems of all words that occur, of the field or not: what is not misspelt."""

    @classmethod
    def build(
        cls,
        sections: Sequence[Section],
        vectors: Vectors | None,
        *,
        embedder_id: str,
        background: Vectors | None = None,
    ) -> Snapshot:
        """Index of sections.

        Args:
            sections: What can be found.
            vectors: Those of `views_of(sections)`, in that order; None for wording alone.
            embedder_id: What made the vectors.
            background: Vectors of `field.background()`; None where no border is to be learnt.
        """
        by_unit: dict[str, list[int]] = {}
        for row, section in enumerate(sections):
            by_unit.setdefault(section.unit_id, []).append(row)
        units = tuple(tuple(rows) for rows in by_unit.values())
        lexical = LexicalIndex.build([_unit_terms([sections[r] for r in rows]) for rows in units])
        bounds = np.zeros(len(units), dtype=np.int64)
        ordered = np.zeros((0, 0), dtype=np.float32)
        if vectors is not None and len(vectors):
            held: dict[int, list[int]] = {}
            for number, view in enumerate(views_of(sections)):
                held.setdefault(view.passage, []).append(number)
            per_unit = [[v for row in rows for v in held[row]] for rows in units]
            bounds = np.cumsum([0, *(len(p) for p in per_unit)][:-1], dtype=np.int64)
            ordered = np.ascontiguousarray(vectors[[v for p in per_unit for v in p]])
        border = None
        if vectors is not None and background is not None:
            border = Field.learn(vectors, background)
        return cls(tuple(sections), units, bounds, ordered, lexical, embedder_id, border)

    def with_odds(self, background: Iterable[str]) -> Snapshot:
        """The same index, knowing which words speak for its field and which against it."""
        background = tuple(background)
        asks = (index_terms(ask) for s in self.passages for ask in (s.title, *s.asks))
        odds = word_odds(asks, map(index_terms, background))
        texts = (text for s in self.passages for text in (s.title, s.text, *s.asks))
        return replace(self, odds=odds, words=stems_of((*texts, *background)))

    def dense(self, query: Vectors) -> Vectors:
        """How near each unit's views come to the query, (units,).

        Half the best cosine, half the mean of the three best: one view that is near by chance
        counts less than several ways of asking that are.
        """
        if not len(self.vectors):
            return np.zeros(len(self.units), dtype=np.float32)
        # einsum and not @: a product this small is slowed, not helped, by BLAS threads
        cosines = np.einsum("vd,d->v", self.vectors, query)
        best: Vectors = np.maximum.reduceat(cosines, self.view_bounds)
        if len(cosines) == len(self.units):
            return best
        both: Vectors = (best + _mean_of_nearest(cosines, self.view_bounds)) * np.float32(0.5)
        return both

    def save(self, folder: Path) -> None:
        """Writes the index into an existing folder."""
        rows = [_to_row(s) for s in self.passages]
        (folder / "passages.json").write_text(json.dumps(rows, ensure_ascii=False), "utf-8")
        meta = {
            "embedder_id": self.embedder_id,
            "units": self.units,
            "odds": self.odds,
            "words": sorted(self.words),
        }
        (folder / "snapshot.json").write_text(json.dumps(meta), encoding="utf-8")
        np.save(folder / "vectors.npy", self.vectors)
        np.save(folder / "bounds.npy", self.view_bounds)
        self.lexical.save(folder)
        if self.field is not None:
            self.field.save(folder)

    @classmethod
    def load(cls, folder: Path) -> Snapshot:
        """Reads what `save` wrote; the vectors stay on disk until they are touched."""
        meta = json.loads((folder / "snapshot.json").read_text(encoding="utf-8"))
        rows = json.loads((folder / "passages.json").read_text(encoding="utf-8"))
        return cls(
            passages=tuple(_from_row(r) for r in rows),
            units=tuple(tuple(u) for u in meta["units"]),
            view_bounds=np.load(folder / "bounds.npy", allow_pickle=False),
            vectors=np.load(folder / "vectors.npy", allow_pickle=False),
            lexical=LexicalIndex.load(folder),
            embedder_id=meta["embedder_id"],
            field=Field.load(folder),
            odds=meta["odds"],
            words=frozenset(meta["words"]),
        )


def _mean_of_nearest(cosines: Vectors, bounds: NDArray[np.int64]) -> Vectors:
    """Mean of the largest few of each stretch that begins at a bound, (bounds,)."""
    lengths = np.diff([*bounds, len(cosines)])
    stretch = np.repeat(np.arange(len(bounds)), lengths)
    ordered = cosines[np.lexsort((-cosines, stretch))]
    rank = np.arange(len(cosines)) - bounds[stretch]
    sums = np.add.reduceat(np.where(rank < _NEAREST, ordered, 0), bounds)
    mean: Vectors = (sums / np.minimum(lengths, _NEAREST)).astype(np.float32)
    return mean


def _to_row(section: Section) -> dict[str, Any]:
    row = asdict(section)
    row["checked_on"] = section.checked_on and section.checked_on.isoformat()
    return row


def _from_row(row: dict[str, Any]) -> Section:
    checked = row.pop("checked_on")
    for name in ("claims", "source_ids", "asks"):
        row[name] = tuple(row[name])
    return Section(checked_on=date.fromisoformat(checked) if checked else None, **row)
