"""How well retrieval does on labelled queries, part by part, and the fit of its constants.

A case has `query`, `lang`, `kind`, `gold_claims` and `also_ok`; a passage that carries one of
the ids is a hit, the first five passages count. A passage is also named by itself, as
``vram#usable``, in `gold_passages`. Cases of kind off_corpus must find nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from knowledge.relevance import (
    CONCEPTS_COUNTED,
    THRESHOLD,
    TRADES_COUNTED,
    Calibration,
    Evidence,
    Relevance,
    Scores,
    calibration,
    relevance,
)
from knowledge.retriever import Retriever
from knowledge.text import terms
from knowledge.types import Passage
from tools.errors import UserInputError
from tools.json_lines import read_rows

TOP = 5
LANGUAGES = ("zh", "en")


@dataclass(frozen=True, slots=True)
class Case:
    """One labelled query."""

    id: str
    language: str
    query: str
    accepted: frozenset[str]
    """Claims or passages of which one must be there; empty for an off-corpus query."""


class Result(NamedTuple):
    """Figures of one ranking on the cases of one language."""

    language: str
    cases: int
    hit_at_1: float
    hit_at_3: float
    mrr: float


def read_cases(paths: Iterable[Path]) -> list[Case]:
    """Cases of JSONL files.

    Raises:
        UserInputError: If a file cannot be read or a row is no labelled query.
    """
    found = []
    for path in paths:
        for number, row in enumerate(read_rows(path), start=1):
            try:
                named = (row["gold_claims"], row["also_ok"], row.get("gold_passages", ()))
                accepted = frozenset(key for keys in named for key in keys)
                found.append(Case(row["id"], row["lang"], row["query"], accepted))
            except (KeyError, TypeError) as error:
                raise UserInputError(
                    f"{path}: row {number} is no labelled query ({error}); it needs id, lang, "
                    "query, gold_claims and also_ok."
                ) from error
    return found


def keys_of(passage: Passage) -> frozenset[str]:
    """What a case may name a passage by: its claims, and its note and section."""
    section = passage.passage_id.removeprefix("guide:").rpartition(".")[0]
    return frozenset([*passage.claims, section])


def score(
    ranked: Callable[[Case], Sequence[frozenset[str]]], cases: Sequence[Case]
) -> list[Result]:
    """Hit rates and mean reciprocal rank by language.

    Args:
        ranked: Keys of each passage found for a case (`keys_of`), best first.
        cases: Those with an answer are scored.
    """
    results = []
    for language in LANGUAGES:
        ranks = [
            next((i + 1 for i, c in enumerate(ranked(case)[:TOP]) if c & case.accepted), 0)
            for case in cases
            if case.language == language and case.accepted
        ]
        if ranks:
            count = len(ranks)
            first, third = (sum(0 < r <= top for r in ranks) / count for top in (1, 3))
            mrr = sum(1 / r for r in ranks if r) / count
            results.append(Result(language, count, first, third, mrr))
    return results


def rejected(found: Callable[[Case], Sequence[Any]], cases: Sequence[Case]) -> tuple[int, int]:
    """How many off-corpus cases found nothing, of how many."""
    off = [c for c in cases if not c.accepted]
    return sum(not found(c) for c in off), len(off)


class Parts:
    """The parts of the ranking, each alone, over one open retriever."""

    def __init__(self, retriever: Retriever, cases: Sequence[Case]) -> None:
        self._retriever = retriever
        self._keys = retriever.unit_keys()
        self._evidence = {c.id: retriever.evidence(c.query) for c in cases}

    def evidence(self, case: Case) -> Evidence:
        """What was measured for a case."""
        return self._evidence[case.id]

    def rankings(self) -> dict[str, Callable[[Case], Sequence[frozenset[str]]]]:
        """Name of a part → its ranking, ungated but for the last."""

        def order(scores: Scores | Relevance) -> list[frozenset[str]]:
            return [self._keys[u] for u in np.argsort(-scores, kind="stable")[:TOP]]

        def wording(case: Case) -> Scores:
            return self._retriever.lexical_scores(list(terms(case.query)))

        def fused(case: Case, **changed: Any) -> list[frozenset[str]]:
            base = calibration("hybrid")
            return order(relevance(replace(self.evidence(case), **changed), base))

        found: dict[str, Callable[[Case], Sequence[frozenset[str]]]] = {
            "wording": lambda c: order(wording(c)),
            "wording + glossary": lambda c: order(self.evidence(c).lexical),
        }
        if self._retriever.mode == "hybrid":
            found["meaning"] = lambda c: order(_dense(self.evidence(c)))
            found["meaning + wording"] = lambda c: fused(c, lexical=wording(c))
            found["meaning + wording + glossary"] = fused
        found["all, with threshold"] = lambda c: [
            keys_of(p) for p in self._retriever.search(c.query)
        ]
        return found


def _dense(evidence: Evidence) -> Scores:
    return evidence.lexical if evidence.dense is None else evidence.dense


def fit(evidence: Sequence[Evidence], inside: Sequence[bool], *, keep: float = 0.99) -> Calibration:
    """Constants of the threshold from labelled queries.

    A logistic with mild shrinkage, both classes weighing the same; then the bias is moved until
    the share `keep` of the queries inside the field passes. The ratio of meaning to wording is
    kept as it stands, since it decides the order and not the threshold.
    """
    base = calibration("lexical" if evidence[0].dense is None else "hybrid")
    rows = np.array([_features(e, base) for e in evidence])
    label = np.array(inside)
    mean, deviation = rows.mean(0), rows.std(0) + 1e-9
    design = np.c_[(rows - mean) / deviation, np.ones(len(rows))]
    share = np.where(label, 0.5 / label.sum(), 0.5 / (~label).sum())
    w: NDArray[np.float64] = np.zeros(design.shape[1])
    for _ in range(3000):
        gradient = design.T @ (share * (1 / (1 + np.exp(-design @ w)) - label))
        w -= 2 * (gradient + 0.01 * np.r_[w[:-1], 0])
    slope = w[:-1] / deviation
    bias = w[-1] - float(slope @ mean)
    margin = rows[label] @ slope + bias
    bias -= min(0.0, float(np.quantile(margin, 1 - keep)) - 0.05)
    unit, probe, concept, word, trade = (float(s) for s in slope)
    return Calibration(
        dense=unit * base.dense,
        lexical=unit * base.lexical,
        probe=probe,
        concept=concept,
        wording=word,
        other_trade=min(0.0, trade),
        bias=float(bias),
    )


def _features(evidence: Evidence, base: Calibration) -> list[float]:
    """Best unit under the standing ratio of meaning to wording, probe, concepts, words, trades."""
    unit = base.lexical * evidence.lexical
    probe = 0.0
    if evidence.dense is not None and evidence.belonging is not None:
        above = evidence.dense - evidence.belonging.nearest_background
        unit = unit + base.dense * above / evidence.spread
        probe = evidence.belonging.probe
    named = float(min(evidence.concept_count, CONCEPTS_COUNTED))
    trades = float(min(evidence.trade_count, TRADES_COUNTED))
    return [float(unit.max()), probe, named, evidence.wording, trades]


def table(parts: Parts, retriever: Retriever, cases: Sequence[Case]) -> list[str]:
    """The printed table: each part's figures, then what happens off the corpus."""
    lines = [f"{'ranking':<30}{'lang':<6}{'n':>4}  hit@1  hit@3  MRR"]
    for name, ranked in parts.rankings().items():
        for r in score(ranked, cases):
            figures = "  ".join(f"{v:.3f}" for v in (r.hit_at_1, r.hit_at_3, r.mrr))
            lines.append(f"{name:<30}{r.language:<6}{r.cases:>4}  {figures}")
    nothing, off = rejected(lambda c: retriever.search(c.query), cases)
    if off:
        lines.append(f"off-corpus: nothing returned for {nothing} of {off} ({nothing / off:.1%})")
    lines.append(f"threshold {THRESHOLD}, mode {retriever.mode}")
    return lines
