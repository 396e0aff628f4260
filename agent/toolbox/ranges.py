"""Values with intervals, assumptions and figures of `tools.speed` as reports carry them."""

from __future__ import annotations

from typing import Any

from agent.answer import AssumptionOut, FigureOut
from agent.toolbox.base import Row, figure_out


class Range(Row):
    """A value with its interval."""

    value: float
    low: float
    high: float


def range_out(interval: Any) -> Range:
    """An interval of `tools.speed` as a report carries it."""
    return Range(value=interval.value, low=interval.low, high=interval.high)


def assumptions_out(items: Any) -> tuple[AssumptionOut, ...]:
    """Assumptions of `tools` as a report carries them."""
    return tuple(AssumptionOut(name=a.name, value=a.value, unit=a.unit, why=a.why) for a in items)


def figures_out(*groups: Any) -> tuple[FigureOut, ...]:
    """Figures of `tools` as a report carries them."""
    return tuple(figure_out(figure) for group in groups for figure in group)
