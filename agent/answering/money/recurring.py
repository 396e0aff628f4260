"""Hours that come back every day or week, told as the product that they are."""

from __future__ import annotations

from agent.answering.telling.draft import HEAD, Draft
from tools.units import HOURS_PER_MONTH, format_significant


def say_recurring(draft: Draft) -> bool:
    """So many hours, so many times: what the hours of the span are made of.

    Returns:
        False, with nothing said, where the use does not come back.
    """
    slots = draft.request.slots
    each, times, hours = slots.hours_per_day, slots.days, slots.hours
    if each is None or times is None or hours is None or times <= 1:
        return False
    draft.figure("hours_each_time", each, "h", sources=("user:hours_per_day",))
    draft.figure("times", times, "1", formula=f"times a week * {HOURS_PER_MONTH} h / 168 h")
    draft.say("recurring.hours", each=f"{each:g}", times=format_significant(times, 3),
              hours=f"{hours:g}", importance=HEAD)  # fmt: skip
    return True
