"""What the readers found: one reading a slot and place, before it is settled which one counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Origin = Literal["said", "pasted", "inferred"]
_RANK: dict[Origin, int] = {"said": 3, "pasted": 2, "inferred": 1}


@dataclass(frozen=True, slots=True)
class Reading:
    """A value for a slot and where it was read (offsets in the folded text)."""

    slot: str
    value: Any
    start: int
    end: int
    origin: Origin = "said"
    weight: float = 1.0


@dataclass(slots=True)
class Board:
    """All readings of one text."""

    readings: list[Reading] = field(default_factory=list)

    def add(
        self,
        slot: str,
        value: Any,
        start: int = 0,
        end: int = 0,
        *,
        origin: Origin = "said",
        weight: float = 1.0,
    ) -> None:
        """Note a reading."""
        self.readings.append(Reading(slot, value, start, end, origin, weight))

    def of(self, slot: str) -> list[Reading]:
        """Readings of a slot, in order of the text."""
        found = [reading for reading in self.readings if reading.slot == slot]
        return sorted(found, key=lambda reading: reading.start)

    def best(self, slot: str) -> Reading | None:
        """The reading that counts: said before pasted before inferred, then weight, then first."""
        found = [reading for reading in self.readings if reading.slot == slot]
        if len(found) < 2:
            return found[0] if found else None
        return max(found, key=lambda r: (_RANK[r.origin], r.weight, -r.start))

    def value(self, slot: str) -> Any:
        """Value of the best reading, or None."""
        reading = self.best(slot)
        return None if reading is None else reading.value

    def has(self, slot: str) -> bool:
        """Whether the slot was read at all."""
        return any(reading.slot == slot for reading in self.readings)

    def drop(self, slot: str) -> None:
        """Forget every reading of a slot."""
        self.readings = [reading for reading in self.readings if reading.slot != slot]
