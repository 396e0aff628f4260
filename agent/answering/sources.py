"""Guidance in an answer: cited passages, and published claims put right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent.answering.draft import DETAIL, EXTRA, Draft
from agent.answering.phrases import full_width
from agent.answering.plan import Call
from agent.answering.run_words import joined
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.guidance import ErratumOut, GuidanceReport, PassageOut

_MOST_ERRATA = 1
_MOST_CITED = 2


def guidance_call(request: Request, *, k: int = 3, query: str | None = None) -> Call:
    """A search for guidance on the question."""
    text = (query or request.search_query or "").strip() or request.intent
    return Call("search_guidance", {"query": text[:2000], "k": k, "language": request.language})


def passages_in(results: Iterable[ToolResult]) -> list[PassageOut]:
    """Passages of all searches, best first."""
    return [
        passage
        for result in results
        if isinstance(result.report, GuidanceReport)
        for passage in result.report.passages
    ]


def say_guidance(draft: Draft, results: Sequence[ToolResult]) -> None:
    """Puts the published claim on the matter right and names the passages."""
    passages = passages_in(results)
    if not passages:
        return
    errata: dict[str, ErratumOut] = {}
    for passage in passages[:1]:
        for erratum in passage.errata:
            errata.setdefault(erratum.claim, erratum)
    for erratum in list(errata.values())[:_MOST_ERRATA]:
        say_erratum(draft, erratum)
    say_cited(draft, passages[:_MOST_CITED])


def say_erratum(draft: Draft, erratum: ErratumOut) -> None:
    """A published claim and what is true instead."""
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
