"""Judges a ranked list of passages by the claims they carry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evals.sample import Row, Score

COUNTED_PASSAGES = 5
MOST_CLAIMS = 5


def rank_of_hit(row: Row, passages: Sequence[Mapping[str, Any]]) -> int | None:
    """Rank (from 1) of the first passage that answers; a passage of too many claims never does."""
    wanted = {*(row.get("gold_claims") or []), *(row.get("also_ok") or [])}
    for rank, passage in enumerate(passages[:COUNTED_PASSAGES], start=1):
        carried = list(passage.get("claims") or [])
        if len(carried) <= MOST_CLAIMS and wanted & set(carried):
            return rank
    return None


def judge(row: Row, passages: Sequence[Mapping[str, Any]]) -> list[Score]:
    """Scores of one query; an off-corpus query must return nothing."""
    if row.get("kind") == "off_corpus":
        found = [p.get("passage_id") for p in passages]
        return [Score("returns_nothing", not found, f"returned {found}")]
    rank = rank_of_hit(row, passages)
    return [
        Score("hit_at_5", rank is not None, f"wanted {row.get('gold_claims')}"),
        Score("hit_at_1", 1.0 if rank == 1 else 0.0),
        Score("hit_at_3", 1.0 if rank is not None and rank <= 3 else 0.0),
        Score("reciprocal_rank", 1.0 / rank if rank else 0.0),
    ]
