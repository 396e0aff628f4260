"""False premises: what a question takes for granted and is not so (rows: data/premises.yaml).

A row names phrases or frames that show it, or has a check of its own name in `premise_checks`. A
new premise is a row, and a check only where facts have to be looked up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from agent.answer import Correction, Language
from agent.understanding.data import load
from agent.understanding.lexicon.frames import FrameBook
from agent.understanding.lexicon.phrases import PhraseTable, table
from agent.understanding.premises.checks import CHECKS, CONDITIONS
from agent.understanding.premises.scene import Fields, Scene
from agent.understanding.settling.resolution import Resolution

_MOST = 4
"""Corrections in one answer."""


@cache
def _phrases(row: str) -> PhraseTable:
    return PhraseTable({row: load("premises")[row]["phrases"]})


@cache
def _book() -> FrameBook:
    rows = load("premises")
    framed = {name: row["frames"] for name, row in rows.items() if "frames" in row}
    return FrameBook(load("premise_words"), framed)


def corrections_for(scene: Scene, language: Language) -> tuple[Correction, ...]:
    """False premises of the text, put right in the question's language, most telling first."""
    found: list[Correction] = []
    framed = _book().kinds(scene.told)
    for name, row in load("premises").items():
        for fields in _found(name, row, scene, framed):
            correction = _worded(name, row, fields, language)
            if all(correction.fact != other.fact for other in found):
                found.append(correction)
    return tuple(found[:_MOST])


def _found(name: str, row: dict[str, Any], scene: Scene, framed: frozenset[str]) -> list[Fields]:
    if not _is_shown(name, row, scene, framed):
        return []
    fields: Fields = {}
    for need in row.get("needs", ()):
        extra = CONDITIONS[need](scene)
        if extra is None:
            return []
        fields |= extra
    return CHECKS[name](scene) if name in CHECKS else [fields]


def _is_shown(name: str, row: dict[str, Any], scene: Scene, framed: frozenset[str]) -> bool:
    """Whether the words of a row stand in the text, in a sentence that does not take them back."""
    if "phrases" not in row and "frames" not in row:
        return True
    has_phrase = "phrases" in row and _phrases(name).has(scene.text)
    if "unless" not in row or not (has_phrase or name in framed):
        return has_phrase or name in framed
    if has_phrase and _phrases(name).has(_without(scene.text, row["unless"])):
        return True
    return name in framed and name in _book().kinds(_without(scene.told, row["unless"]))


_SENTENCE = re.compile(r"(?<=[。!?;\n])|(?<=\.\s)")


def _without(text: str, words: str) -> str:
    """The sentences of a text in which none of a group of words stands."""
    group = table("premise_words", words)
    return "".join(part for part in _SENTENCE.split(text) if not group.has(part))


def _worded(name: str, row: dict[str, Any], fields: Fields, language: Language) -> Correction:
    return Correction(
        premise=row["premise"][language].format(**fields),
        fact=row["fact"][language].format(**fields),
        source=str(fields.get("source") or row["source"]),
        kind=name,
    )


_OF_A_RUN = (
    "adapter_share", "checkpointing_states", "more_by_segments", "spot_safe", "spot_unsaved",
    "newer_card", "type_carries", "type_memory", "type_has_more", "type_has_fewer",
)  # fmt: skip
"""Rows beside which a run that is spoken of is to be sized, however the question is worded."""
_MISREAD = ("type_carries", "type_memory")
_OF_THE_SIZE_SAID = "rule:devices"
"""Source of corrections that reckon with the size that was said."""


def is_of_a_run(corrections: Sequence[Correction], out: Resolution) -> bool:
    """Whether a premise is put right beside a model of a known size and a card to run it on."""
    has_card = out.get("gpu") is not None or out.get("gpu_mem_gb") is not None
    has_run = out.get("params_b") is not None and has_card
    return has_run and any(correction.kind in _OF_A_RUN for correction in corrections)


def on_the_real_card(corrections: Sequence[Correction], out: Resolution) -> tuple[Correction, ...]:
    """Corrections of a text whose card is the one that the type carries, not the one it said.

    Where a type was misread, the slots of the card that was said are emptied and what was
    reckoned with its size is left out.
    """
    if not any(correction.kind in _MISREAD for correction in corrections):
        return tuple(corrections)
    for slot in ("gpu", "gpu_mem_gb"):
        out.values.pop(slot, None)
        out.readings.pop(slot, None)
    return tuple(c for c in corrections if c.source != _OF_THE_SIZE_SAID)
