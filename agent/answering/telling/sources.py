"""Guidance in an answer: cited passages, and published claims put right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent.answering.plan import Call
from agent.answering.telling.draft import DETAIL, EXTRA, Draft
from agent.answering.telling.phrases import full_width, phrase
from agent.answering.telling.run_words import joined
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.guidance import GuidanceReport, PassageOut

_MOST_ERRATA = 1
_MOST_CITED = 2


def guidance_call(request: Request, *, k: int = 3, topic: str | None = None) -> Call:
    """A search for guidance on the question, or on the topic that a computed answer rests on.

    Args:
        request: The question.
        k: Passages at most (count).
        topic: Name of a query in texts/sources.toml; it asks the same each time, so its vector
            is computed once. None searches with the question's own words.
    """
    query = phrase(f"sources.topic_{topic}", request.language) if topic else request.search_query
    text = query.strip() or request.intent
    return Call("search_guidance", {"query": text[:2000], "k": k, "language": request.language})


def passages_in(results: Iterable[ToolResult]) -> list[PassageOut]:
    """Passages of the checked guidance that the searches found, best first."""
    return [p for p in _found(results) if p.trust == "checked"]


def own_passages_in(results: Iterable[ToolResult]) -> list[PassageOut]:
    """Passages of the reader's own documents, best first: to be quoted as theirs, or left out."""
    return [p for p in _found(results) if p.trust != "checked"]


def _found(results: Iterable[ToolResult]) -> Iterable[PassageOut]:
    for result in results:
        if isinstance(result.report, GuidanceReport):
            yield from result.report.passages


def say_guidance(draft: Draft, results: Sequence[ToolResult]) -> None:
    """Names the passages that a computed answer rests on."""
    say_cited(draft, passages_in(results)[:_MOST_CITED])


def say_errata(draft: Draft, passages: Iterable[PassageOut]) -> None:
    """What is wrong in published advice on the matter, where the question touches it."""
    from knowledge import errata

    touched = {erratum.claim for erratum in errata(draft.request.search_query)}
    found = {e.claim: e for p in passages for e in p.errata if e.claim in touched}
    for erratum in list(found.values())[:_MOST_ERRATA]:
        draft.say(
            "sources.erratum",
            statement=_told(draft, erratum.statement.rstrip("。.")),
            correction=_told(draft, erratum.correction),
            importance=DETAIL,
        )


def _told(draft: Draft, text: str) -> str:
    return full_width(text) if draft.language == "zh" else text


def say_cited(draft: Draft, passages: Iterable[PassageOut]) -> None:
    """Names the passages that the answer rests on."""
    items = [f"{p.title} [{p.passage_id}]" for p in passages]
    if items:
        draft.say("sources.cited", items=joined(draft, items), importance=EXTRA)
