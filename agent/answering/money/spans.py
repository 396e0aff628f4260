"""For how long something is rented: hours that were said, or a week or month around the clock."""

from __future__ import annotations

from typing import Literal, NamedTuple

from agent.request import Request
from tools.units import HOURS_PER_MONTH

_HOURS_OF_WEEK = 168.0
_DAY = 24.0
"""Hours of "24 hours a day"."""
_DAYS_OF_MONTH = 720.0
"""Hours that "24/7 for a month" is read as."""


class Span(NamedTuple):
    """Hours of use, and what they are told as."""

    hours: float
    key: Literal["hours", "week", "month"]

    @property
    def source(self) -> str:
        """Where the hours are from."""
        return "user:hours" if self.key == "hours" else f"rule:hours-of-a-{self.key}"


def span_of(request: Request) -> Span | None:
    """The span that a price is multiplied with; None where none was said."""
    hours = request.slots.hours
    if hours in (None, _DAY, _DAYS_OF_MONTH):
        if request.says("money.whole_week"):
            return Span(_HOURS_OF_WEEK, "week")
        if request.says("money.whole_month"):
            return a_month()
    return None if hours is None else Span(hours, "hours")


def a_month() -> Span:
    """The span that is told where none was said."""
    return Span(float(HOURS_PER_MONTH), "month")
