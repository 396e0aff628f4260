"""The bilingual glossary: words of the field that name one concept in either language.

A concept found in a text becomes one more index term, ``c:<concept>``, so that 抢占式 meets
"preemptible" without either word standing in the other text. The table is data/glossary.yaml;
data/other_trades.yaml has the same form and names the trades next door.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import yaml

from knowledge.text import fold
from tools.errors import DataError

_AS_WORD = r"(?<![a-z0-9.-])(?:{})(?![a-z0-9])"
_ASCII = re.compile(r"[\x00-\x7f]+")
_LONG_WORD = re.compile(r"[a-z]{4,}")


class _Form(NamedTuple):
    text: str
    concept: str
    is_ascii: bool
    """Latin forms must stand as words; Chinese ones may stand anywhere."""


class _Glossary(NamedTuple):
    forms: tuple[_Form, ...]
    patterns: tuple[tuple[re.Pattern[str], str], ...]


@cache
def _glossary(name: str) -> _Glossary:
    raw = files("knowledge").joinpath(f"data/{name}.yaml").read_text(encoding="utf-8")
    table: dict[str, list[str]] = yaml.load(raw, Loader=yaml.CBaseLoader)
    found: list[_Form] = []
    patterns = []
    for concept, written in table.items():
        for form in written:
            if form.startswith("/"):
                patterns.append((re.compile(_AS_WORD.format(form.strip("/"))), concept))
                continue
            text = fold(form)
            if len(text) < 2:
                raise DataError(f"data/{name}.yaml: {concept!r} has a form shorter than 2.")
            found.append(_Form(text, concept, _ASCII.fullmatch(text) is not None))
    return _Glossary(tuple(found), tuple(patterns))


def _stands_as_word(form: str, text: str) -> bool:
    start = text.find(form)
    while start >= 0:
        end = start + len(form)
        before = text[start - 1] if start else " "
        after = text[end] if end < len(text) else " "
        plural = after == "s" and not text[end + 1 : end + 2].isalnum()
        is_free = not (before.isascii() and before.isalnum())
        if is_free and (plural or not (after.isascii() and after.isalnum())):
            return True
        start = text.find(form, start + 1)
    return False


def concepts(text: str) -> frozenset[str]:
    """Concepts of the field that a text names, in whichever language.

    >>> sorted(concepts("spot 被回收了怎么办"))
    ['reclaim', 'spot']
    """
    return _named_in(fold(text), _glossary("glossary"))


def other_trades(text: str) -> frozenset[str]:
    """Trades next door that a text names: games, mining, mending a PC, hosting a site.

    >>> sorted(other_trades("显卡花屏还能打游戏吗"))
    ['games', 'mending']
    """
    return _named_in(fold(text), _glossary("other_trades"))


@cache
def field_words() -> frozenset[str]:
    """Latin words of the glossary, four letters or more: what a misspelt word may have meant."""
    forms = _glossary("glossary").forms
    return frozenset(
        word for f in forms if f.is_ascii for word in f.text.split() if _LONG_WORD.fullmatch(word)
    )


def _named_in(folded: str, glossary: _Glossary) -> frozenset[str]:
    found = {
        f.concept
        for f in glossary.forms
        if f.text in folded and (not f.is_ascii or _stands_as_word(f.text, folded))
    }
    found.update(c for pattern, c in glossary.patterns if pattern.search(folded))
    return frozenset(found)


def names(form: str, folded: str) -> bool:
    """Whether a folded text holds a form: as a word if it is Latin, anywhere if it is Chinese."""
    if _ASCII.fullmatch(form):
        return _stands_as_word(form, folded)
    return form in folded
