"""Hours that are of cards, not of the clock: "340 H100 gpu-hours", "300 个 4090 卡时"."""

from __future__ import annotations

import re

from agent.understanding.lexicon.numerals import parse_number
from agent.understanding.lexicon.readings import Board
from agent.understanding.settling.resolution import Resolution

_HOURS = re.compile(
    r"(?<![a-z0-9.,])(?P<n>\d{1,7}(?:[.,]\d{1,6})*k?)(?:\s?[个张]\s?|\s)"
    r"(?P<card>(?:rtx\s)?[a-z]{0,5}\d{2,4}[a-z]{0,3})\s?(?:\d{2,3}gb?\s)?"
    r"(?:(?:gpu|card)[- ]?(?:hours?|hrs?|h)|hours?|hrs?|卡时|卡?小时)(?![a-z])"
)
_PLAIN = re.compile(
    r"(?<![a-z0-9.,])(?P<n>\d{1,7}(?:[.,]\d{1,6})*k?)\s?个?"
    r"(?:卡时|(?:gpu|卡)\s?小时|(?:gpu|card)[- ]?(?:hours?|hrs?|h))(?![a-z])"
)


def settle_card_hours(text: str, board: Board, out: Resolution) -> None:
    """The number in front of a card with hours behind it counts hours of cards, not cards.

    Args:
        text: Folded.
        board: Readings, cards among them.
        out: With its cards settled.
    """
    found = _of_a_card(text, board) or _PLAIN.search(text)
    hours = parse_number(found["n"]) if found is not None else None
    if found is None or hours is None or hours <= 0:
        if out.get("hours") is not None:
            out.put("card_hours", False)
        return
    board.add("hours", hours, found.start(), found.end())
    out.put("hours", hours, board.of("hours")[-1])
    out.put("card_hours", True, board.of("hours")[-1])
    if out.get("gpu_count") in (hours, 1):
        for held in (out.values, out.readings):
            held.pop("gpu_count", None)
        out.inferred.discard("gpu_count")


def _of_a_card(text: str, board: Board) -> re.Match[str] | None:
    """The words with the name of a card in them."""
    found = _HOURS.search(text)
    if found is None:
        return None
    start, end = found.span("card")
    is_card = any(reading.start < end and start < reading.end for reading in board.of("card"))
    return found if is_card else None
