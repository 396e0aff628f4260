"""Questions that cannot be read: empty ones and oversized ones."""

from __future__ import annotations

from agent.answer import Answer, Language
from agent.answering.telling.phrases import phrase


def empty_question(language: Language | None) -> Answer:
    """One sentence that asks for a question."""
    return _refusal(phrase("common.empty", language or "zh"), language or "zh")


def oversized_question(question: str, language: Language | None, *, limit: int) -> Answer:
    """One sentence that asks for less text; `limit` is in bytes."""
    sample = question[:2000]
    chosen: Language = language or ("zh" if any("一" <= c <= "鿿" for c in sample) else "en")
    return _refusal(phrase("common.oversized", chosen, limit=limit), chosen)


def _refusal(text: str, language: Language) -> Answer:
    return Answer(language=language, intent="invalid_input", text=text, verdict="not_applicable")
