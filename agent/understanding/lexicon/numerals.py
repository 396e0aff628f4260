"""Numbers as people write them: ``120_000``, ``1,000``, ``8k``, ``3万``, ``七十亿``, ``half``."""

from __future__ import annotations

import re
from functools import cache

from agent.understanding.data import load

DIGITS = r"(?:\d{1,3}(?:[,_]\d{3}){1,5}(?!\d)|\d{1,15})(?:\.\d{1,9})?(?:e\+?\d{1,3}(?![a-z0-9.]))?"
"""A number in digits; groups of three may be parted by commas or underscores, and a power of ten
may stand behind it (1e6). Bounded, so that a wall of digits costs no more than its length."""
_GREATEST = 1e18
"""What no written number is read above: all of them can be multiplied on."""
HAN = "[零〇一二两俩三四五六七八九十百千半]"
_LONGEST = 24
"""Characters of the longest number that can be meant."""
_HAN_DIGIT = {char: value for value, char in enumerate("零一二三四五六七八九")}
_HAN_DIGIT |= {"〇": 0, "两": 2, "俩": 2}
_HAN_UNIT = {"十": 10, "百": 100, "千": 1000}
_SCALE = {
    "k": 1e3, "w": 1e4, "m": 1e6, "b": 1e9, "g": 1e9,
    "thousand": 1e3, "million": 1e6, "billion": 1e9,
    "千": 1e3, "万": 1e4, "百万": 1e6, "千万": 1e7, "亿": 1e8, "十亿": 1e9,
}  # fmt: skip
_WRITTEN = re.compile(
    rf"(-?{DIGITS}|{HAN}{{1,9}}|[a-z]+)\s*(thousand|million|billion|千万|百万|十亿|[kwmbg千万亿])?(?:亿)?",
    re.IGNORECASE,
)


@cache
def english_words() -> dict[str, float]:
    """English number words and their values."""
    return {str(word): float(value) for word, value in load("numerals")["english"].items()}


def number_pattern(*, words: bool = False, scale: bool = True) -> str:
    """Regular expression (no groups) of a written number.

    Args:
        words: Also English number words.
        scale: Also a multiplier behind it: k, w, m, 万, 亿 ...
    """
    choices = [DIGITS, f"{HAN}{{1,9}}"]
    if words:
        words_only = "|".join(sorted(english_words(), key=len, reverse=True))
        choices.append(rf"(?:{words_only})(?:[ \-](?:hundred|thousand|million))?(?![a-z])")
    tail = (
        r"(?:\s?(?:千万|百万|[万亿千])|[kwm](?![a-z0-9])|\s?(?:thousand|million|billion)(?![a-z]))?"
        if scale
        else ""
    )
    return f"(?:{'|'.join(choices)}){tail}"


def parse_number(written: str, *, kibi: bool = False) -> float | None:
    """Value of a written number, or None where it is none.

    Args:
        written: Digits, Chinese numerals or an English number word, with a multiplier or not.
        kibi: A small number with k is read in steps of 1024 (8k tokens are 8192) unless it is a
            round hundred or so (120k and 100k stay decimal).

    >>> parse_number("七十亿"), parse_number("120_000"), parse_number("1.5万"), parse_number("半")
    (7000000000.0, 120000.0, 15000.0, 0.5)
    >>> parse_number("1e6"), parse_number("2.5e3")
    (1000000.0, 2500.0)
    >>> parse_number("8k", kibi=True), parse_number("120k", kibi=True), parse_number("8k")
    (8192.0, 120000.0, 8000.0)
    """
    found = _WRITTEN.fullmatch(written.strip())
    if found is None or len(written) > _LONGEST:
        return _two_words(written)
    head, scale = found[1], (found[2] or "").lower()
    value = _head_value(head)
    if value is None:
        return None
    if not scale:
        return value
    if kibi and scale == "k":
        return value * 1024 if _is_binary(value) else value * 1000
    return round(value * _SCALE[scale], 6)


_ENGLISH_SCALE = {"hundred": 1e2, "thousand": 1e3, "million": 1e6}


def _two_words(written: str) -> float | None:
    """Value of "sixteen thousand" or "two hundred", or None."""
    head, _, scale = written.strip().lower().replace("-", " ").partition(" ")
    count, factor = english_words().get(head), _ENGLISH_SCALE.get(scale)
    return count * factor if count is not None and factor is not None else None


def _head_value(head: str) -> float | None:
    if head[0].isdigit() or head[0] == "-":
        return min(float(head.replace(",", "").replace("_", "")), _GREATEST)
    if head[0].isascii():
        return english_words().get(head.lower())
    return _han_value(head)


def _is_binary(thousands: float) -> bool:
    """Whether so many k are meant in steps of 1024: powers of two and their simple multiples."""
    if thousands != int(thousands):
        return thousands in (0.5, 1.5, 2.5)
    whole = int(thousands)
    return whole > 0 and (whole & (whole - 1) == 0 or whole in (3, 6, 12, 24, 48, 96))


def _is_either(written: str) -> bool:
    """Whether two digits side by side are two guesses (两三个) and no number of two digits."""
    digits = [_HAN_DIGIT.get(char) for char in written]
    if len(digits) != 2 or digits[0] is None or digits[1] is None:
        return False
    return digits[0] > 0 and digits[1] - digits[0] in (1, 2)


def _han_value(written: str) -> float | None:
    """Value of Chinese numerals below 亿: 七十, 两百五十, 十, 半, 二零四八."""
    if written == "半":
        return 0.5
    if "半" in written:
        return None
    if _is_either(written):  # 两三, 三五, 七八: the larger
        return float(_HAN_DIGIT[written[1]])
    if not any(char in _HAN_UNIT for char in written):
        return float("".join(str(_HAN_DIGIT[char]) for char in written[:12]))
    total, digit = 0, None
    for char in written[:20]:
        if char in _HAN_UNIT:
            total += (1 if digit is None else digit) * _HAN_UNIT[char]
            digit = None
        else:
            digit = _HAN_DIGIT[char]
    return float(total + (digit or 0))
