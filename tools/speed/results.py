"""What every calculator of this room hands back: a value with its interval, and its figures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.resources import files
from json import loads
from typing import Any

from tools.errors import BadQuantityError
from tools.provenance import Assumption, Figure, Source


@dataclass(frozen=True, slots=True)
class Interval:
    """A point estimate with the range that should hold the truth in at least four of five cases."""

    value: float
    low: float
    high: float
    unit: str

    def scaled(self, factor: float, unit: str) -> Interval:
        """The interval of a quantity proportional to this one (factor > 0)."""
        return Interval(self.value * factor, self.low * factor, self.high * factor, unit)

    def inverse(self, numerator: float, unit: str) -> Interval:
        """The interval of `numerator` divided by this quantity: low and high change places."""
        return Interval(numerator / self.value, numerator / self.high, numerator / self.low, unit)

    def figures(
        self,
        name: str,
        *,
        formula: str | None = None,
        inputs: Iterable[Figure] = (),
        sources: Iterable[Source] = (),
    ) -> tuple[Figure, Figure, Figure]:
        """Figures `name`, `name_low` and `name_high` with one origin."""
        held, read = tuple(inputs), tuple(sources)
        return (
            Figure(name, self.value, self.unit, read, formula, held),
            Figure(f"{name}_low", self.low, self.unit, read, formula, held),
            Figure(f"{name}_high", self.high, self.unit, read, formula, held),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """What every answer about items carries: where the time goes, what was assumed, figures."""

    parts: dict[str, float]
    """Seconds by part."""
    assumptions: tuple[Assumption, ...]
    _figures: tuple[Figure, ...]

    def figures(self) -> tuple[Figure, ...]:
        """The rates with their intervals, and the work that they rest on."""
        return self._figures


@cache
def load_data(name: str) -> Any:
    """Content of `data/<name>.json`, read once."""
    text = files("tools.speed").joinpath("data", f"{name}.json").read_text(encoding="utf-8")
    return loads(text)


@cache
def constants_of(name: str) -> dict[str, float]:
    """Learnt constants of `data/<name>.json`: name -> value."""
    return {key: float(row["value"]) for key, row in load_data(name)["constants"].items()}


def data_source(name: str, key: str) -> Source:
    """Source of a constant that stands in `data/<name>.json` under `key`."""
    return Source(
        f"data:speed/{name}.json#{key}", "derived", f"tools/speed/data/{name}.json, {key}"
    )


def given(name: str, value: float | Decimal, unit: str) -> Figure:
    """Figure for a value that the caller handed in."""
    source = Source(f"user:{name}", "user", "given with the question")
    return Figure(name, value, unit, (source,))


def assumed(name: str, value: float, unit: str, why: str) -> Figure:
    """Figure for a value that nobody gave; `why` says where the default comes from."""
    return Figure(name, value, unit, (Source(f"assumed:{name}", "assumed", why),))


def require_positive(
    field: str, value: float | Decimal | None, *, allowed: str = "above 0"
) -> None:
    """Refuses zero and negative numbers; None passes.

    Raises:
        BadQuantityError: If the value is given and not above zero.
    """
    if value is not None and not value > 0:
        raise BadQuantityError(field=field, given=value, allowed=allowed)


def require_all_positive(**values: float | Decimal | None) -> None:
    """`require_positive` for several fields.

    Raises:
        BadQuantityError: For the first that is given and not above zero.
    """
    for field, value in values.items():
        require_positive(field, value)
