"""An answer in the making: paragraphs in reading order, and all that they rest on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from agent.answer import (
    Answer,
    AssumptionOut,
    CitationOut,
    Correction,
    FigureOut,
    Intent,
    MemoryRange,
    OfferOut,
    ToolCallOut,
    Verdict,
)
from agent.answering.telling.numbers import about_money
from agent.answering.telling.phrases import phrase, sentence_case, tidy
from agent.request import Request
from agent.toolbox import Report, ToolResult
from tools.units import format_significant

TYPICAL_CHARACTERS = {"zh": 1200, "en": 2000}
"""Length that an answer is cut to by leaving out its least important paragraphs."""
HEAD, BODY, DETAIL, EXTRA = 0, 1, 2, 3
"""Importance of a paragraph: HEAD and BODY always stay, EXTRA goes first."""


@dataclass(frozen=True, slots=True)
class _Paragraph:
    text: str
    importance: int


class Draft:
    """Collects an answer; `finish` makes it. One draft serves one answer."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.language = request.language
        self._paragraphs: list[_Paragraph] = []
        self._figures: dict[tuple[str, str, str], FigureOut] = {}
        self._citations: dict[str, CitationOut] = {}
        self._assumptions: dict[str, AssumptionOut] = {}
        self._corrections: dict[str, Correction] = {}
        self._told: set[str] = set()
        for given in request.corrections:
            self.correct(given.premise, given.fact, given.source, kind=given.kind)
        self._offers: list[OfferOut] = []
        self._tool_calls: list[ToolCallOut] = []
        self.follow_ups: list[str] = []

    # ---- text

    def phrase(self, key: str, /, **values: object) -> str:
        """A sentence in the answer's language."""
        return phrase(key, self.language, **values)

    def lead(self, key: str, /, **values: object) -> None:
        """Puts a sentence before all others: the verdict of the whole answer."""
        self._paragraphs.insert(0, _Paragraph(self.phrase(key, **values), HEAD))

    def say(self, key: str, /, *, importance: int = BODY, **values: object) -> None:
        """Adds a paragraph."""
        self.add(self.phrase(key, **values), importance=importance)

    def add(self, text: str, *, importance: int = BODY) -> None:
        """Adds a paragraph that is already worded."""
        if text:
            self._paragraphs.append(_Paragraph(text, importance))

    def bullets(self, items: Iterable[str], *, importance: int = BODY, title: str = "") -> None:
        """Adds a list, with a line above it."""
        lines = [f"- {item}" for item in items if item]
        if lines:
            self.add("\n".join([title, *lines] if title else lines), importance=importance)

    def table(
        self, header: Sequence[str], rows: Iterable[Sequence[str]], *, importance: int = BODY
    ) -> None:
        """Adds a small table."""
        lines = ["| " + " | ".join(row) + " |" for row in (header, ["---"] * len(header), *rows)]
        self.add("\n".join(lines), importance=importance)

    @property
    def has_text(self) -> bool:
        """Whether anything is said or put right so far."""
        return bool(self._paragraphs or self._corrections)

    # ---- what the text rests on

    def use(self, *results: ToolResult) -> None:
        """Records tool calls, with their figures and citations."""
        for result in results:
            self._tool_calls.append(
                ToolCallOut(
                    name=result.name,
                    arguments=dict(result.arguments),
                    ok=result.ok,
                    elapsed_ms=result.elapsed_ms,
                )
            )
            if result.report is not None:
                self.use_report(result.report)

    def use_report(self, report: Report) -> None:
        """Records the figures and citations of a report."""
        self.figures(report.figures)
        for citation in report.citations:
            self._citations[citation.id] = citation

    def figures(self, figures: Iterable[FigureOut]) -> None:
        """Records figures; the same figure is kept once."""
        for figure in figures:
            self._figures[figure.name, figure.unit, str(figure.value)] = figure

    def figure(
        self,
        name: str,
        value: int | float | Decimal,
        unit: str,
        *,
        formula: str | None = None,
        sources: tuple[str, ...] = (),
    ) -> None:
        """Records one number that the text states."""
        self.figures([FigureOut(name=name, value=value, unit=unit, formula=formula,
                                sources=sources)])  # fmt: skip

    def about_money(
        self, name: str, amount: Decimal | float, currency: str, *, formula: str
    ) -> str:
        """An estimated amount as it is told, three digits, recorded as it is told."""
        told = float(format_significant(float(amount), 3))
        self.figure(f"{name}, as told", told, currency, formula=f"{formula}; three digits")
        return about_money(amount, currency, self.language)

    def assume(self, assumptions: Iterable[AssumptionOut]) -> None:
        """Records assumptions; the first of a name stays."""
        for assumption in assumptions:
            self._assumptions.setdefault(assumption.name, assumption)

    @property
    def assumptions(self) -> tuple[AssumptionOut, ...]:
        """What was assumed so far."""
        return tuple(self._assumptions.values())

    def correct(self, premise: str, fact: str, source: str, *, kind: str = "") -> None:
        """Puts a false premise right: among the answer's corrections and in its text."""
        if self.language == "zh":
            premise, fact = tidy(premise), tidy(fact)
        found = Correction(premise=premise, fact=fact, source=source, kind=kind)
        self._corrections.setdefault(fact, found)

    @property
    def corrections(self) -> tuple[Correction, ...]:
        """The premises put right so far."""
        return tuple(self._corrections.values())

    def withdraw_corrections(self, source: str) -> None:
        """Takes corrections of a source back: the tools show that the premise holds."""
        self._corrections = {f: c for f, c in self._corrections.items() if c.source != source}

    def tell_correction(self, correction: Correction) -> None:
        """Notes that the text tells a correction in words of its own."""
        self._told.add(correction.fact)

    def cite(self, citation: CitationOut) -> None:
        """Records a source that the text names."""
        self._citations[citation.id] = citation

    def offer(self, offers: Iterable[OfferOut]) -> None:
        """Records instances to rent."""
        self._offers.extend(offers)

    # ---- the end

    def finish(
        self,
        verdict: Verdict,
        *,
        memory: MemoryRange | None = None,
        intent: Intent | None = None,
        slots: dict[str, Any] | None = None,
    ) -> Answer:
        """The answer.

        Args:
            verdict: About the configuration asked for.
            memory: What it needs, where that was computed.
            intent: When the answer turned out to be of another kind than the request.
            slots: Slots that the tools settled, such as the card that an instance carries.
        """
        request = self.request.slots.model_dump(mode="json")
        request.update({k: v for k, v in (slots or {}).items() if request.get(k) is None})
        return Answer(
            language=self.language,
            intent=intent or self.request.intent,
            text=self._text(),
            verdict=verdict,
            memory=memory,
            request=request,
            assumptions=self.assumptions,
            figures=tuple(self._figures.values()),
            citations=tuple(self._citations.values()),
            corrections=tuple(c.model_copy(update={"kind": ""}) for c in self.corrections),
            offers=tuple(self._offers),
            clarifying_question=self.request.clarifying_question,
            follow_ups=tuple(dict.fromkeys(self.follow_ups))[:4],
            tool_calls=tuple(self._tool_calls),
        )

    def _text(self) -> str:
        paragraphs = self._in_order()
        limit = TYPICAL_CHARACTERS[self.language]
        for importance in (EXTRA, DETAIL):
            while sum(len(p.text) + 2 for p in paragraphs) > limit:
                last = [p for p in paragraphs if p.importance == importance]
                if not last:
                    break
                paragraphs.remove(last[-1])
        if self.language == "zh":
            return tidy("\n\n".join(p.text for p in paragraphs))
        return "\n\n".join(sentence_case(p.text) for p in paragraphs)

    def _in_order(self) -> list[_Paragraph]:
        head = [p for p in self._paragraphs if p.importance == HEAD]
        rest = [p for p in self._paragraphs if p.importance != HEAD]
        corrected = [
            _Paragraph(self.phrase("common.correction", fact=c.fact), BODY)
            for c in self._corrections.values()
            if c.fact not in self._told and not any(c.fact in p.text for p in self._paragraphs)
        ]
        question = self.request.clarifying_question
        asked = [self.phrase("common.question", question=question)] if question else []
        return [*head, *corrected, *rest, *(_Paragraph(text, BODY) for text in asked)]
