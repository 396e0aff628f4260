"""Width of a KV cache, named beside it (vocabulary: data/words.yaml, data/cache_width.yaml)."""

from __future__ import annotations

import re
from functools import cache
from itertools import islice

from agent.understanding.data import load
from agent.understanding.lexicon.phrases import Hit, phrase_pattern, table
from agent.understanding.lexicon.text import fold

_MOST = 20


def cache_widths(text: str) -> list[Hit]:
    """Widths that stand beside the words for a cache, in front of it or behind it."""
    found = table("words", "kv_cache_dtype").find(text)
    values = _values()
    for hit in islice(_beside().finditer(text), _MOST):
        width = hit["front"] or hit["behind"]
        if all(hit.end() <= other.start or hit.start() >= other.end for other in found):
            found.append(Hit(values[_bare(width)], hit.start(), hit.end()))
    return sorted(found, key=lambda hit: hit.start)


@cache
def _values() -> dict[str, str]:
    rows = load("cache_width")["widths"]
    return {_bare(width): value for value, widths in rows.items() for width in widths}


def _bare(written: str) -> str:
    """A width without what parts its words: 8-bit and 8 bit are one."""
    return re.sub(r"[ _-]", "", fold(written)[0])


@cache
def _beside() -> re.Pattern[str]:
    rows = load("cache_width")
    widths = _either([width for written in rows["widths"].values() for width in written])
    leading = _either([width for value, written in rows["widths"].items()
                       if value not in rows["behind_only"] for width in written])  # fmt: skip
    caches, before, behind = (_either(rows[name]) for name in ("caches", "before", "behind"))
    width_behind = rf"[ ]?(?:{behind})?[ ]?(?P<behind>{widths})"
    no_width_behind = rf"(?![ ]?(?:{behind})?[ ]?(?:{widths}))"
    return re.compile(
        rf"(?P<front>{leading})[ ]?(?:{before})?[ ]?(?:{caches}){no_width_behind}"
        rf"|(?:{caches}){width_behind}"
    )


def _either(phrases: list[str]) -> str:
    return "|".join(phrase_pattern(p) for p in sorted(phrases, key=len, reverse=True))
