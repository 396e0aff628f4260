"""A premise that a composer puts right itself, by rows of texts/premises.toml."""

from __future__ import annotations

from agent.answer import Correction
from agent.answering.telling.phrases import phrase, tidy
from agent.request import Request


def worded(request: Request, row: str, source: str, **fields: object) -> Correction:
    """A premise and its fact, in the language of the request."""
    told = [phrase(f"premises.{row}_{p}", request.language, **fields) for p in ("premise", "fact")]
    if request.language == "zh":
        told = [tidy(text) for text in told]
    return Correction(premise=told[0], fact=told[1], source=source)
