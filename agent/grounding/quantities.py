"""Numbers with a unit in running text, each in its dimension's base unit.

Spellings of units are data (data/units.toml). A number inside a name (V100, 8xlarge, c8g1) is
not a quantity; callers blank out names of cards and instances first.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_SCALE = {
    "千": 1e3, "万": 1e4, "百万": 1e6, "千万": 1e7, "亿": 1e8, "k": 1e3, "K": 1e3, "M": 1e6,
    "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12,
}  # fmt: skip
_WORDS = {
    "一": 1, "两": 2, "二": 2, "双": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8,
    "九": 9, "十": 10, "十六": 16, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6,
    "seven": 7, "eight": 8, "nine": 9, "ten": 10, "sixteen": 16,
}  # fmt: skip
_NEVER_WRITTEN = {"B"}
"""A unit of figures only: in a text "7B" is a model's size."""
_APPROXIMATE = re.compile(
    r"(?:约|大约|大概|左右|近|接近|about|around|roughly|approx\.?|nearly|~|≈)\s*$"
)
_DATE = re.compile(
    r"(?<!\d)(\d{4})\s*(?:-|/|年)\s*(\d{1,2})(?:\s*(?:-|/|月)\s*(\d{1,2})日?)?(?!\d)"
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit, as read."""

    dimension: str
    value: float
    """In the dimension's base unit."""
    half_step: float
    """Half of the last digit written, in the base unit: what rounding may have hidden."""
    is_approximate: bool
    start: int
    end: int
    text: str
    number: str = ""
    """Digits as written, without separators."""
    unit: str = ""
    """Unit as written."""


@cache
def _units() -> tuple[dict[str, tuple[str, float]], re.Pattern[str], re.Pattern[str]]:
    raw = tomllib.loads(files("agent.grounding").joinpath("data/units.toml").read_text("utf-8"))
    known = {
        spelling: (dimension, float(factor))
        for dimension, spellings in raw.items()
        for spelling, factor in spellings.items()
    }
    longest = sorted(known.keys() - _NEVER_WRITTEN, key=len, reverse=True)
    unit = "|".join(re.escape(s) + (r"(?![A-Za-z])" if s[-1].isalpha() and s.isascii() else "")
                    for s in longest)  # fmt: skip
    scale = "|".join(sorted(_SCALE, key=len, reverse=True))
    head = r"(?P<sign>US\$|[$€\u00a5\uffe5])\s?"
    span = rf"\s?(?:{scale})?\s?(?:-|–|—|~|至|到|to)\s?(?P<high>{_NUMBER})"
    numbers = rf"(?P<low>{_NUMBER})(?:{span})?"
    tail = rf"\s?(?:(?P<scale>{scale})(?![A-Za-z]))?[\s-]?(?P<unit>{unit})"
    after = re.compile(rf"(?<![A-Za-z0-9._/-])(?<!\d,)(?:{numbers}){tail}")
    before = re.compile(rf"(?<![A-Za-z0-9]){head}{numbers}\s?(?:(?P<scale>{scale})(?![A-Za-z]))?")
    return known, after, before


def quantities(text: str) -> Iterator[Quantity]:
    """Every number with a unit in `text`; both ends of a range."""
    known, after, before = _units()
    for found in after.finditer(text):
        dimension, factor = known[found["unit"]]
        yield from _ends(text, found, dimension, factor)
    for found in before.finditer(text):
        dimension, factor = known[found["sign"]]
        yield from _ends(text, found, dimension, factor)
    yield from _counted_in_words(text)


def _ends(text: str, found: re.Match[str], dimension: str, factor: float) -> Iterator[Quantity]:
    scale = _SCALE.get(found["scale"] or "", 1.0)
    approximate = _APPROXIMATE.search(text[: found.start()]) is not None
    for written in (found["low"], found["high"]):
        if written is None:
            continue
        digits = written.replace(",", "")
        decimals = len(digits.partition(".")[2])
        yield Quantity(
            dimension=dimension,
            value=float(digits) * scale * factor,
            half_step=0.5 * 10.0**-decimals * scale * factor,
            is_approximate=approximate,
            start=found.start(),
            end=found.end(),
            text=found[0],
            number=digits,
            unit=found.groupdict().get("unit") or "",
        )


_COUNTED = re.compile(
    r"(?P<word>十六|[一两二双三四五六七八九十])(?P<what>张|块卡|卡|台)"
    r"|\b(?P<eword>one|two|three|four|five|six|seven|eight|nine|ten|sixteen)\s"
    r"(?P<ewhat>cards?|GPUs?|nodes?|machines?)\b",
    re.IGNORECASE,
)


def _counted_in_words(text: str) -> Iterator[Quantity]:
    for found in _COUNTED.finditer(text):
        value = _WORDS[(found["word"] or found["eword"]).lower()]
        what = (found["what"] or found["ewhat"]).lower()
        dimension = "nodes" if what.startswith(("台", "node", "machine")) else "cards"
        yield Quantity(dimension, value, 0.0, False, found.start(), found.end(), found[0])


def dates(text: str) -> Iterator[tuple[str, str]]:
    """(ISO date or year-month, as written) of each date in `text`."""
    for found in _DATE.finditer(text):
        year, month, day = found.groups()
        if not 1 <= int(month) <= 12:
            continue
        iso = f"{year}-{int(month):02d}" + (f"-{int(day):02d}" if day else "")
        yield iso, found[0]


def unit_of(spelling: str) -> tuple[str, float] | None:
    """Dimension and factor of a unit, or None when it is not known.

    >>> unit_of("GiB"), unit_of("parsec")
    (('bytes', 1073741824.0), None)
    """
    return _units()[0].get(spelling)
