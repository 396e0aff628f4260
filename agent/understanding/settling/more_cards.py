"""Cards on top of those there are: "再插一张", "add a second 3090", "加一张 tp=2 呢"."""

from __future__ import annotations

import re
from typing import Any

from agent.understanding.lexicon.readings import Board
from agent.understanding.settling.resolution import Resolution

_WORDS = {"一": 1, "1": 1, "两": 2, "二": 2, "2": 2, "三": 3, "3": 3, "四": 4, "4": 4}
_MORE = re.compile(
    r"(?:再(?:加|插|买|来|配|上|添|补|租|弄|搞|塞|凑)|(?:加|添|补|多)(?:上|买|配|插|加|租)?)"
    r"(?P<zh>[一两二三四1-4])\s?(?:张|块)(?![一-鿿]{0,2}[图表纸片])"
    r"|(?:(?:add(?:ing)?|buy(?:ing)?|get(?:ting)?|plug(?:ging)? in|install(?:ing)?|throw in"
    r"|put(?:ting)? in|stick in|slot in|pop in|with|rent(?:ing)?)\s(?:in\s)?"
    r"(?:(?P<one>another|one more|a second|a 2nd|an extra|an additional)|(?P<two>two more))"
    r"|(?<![a-z])(?P<second>a second|a 2nd|another|one more)"
    r"(?=\s(?:identical\s|such\s|of (?:these|those|the same)|card|gpu)))"
    r"(?!\s(?:machine|node|server|box|instance|epoch|lora|adapter|model|question|user|request|layer))"
)


def cards_added(text: str) -> tuple[int, int, int] | None:
    """How many cards are to come on top, and where that is said.

    >>> cards_added("再插一张3090 加 --tp 2 行吗")
    (1, 0, 4)
    >>> cards_added("would adding it help") is None
    True
    """
    found = _MORE.search(text)
    if found is None:
        return None
    count = _WORDS[found["zh"]] if found["zh"] else 2 if found["two"] else 1
    return count, found.start(), found.end()


def settle_added(text: str, board: Board, out: Resolution) -> None:
    """Count the cards that there are and those that are to come; tensor parallelism needs its own.

    Args:
        text: Folded.
        board: Readings.
        out: With its cards settled.
    """
    added = cards_added(text)
    if added is not None and out.get("gpu") not in (None, "none"):
        more, start, end = added
        there = [c.count for c in out.cards if c.count and not start <= c.start < end]
        there += [
            int(r.value)
            for slot in ("gpu_count_pasted", "loose_count")
            for r in board.of(slot)
            if r.end <= start or r.start >= end
        ]
        board.add("cards_added", more, start, end)
        out.put("gpu_count", (there[0] if there else 1) + more, board.best("cards_added"))
        out.inferred.discard("gpu_count")
    _widen(out)


def carry_added(
    text: str, board: Board, out: Resolution, said: set[str], old: dict[str, Any]
) -> None:
    """The same for a follow-up: on top of the cards of the turn before."""
    added = cards_added(text)
    if added is not None and old.get("gpu") is not None and out.get("gpu") == old["gpu"]:
        board.add("cards_added", *added)
        out.put("gpu_count", (old.get("gpu_count") or 1) + added[0], board.best("cards_added"))
        out.inferred.discard("gpu_count")
        said.add("gpu_count")
    if "tp" in said and "gpu_count" not in said:
        _widen(out, whatever=True)


def _widen(out: Resolution, *, whatever: bool = False) -> None:
    """A run split over more cards than were counted by default runs on that many."""
    tp, count = out.get("tp") or 0, out.get("gpu_count")
    is_free = whatever or "gpu_count" in out.inferred
    if count is not None and is_free and tp > count and out.get("gpu") not in (None, "none"):
        out.put("gpu_count", tp)
