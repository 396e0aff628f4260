"""False premises: what a question takes for granted and is not so (rows: data/premises.yaml).

A row either names phrases, or has a check of its own name in `premise_checks`. A new premise is
a row, and a check only where facts have to be looked up.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from agent.answer import Correction, Language
from agent.understanding.data import load
from agent.understanding.phrases import PhraseTable
from agent.understanding.premise_checks import CHECKS, CONDITIONS
from agent.understanding.premise_scene import Fields, Scene

_MOST = 4
"""Corrections in one answer."""


@cache
def _phrases(row: str) -> PhraseTable:
    return PhraseTable({row: load("premises")[row]["phrases"]})


def corrections_for(scene: Scene, language: Language) -> tuple[Correction, ...]:
    """False premises of the text, put right in the question's language, most telling first."""
    found: list[Correction] = []
    for name, row in load("premises").items():
        for fields in _found(name, row, scene):
            correction = _worded(name, row, fields, language)
            if all(correction.fact != other.fact for other in found):
                found.append(correction)
    return tuple(found[:_MOST])


def _found(name: str, row: dict[str, Any], scene: Scene) -> list[Fields]:
    if "phrases" not in row:
        return CHECKS[name](scene)
    if not _phrases(name).has(scene.text):
        return []
    fields: Fields = {}
    for need in row.get("needs", ()):
        extra = CONDITIONS[need](scene)
        if extra is None:
            return []
        fields |= extra
    return [fields]


def _worded(name: str, row: dict[str, Any], fields: Fields, language: Language) -> Correction:
    return Correction(
        premise=row["premise"][language].format(**fields),
        fact=row["fact"][language].format(**fields),
        source=str(fields.get("source") or row["source"]),
        kind=name,
    )
