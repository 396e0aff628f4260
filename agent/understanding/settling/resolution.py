"""Slots as they are settled, with the readings they rest on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agent.request import Slots
from agent.understanding.lexicon.readings import Reading
from agent.understanding.readers.names import Card


@dataclass(slots=True)
class Resolution:
    """Slots with the readings they rest on."""

    values: dict[str, Any] = field(default_factory=dict)
    readings: dict[str, Reading] = field(default_factory=dict)
    inferred: set[str] = field(default_factory=set)
    ambiguities: list[str] = field(default_factory=list)
    cards: list[Card] = field(default_factory=list)
    spec: Any = None
    """ModelSpec of the model meant, where one is."""
    unknown_format: str | None = None
    """A weight format that was written and that no table has."""
    not_whole: tuple[tuple[str, float], ...] = ()
    """Slots of whole numbers beside which a fraction stands."""
    unreadable: str | None = None
    """Why a pasted configuration gives no model."""
    is_classic: bool = False
    """A network or algorithm that needs no row: XGBoost, an MNIST CNN."""
    model_candidates: tuple[str, ...] = ()
    """Rows that a family without a size may mean."""
    card_candidates: tuple[str, ...] = ()
    """Rows that a name of different cards may mean (RTX 6000)."""

    def put(
        self, slot: str, value: Any, reading: Reading | None = None, *, inferred: bool = False
    ) -> None:
        """Settle a slot."""
        if value is None:
            return
        self.values[slot] = value
        if reading is not None:
            self.readings[slot] = reading
        if inferred or (reading is not None and reading.origin == "inferred"):
            self.inferred.add(slot)

    def get(self, slot: str) -> Any:
        """Value of a slot, or None."""
        return self.values.get(slot)

    def slots(self) -> Slots:
        """The typed slots."""
        return Slots(**self.values)
