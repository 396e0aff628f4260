"""Where a number comes from: `Source`, `Figure`, `Assumption`.

No number reaches a reader without an origin. A `Figure` has sources, or a formula over other
figures; one with neither cannot be built.

Id grammar of a source: ``guide:<article>#p3``, ``hf:<repo>/config.json``, ``vendor:<page>``,
``paper:<arxiv>#table2``, ``probe:<host>``, ``rule:<name>``, ``data:<file>#<row>``,
``assumed:<field>``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Literal

SourceKind = Literal["guide", "vendor", "paper", "measured", "derived", "assumed", "user"]


@dataclass(frozen=True, slots=True)
class Source:
    """One place that a value was read from."""

    id: str
    """Id by the grammar above."""
    kind: SourceKind
    locator: str
    """What a reader opens or types to see it: page, file and row, rule name."""
    retrieved_on: date | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its unit and its origin.

    Raises:
        ValueError: If it has neither a source nor a formula.
    """

    name: str
    value: int | float | Decimal
    unit: str
    """B, GiB, GB, token, param, h, CNY/h, USD/h, token/s, ... ; "1" for a bare count or ratio."""
    sources: tuple[Source, ...] = ()
    formula: str | None = None
    inputs: tuple[Figure, ...] = ()

    def __post_init__(self) -> None:
        if not self.sources and not self.formula:
            raise ValueError(f"figure {self.name!r} has neither a source nor a formula")

    def leaves(self) -> Iterator[Source]:
        """Sources that this figure rests on, its inputs' included."""
        yield from self.sources
        for figure in self.inputs:
            yield from figure.leaves()


@dataclass(frozen=True, slots=True)
class Assumption:
    """A value that the reader did not give and may change."""

    name: str
    """Slot or workload field, such as seq_len."""
    value: int | float | str | bool
    unit: str
    why: str
    """One clause in plain English: where this default comes from."""
