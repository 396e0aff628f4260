"""search_guidance: checked guidance on a question, with what published advice gets wrong."""

from __future__ import annotations

from pydantic import Field

from agent.answer import CitationOut, Language
from agent.settings import Settings
from agent.toolbox.base import Arguments, Report, Row, Tool, description_of


class GuidanceArguments(Arguments):
    """A search."""

    query: str = Field(min_length=1, max_length=2000, description="What is asked / 要查的问题")
    k: int = Field(5, ge=1, le=10)
    language: Language | None = None


class ErratumOut(Row):
    """A claim of published guidance that does not hold, and what does."""

    claim: str
    verdict: str
    statement: str
    correction: str
    sources: tuple[str, ...]


class PassageOut(Row):
    """A passage, quoted as data."""

    passage_id: str
    note_id: str
    title: str
    text: str
    score: float
    language: Language
    trust: str
    locator: str
    checked_on: str | None
    sources: tuple[str, ...]
    errata: tuple[ErratumOut, ...]


class GuidanceReport(Report):
    """Passages, best first; none when nothing is relevant."""

    passages: tuple[PassageOut, ...]

    def summary(self) -> str:
        """How many, and the best."""
        if not self.passages:
            return "nothing relevant"
        return f"{len(self.passages)} passages, best: {self.passages[0].title}"


def build(settings: Settings) -> Tool[GuidanceArguments]:
    """The tool; it depends on no setting."""
    return Tool(
        name="search_guidance",
        description=description_of("search_guidance"),
        arguments=GuidanceArguments,
        report=GuidanceReport,
        function=search_guidance,
    )


def search_guidance(arguments: GuidanceArguments) -> GuidanceReport:
    """Searches the guidance index."""
    from knowledge import search

    found = search(arguments.query, k=arguments.k, language=arguments.language)
    passages = tuple(
        PassageOut(
            passage_id=p.passage_id,
            note_id=p.note_id,
            title=p.title,
            text=p.text,
            score=p.score,
            language=p.language,
            trust=p.trust,
            locator=p.locator,
            checked_on=p.checked_on.isoformat() if p.checked_on else None,
            sources=tuple(s.id for s in p.sources),
            errata=tuple(
                ErratumOut(
                    claim=e.claim,
                    verdict=e.verdict,
                    statement=e.statement(arguments.language or p.language),
                    correction=e.correction(arguments.language or p.language),
                    sources=tuple(s.id for s in e.evidence),
                )
                for e in p.errata
            ),
        )
        for p in found
    )
    citations = tuple(
        CitationOut(id=p.passage_id, title=p.title, locator=p.locator) for p in passages
    )
    return GuidanceReport(citations=citations, passages=passages)
