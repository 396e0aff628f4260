"""Finding passages: meaning and wording compared, fused, gated, one text a section."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Self

import numpy as np

from knowledge.building import build, index_folder
from knowledge.corrections import errata_of_claims
from knowledge.embedders import Embedder, make_embedder
from knowledge.field import wording_place
from knowledge.glossary import concepts, other_trades
from knowledge.library import Library
from knowledge.relevance import THRESHOLD, Evidence, Scores, document_relevance, relevance
from knowledge.settings import KnowledgeSettings
from knowledge.snapshot import Snapshot
from knowledge.sources import get_source
from knowledge.spelling import corrected
from knowledge.text import language_of, terms, weight
from knowledge.types import Language, Mode, Passage, Section
from tools.errors import BackendError

_log = logging.getLogger(__name__)
NEAR = 0.4
"""Units below the threshold are still shown beside a best one that they come this near to."""
REMOTE_CHECK_S = 60.0
"""How often a replica asks the server whether documents changed."""
MAX_QUERY_WEIGHT = 360
"""Longer questions are cut for the comparison (Latin characters, Chinese ones count for three):
embedding takes about a millisecond a token. A pasted log says what it is in its first lines, and
what is wanted stands in front of it or behind."""


class Retriever:
    """An open index. Made once, kept, and used from any thread."""

    def __init__(self, settings: KnowledgeSettings, guidance: Snapshot) -> None:
        self._settings = settings
        self._guidance = guidance
        self._shelf = Shelf(settings)
        self._embedder: Embedder | None = None
        self._is_loaded = False
        self._loading = threading.Lock()

    @classmethod
    def open(cls, settings: KnowledgeSettings | None = None) -> Retriever:
        """Opens the index, and builds it first where it is missing."""
        settings = settings or KnowledgeSettings.from_env()
        build(settings)
        return cls(settings, _guidance(index_folder(settings)))

    @property
    def mode(self) -> Mode:
        """hybrid, or lexical where no embedder was there when the index was built."""
        return "lexical" if self._guidance.embedder_id == "lexical" else "hybrid"

    def search(self, query: str, *, k: int = 5, language: Language | None = None) -> list[Passage]:
        """Passages that answer a query, best first; none where nothing is relevant.

        Args:
            query: A question in Chinese or English.
            k: Passages at most (count).
            language: Language of the texts; the query's own by default.
        """
        text = _cut(query.strip())
        if not text or k < 1:
            return []
        evidence = self.evidence(text)
        found = self._guidance_for(evidence, k, language or language_of(text))
        documents = self._shelf.documents()
        if documents is not None:
            found = merged(found, _documents_for(documents, evidence, k), k)
        return found

    def get(self, passage_id: str) -> Passage | None:
        """The passage of an id that a search gave, such as a citation's; its score is 0."""
        for snapshot in (self._guidance, self._shelf.documents()):
            for section in () if snapshot is None else snapshot.passages:
                if section.passage_id == passage_id:
                    return _to_passage(section, 0.0, self.mode)
        return None

    def close(self) -> None:
        """Lets the index go; a later search opens what it needs again."""
        self._shelf = Shelf(self._settings)
        self._embedder, self._is_loaded = None, False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def _guidance_for(self, evidence: Evidence, k: int, language: Language) -> list[Passage]:
        scores = relevance(evidence)
        order = np.argsort(-scores, kind="stable")[:k]
        if not len(order) or scores[order[0]] < THRESHOLD:
            return []
        floor = min(THRESHOLD, float(scores[order[0]]) * NEAR)
        return [
            self._passage(int(u), float(scores[u]), language) for u in order if scores[u] >= floor
        ]

    def evidence(self, text: str) -> Evidence:
        """What speaks for each unit of the guidance, measured for one query."""
        text = corrected(text, self._guidance.words)
        found, trades = concepts(text), other_trades(text)
        asked = (*terms(text), *(f"c:{c}" for c in found), *(f"x:{t}" for t in trades))
        lexical = self._guidance.lexical.scores(asked)
        wording = wording_place(self._guidance.odds, asked)
        embedder, field = self._get_embedder(), self._guidance.field
        if embedder is None or field is None:
            return Evidence(lexical, asked, len(found), wording, len(trades))
        vector = embedder.query(text)
        dense = self._guidance.dense(vector)
        place, spread = field.place(vector), field.spread
        counted = (len(found), wording, len(trades))
        return Evidence(lexical, asked, *counted, dense, place, spread, vector)

    def lexical_scores(self, query_terms: Sequence[str]) -> Scores:
        """Share of some terms that each unit of the guidance holds, (units,)."""
        return self._guidance.lexical.scores(query_terms)

    def unit_keys(self) -> list[frozenset[str]]:
        """Claims and name of each unit of the guidance, in the order of its scores."""
        firsts = (self._guidance.passages[rows[0]] for rows in self._guidance.units)
        return [frozenset([*s.claims, s.unit_id]) for s in firsts]

    def _get_embedder(self) -> Embedder | None:
        if not self._is_loaded:
            with self._loading:
                if not self._is_loaded:
                    wanted = self.mode == "hybrid"
                    self._embedder = make_embedder(self._settings) if wanted else None
                    self._is_loaded = True
        return self._embedder

    def _passage(self, unit: int, score: float, language: Language) -> Passage:
        rows = [self._guidance.passages[r] for r in self._guidance.units[unit]]
        section = next((s for s in rows if s.language == language), rows[0])
        return _to_passage(section, score, self.mode)


def _cut(text: str) -> str:
    """A text of bearable length: as it stands, or its beginning and its end."""
    if len(text) * 3 <= MAX_QUERY_WEIGHT or weight(text) <= MAX_QUERY_WEIGHT:
        return text
    half = MAX_QUERY_WEIGHT // 2
    width = half // 3 if language_of(text[:2000]) == "zh" else half
    return f"{text[:width]} {text[-width:]}"


def _documents_for(documents: Snapshot, evidence: Evidence, k: int) -> list[Passage]:
    lexical = documents.lexical.scores(evidence.terms)
    dense = None
    if evidence.vector is not None and len(documents.vectors):
        dense = documents.dense(evidence.vector)
    scores = document_relevance(evidence, lexical, dense)
    order = np.argsort(-scores, kind="stable")[:k]
    mode: Mode = "lexical" if dense is None else "hybrid"
    return [
        _to_passage(documents.passages[documents.units[u][0]], float(scores[u]), mode)
        for u in order
        if scores[u] >= THRESHOLD
    ]


def merged(guidance: list[Passage], own: list[Passage], k: int) -> list[Passage]:
    """Guidance and a reader's own passages in one list of k.

    Checked guidance keeps its places: the first is its own; a reader's documents stand in at most
    one of the first three, there only when more relevant than any guidance, and in at most half
    of the list. All of it is theirs where there is no guidance.
    """
    if not guidance:
        return own[:k]
    own = own[: max(1, k // 2)]
    lead = own[:1] if own and own[0].score > guidance[0].score else []
    rest = own[len(lead) :]
    first = [guidance[0], *lead, *guidance[1:]][: max(1, min(3, k))]
    after = guidance[sum(p.trust == "checked" for p in first) :]
    later = sorted([*rest, *after], key=lambda p: -p.score)
    return [*first, *later][:k]


class Shelf:
    """The index of a reader's documents, opened again when they change; safe between threads."""

    def __init__(self, settings: KnowledgeSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._library: Library | None = None
        self._stamp: object = None
        self._checked_at = -math.inf
        self._snapshot: Snapshot | None = None

    def documents(self) -> Snapshot | None:
        """The documents as they are; of a server, as they were a minute ago or before it failed."""
        is_remote = "://" in self._settings.store
        if is_remote and time.monotonic() - self._checked_at < REMOTE_CHECK_S:
            return self._snapshot
        with self._lock:
            self._checked_at = time.monotonic()
            try:
                self._refresh()
            except BackendError as error:
                if not is_remote:
                    raise
                _log.warning("documents may be out of date: %s", error)
            return self._snapshot

    def _refresh(self) -> None:
        library = self._library = self._library or Library(self._settings)
        if library.stamp() != self._stamp:
            self._snapshot = library.snapshot()
            self._stamp = library.stamp()


def _to_passage(section: Section, score: float, mode: Mode) -> Passage:
    return Passage(
        passage_id=section.passage_id,
        note_id=section.note_id,
        claims=section.claims,
        score=round(score, 4),
        text=section.text,
        title=section.title,
        language=section.language,
        sources=tuple(get_source(s) for s in section.source_ids),
        checked_on=section.checked_on,
        confidence=section.confidence,
        locator=section.locator,
        trust=section.trust,
        collection=section.collection,
        errata=errata_of_claims(section.claims),
        mode=mode,
    )


@lru_cache(maxsize=4)
def _guidance(folder: Path) -> Snapshot:
    """The index in a folder; folders are named by content, so one never changes."""
    return Snapshot.load(folder)


@cache
def _default(settings: KnowledgeSettings) -> Retriever:
    return Retriever.open(settings)


def search(query: str, *, k: int = 5, language: Language | None = None) -> list[Passage]:
    """Passages that answer a query, from an index that is opened on the first call and kept."""
    return _default(KnowledgeSettings.from_env()).search(query, k=k, language=language)


def get_passage(passage_id: str) -> Passage | None:
    """The passage of an id that `search` gave; None where there is no such."""
    return _default(KnowledgeSettings.from_env()).get(passage_id)
