"""What the room hands out: `Passage`, `Erratum`; and what it indexes: `Section`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal

from tools.provenance import Source

Language = Literal["zh", "en"]
Verdict = Literal["supported", "imprecise", "wrong", "unsourced"]
Confidence = Literal["high", "medium", "low"]
Trust = Literal["checked", "user"]
"""checked = a guidance note of this project; user = a reader's own document, quoted as theirs."""
Mode = Literal["hybrid", "lexical"]
"""hybrid = meaning and wording were compared; lexical = no embedder was there, wording only."""


@dataclass(frozen=True, slots=True)
class Erratum:
    """One claim of published guidance that does not hold as written, and what does."""

    claim: str
    verdict: Verdict
    statement_zh: str
    statement_en: str
    """The claim as people meet it, in our words."""
    correction_zh: str
    correction_en: str
    evidence: tuple[Source, ...]
    signs: tuple[tuple[str, ...], ...] = ()
    """Any of these groups, with all its terms in a text, shows that the text touches the claim."""

    def statement(self, language: Language) -> str:
        """The claim in one language."""
        return self.statement_zh if language == "zh" else self.statement_en

    def correction(self, language: Language) -> str:
        """What is true instead, in one language."""
        return self.correction_zh if language == "zh" else self.correction_en


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of text that is found as a whole: a note's section, or a piece of a document."""

    passage_id: str
    """Unique in its collection, such as ``guide:spot#discount.zh``."""
    unit_id: str
    """The same for the zh and en text of one section: only one of them is returned."""
    note_id: str
    title: str
    language: Language
    text: str
    locator: str
    claims: tuple[str, ...] = ()
    source_ids: tuple[str, ...] = ()
    checked_on: date | None = None
    confidence: Confidence | None = None
    asks: tuple[str, ...] = ()
    """Ways in which people ask for this; indexed, never shown."""
    trust: Trust = "checked"
    collection: str = "guidance"


@dataclass(frozen=True, slots=True)
class Passage:
    """A section that answers a query, with what a reader needs to judge it."""

    passage_id: str
    note_id: str
    claims: tuple[str, ...]
    """Ids of the fact check that the text covers, five at most."""
    score: float
    """Relevance from 0 to 1; where the best stays below 0.5 nothing is returned."""
    text: str
    title: str
    language: Language
    sources: tuple[Source, ...]
    checked_on: date | None
    confidence: Confidence | None
    locator: str
    trust: Trust
    collection: str
    errata: tuple[Erratum, ...]
    """Corrections of published guidance on the same claims; show them with the text."""
    mode: Mode
