"""When is something said in a text: numbers as numbers, short words as words, the rest as text.

The traps this minds: 25 is not 5, A10 is not in A100, 7 is not in gn7i, 2,048 is 2048,
and "no NVLink" is not a claim of NVLink.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

_DASHES = re.compile("[\u2010-\u2015\u2212]")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_TIMES = re.compile(r"(?<=\d)[x\u00d7*](?=\d)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SHORT_WORD = re.compile(r"[a-z0-9]{1,3}")
# A number of the text: no letter, digit or dot before it, and not the head of 8xlarge.
_FREE_NUMBER = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)(?!\d|\.\d|xlarge|x\.|[a-z]\d)")
_CLAUSE = re.compile(r"[。！？；，!?;\n]|\.\s|(?<=[a-z\)])\.$|,\s")
_NEGATION = re.compile(
    r"\b(?:no|not|never|without|cannot|can't|won't|isn't|aren't|doesn't|don't|neither|nor|false"
    r"|wrong|unlike|lacks?|instead of|rather than)\b"
    r"|不|没|无|非|未|错"
)


@functools.lru_cache(maxsize=4096)
def fold(text: str) -> str:
    """Text with case, dash kinds, thousands commas and the sign of multiplication made alike.

    >>> fold("2\u00d724GB \u2014 24,576")
    '2 x 24gb - 24576'
    """
    folded = _DASHES.sub("-", text.casefold())
    return _THOUSANDS.sub("", _TIMES.sub(" x ", folded))


def says(text: str, phrase: str) -> bool:
    """True when `phrase` is said in `text`.

    A number is said by any number of the text that rounds to it at its own precision; an ASCII
    word of up to three characters must stand as a word; anything else is looked for as it is.

    >>> says("needs 24.96 GiB", "25"), says("c8g1.2xlarge", "2"), says("an A100", "A10")
    (True, False, False)
    """
    where, what = fold(text), fold(phrase)
    if _NUMBER.fullmatch(what):
        return _says_number(where, what)
    if _SHORT_WORD.fullmatch(what):
        after = "[a-z0-9]" if what[-1].isdigit() else "[a-z]"
        return re.search(rf"(?<![a-z0-9]){re.escape(what)}(?!{after})", where) is not None
    return what in where


def _says_number(text: str, wanted: str) -> bool:
    tolerance = 0.5 * 10.0 ** -len(wanted.partition(".")[2]) - 1e-9
    for found in _FREE_NUMBER.findall(text):
        if found == wanted:
            return True
        if "." in found and abs(float(found) - float(wanted)) < tolerance:
            return True
    return False


def says_any(text: str, phrases: Iterable[str]) -> bool:
    """True when at least one of the alternatives is said."""
    return any(says(text, phrase) for phrase in phrases)


def claims(text: str, statement: str) -> bool:
    """True when `statement` stands in `text` in a clause that does not negate it.

    Only a first sieve: statements reworded are for a reader to judge.

    >>> claims("The A10 has no NVLink.", "NVLink"), claims("The A100 has NVLink.", "NVLink")
    (False, True)
    """
    wanted = fold(statement)
    if not wanted:
        return False
    statement_negates = _NEGATION.search(wanted) is not None
    for clause in _CLAUSE.split(fold(text)):
        if clause and wanted in clause:
            rest = clause.replace(wanted, " ")
            if statement_negates or _NEGATION.search(rest) is None:
                return True
    return False
