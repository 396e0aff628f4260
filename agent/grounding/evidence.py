"""What a text may state: every quantity, name, date and citation of one conversation."""

from __future__ import annotations

import bisect
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from agent.answer import Answer, FigureOut, Verdict
from agent.grounding.names import cards_in, instances_in
from agent.grounding.quantities import dates, quantities, unit_of
from agent.toolbox import ToolResult
from tools.units import GIB, bytes_from_gb

_PLAIN_DIMENSIONS = ("share", "tokens", "params", "images")
"""What any figure of unit "1" may be said to be."""
_COUNTED = {
    "cards": re.compile(r"gpu|card|device|(?<![a-z])tp|size|more|count|pp(?![a-z])", re.IGNORECASE),
    "nodes": re.compile(r"node|instance|machine", re.IGNORECASE),
    "cores": re.compile(r"vcpu|core", re.IGNORECASE),
}
"""Names of figures and fields that count cards, machines or cores."""
_PER_HOUR = (1.0, 24.0, 168.0, 720.0, 730.0, 744.0, 8760.0)
"""An hourly price may be stated per hour, day, week, month or year."""
_FACTORS = {"h": 3600.0, "s": 1.0, "param": 1.0, "token": 1.0}


@dataclass
class Evidence:
    """Everything stated by tools, passages, corrections and the asker."""

    values: dict[str, list[float]] = field(default_factory=dict)
    """Dimension to sorted values in its base unit."""
    cards: set[str] = field(default_factory=set)
    """Rows of the GPU table."""
    instances: set[str] = field(default_factory=set)
    """Instance types and families, folded."""
    dates: set[str] = field(default_factory=set)
    citations: dict[str, str] = field(default_factory=dict)
    """Id to title of passages really retrieved."""
    texts: list[str] = field(default_factory=list)
    written: set[tuple[str, str]] = field(default_factory=set)
    """(digits, unit) of sizes as the answer, passages and question write them."""
    verdict: Verdict = "not_applicable"
    method_verdicts: dict[str, str] = field(default_factory=dict)
    """Training method to the tools' verdict about it."""

    @classmethod
    def of(
        cls, answer: Answer, *, question: str = "", results: Sequence[ToolResult] = (),
        passages: Iterable[str] = (),
    ) -> Evidence:  # fmt: skip
        """Evidence of an answer, the results behind it, the passages read and the question."""
        evidence = cls(verdict=answer.verdict)
        for figure in answer.figures:
            evidence.add_figure(figure)
        evidence._add_answer(answer)
        for result in results:
            evidence.add_result(result)
        passages = tuple(passages)
        for text in (question, *passages):
            evidence.add_text(text)
        for text in (answer.text, question, *passages):
            evidence.written.update((q.number, q.unit) for q in quantities(text) if q.number)
        evidence._add_table_facts()
        return evidence

    def add_value(self, dimension: str, value: float) -> None:
        """Records one value in the dimension's base unit."""
        bisect.insort(self.values.setdefault(dimension, []), value)

    def add_figure(self, figure: FigureOut) -> None:
        """Records a figure in every form in which it may be told."""
        self._add_measured(float(figure.value), figure.unit, figure.name)

    def _add_measured(self, value: float, unit: str, name: str) -> None:
        amount, _, per = unit.partition("/")
        if per in ("h", "hour", "month") and len(amount) == 3 and amount.isupper():
            self.add_value(f"money:{amount}", value)
            return
        if len(unit) == 3 and unit.isupper():
            self.add_value(f"money:{unit}", value)
            return
        if unit in ("1", "token", "param", ""):
            self._add_count(value, name)
            return
        known = unit_of(unit)
        if known is not None:
            self.add_value(known[0], value * known[1])

    def add_result(self, result: ToolResult) -> None:
        """Records what a tool gave back: its figures, and names and texts inside it."""
        if result.report is None:
            self.add_text(result.hint or "")
            return
        for figure in result.report.figures:
            self.add_figure(figure)
        for citation in result.report.citations:
            self.citations[citation.id] = citation.title
        data = result.report.model_dump(mode="json", exclude={"figures"})
        self._add_json(data)
        if data.get("method") and data.get("verdict"):
            self.method_verdicts.setdefault(data["method"], data["verdict"])

    def _add_json(self, value: Any, key: str = "") -> None:
        if isinstance(value, Mapping):
            if "amount" in value and "currency" in value:
                self._add_money(value)
            for name, inner in value.items():
                self._add_json(inner, name)
        elif isinstance(value, list | tuple):
            for inner in value:
                self._add_json(inner, key)
        elif isinstance(value, bool) or value is None:
            return
        elif isinstance(value, int | float | Decimal):
            self._add_keyed(key, float(value))
        elif isinstance(value, str):
            self.add_text(value)

    def _add_money(self, value: Mapping[str, Any]) -> None:
        """An amount that the asker named; without a currency it may be told in either."""
        if not isinstance(value["amount"], int | float):
            return
        for currency in [value["currency"]] if value["currency"] else ["CNY", "USD"]:
            self.add_value(f"money:{currency}", float(value["amount"]))

    def _add_keyed(self, key: str, value: float) -> None:
        """A number whose name ends in its unit, as all our names do."""
        for suffix, (dimension, factor) in _SUFFIXES.items():
            if key.endswith(suffix):
                self.add_value(dimension, value * factor)
                if suffix == "_gb":
                    self.add_value(dimension, value * GIB)
                return
        self._add_count(value, key)

    def _add_count(self, value: float, name: str) -> None:
        """A bare number: a share or an amount; of cards or machines only where its name says so."""
        for dimension in _PLAIN_DIMENSIONS:
            self.add_value(dimension, value)
        for dimension, pattern in _COUNTED.items():
            if pattern.search(name):
                self.add_value(dimension, value)

    def add_text(self, text: str) -> None:
        """Records every quantity, name and date that a text states."""
        if not text:
            return
        self.texts.append(text)
        for quantity in quantities(text):
            self.add_value(quantity.dimension, quantity.value)
        for iso, _ in dates(text):
            self.dates.add(iso)
        self.cards.update(mention.name for mention in cards_in(text))
        self.instances.update(mention.name for mention in instances_in(text))

    def _add_answer(self, answer: Answer) -> None:
        self._add_json(json.loads(json.dumps(answer.request, default=str)))
        for assumption in answer.assumptions:
            if isinstance(assumption.value, bool | str):
                self.add_text(f"{assumption.value} {assumption.unit}")
            else:
                self._add_measured(float(assumption.value), assumption.unit, assumption.name)
            self.add_text(assumption.why)
        for correction in answer.corrections:
            self.add_text(correction.fact)
            self.add_text(correction.premise)
        for citation in answer.citations:
            self.citations[citation.id] = citation.title
            self.add_text(f"{citation.title} {citation.locator}")
        for offer in answer.offers:
            self.add_text(f"{offer.instance_type} {offer.gpu_name or ''} {offer.priced_on or ''}")
            if offer.gpu_count is not None:
                self.add_value("cards", offer.gpu_count)
            if offer.price is not None and offer.currency is not None:
                for factor in _PER_HOUR:
                    self.add_value(f"money:{offer.currency}", float(offer.price) * factor)
        if answer.memory is not None:
            for size in (answer.memory.low_bytes, answer.memory.high_bytes,
                         answer.memory.usable_bytes):  # fmt: skip
                if size is not None:
                    self.add_value("bytes", size)

    def _add_table_facts(self) -> None:
        """Rows of the GPU table and the catalog that are named stand behind what they state."""
        from agent.grounding.names import card_facts, instance_facts

        for card in sorted(self.cards):
            for dimension, value in card_facts(card):
                self.add_value(dimension, value)
        for instance in sorted(self.instances):
            for dimension, value in instance_facts(instance):
                self.add_value(dimension, value)

    def holds(self, dimension: str, low: float, high: float) -> bool:
        """True when a recorded value lies in the interval."""
        values = self.values.get(dimension, [])
        position = bisect.bisect_left(values, low)
        return position < len(values) and values[position] <= high

    def says(self, text: str) -> bool:
        """True when a recorded text contains these words."""
        folded = re.sub(r"\s+", " ", text.casefold())
        return any(folded in re.sub(r"\s+", " ", known.casefold()) for known in self.texts)


_SUFFIXES: dict[str, tuple[str, float]] = {
    "_bytes": ("bytes", 1.0),
    "_mib": ("bytes", 1024.0**2),
    "_gib": ("bytes", float(GIB)),
    "_gb": ("bytes", float(bytes_from_gb(1))),
    "_mb": ("bytes", 1e6),
    "_kb": ("bytes", 1e3),
    "hours": ("time", 3600.0),
    "_minutes": ("time", 60.0),
    "_s": ("time", 1.0),
    "_ms": ("time", 1e-3),
    "_gbps": ("link", 1e9),
    "_gbs": ("rate", 1e9),
    "_mb_s": ("rate", 1e6),
    "_tflops": ("work", 1e12),
    "_pct": ("share", 0.01),
    "tokens_per_s": ("speed", 1.0),
}
_SUFFIXES = dict(sorted(_SUFFIXES.items(), key=lambda item: -len(item[0])))
