"""What published guidance gets wrong, as data: data/errata.yaml, one entry a claim."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from knowledge.glossary import concepts, names
from knowledge.sources import get_source
from knowledge.text import fold
from knowledge.types import Erratum


def _erratum(claim: str, row: dict[str, Any]) -> Erratum:
    return Erratum(
        claim=claim,
        verdict=row["verdict"],
        statement_zh=row["statement"]["zh"],
        statement_en=row["statement"]["en"],
        correction_zh=row["correction"]["zh"],
        correction_en=row["correction"]["en"],
        evidence=tuple(get_source(s) for s in row["evidence"].split()),
        signs=tuple(tuple(group.split(" + ")) for group in row.get("signs") or ()),
    )


@cache
def all_errata() -> dict[str, Erratum]:
    """Every erratum by the id of its claim."""
    raw = files("knowledge").joinpath("data/errata.yaml").read_text(encoding="utf-8")
    rows: dict[str, dict[str, Any]] = yaml.load(raw, Loader=yaml.CBaseLoader) or {}
    return {claim: _erratum(claim, row) for claim, row in rows.items()}


def errata_of_claims(claims: Iterable[str]) -> tuple[Erratum, ...]:
    """Errata of those claims that do not hold as published."""
    known = all_errata()
    return tuple(known[c] for c in claims if c in known)


def errata(text: str) -> list[Erratum]:
    """Errata of the claims that a text touches: a question's premise, or a sentence of advice.

    Decided by the signs of each entry (all terms or ``c:`` concepts of a group stand in the
    text), without a model: the same text always gives the same answer.
    """
    folded = fold(text)
    held = concepts(text)

    def stands(sign: str) -> bool:
        return sign[2:] in held if sign.startswith("c:") else names(sign, folded)

    return [e for e in all_errata().values() if any(all(map(stands, g)) for g in e.signs)]
