"""How written names are folded and looked up: one home for models, cards and what comes next.

Folding never changes the length of the text, so a position found in the folded text is the
position in what the reader wrote. A look-up key has no separators, except between two digits:
`llama3.1:70b` and `Llama-3.1 70B` are one key, `llama 38b` and `Llama-3-8B` are two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2043\ufe58\ufe63"
_SPACES = "\u00a0\u2002\u2003\u2007\u2009\u200a\u202f\u3000\u200b\ufeff"
_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}")
_SEPARATORS = re.compile(r"[\s\-_/\\:|,;]+")
_LOOSE_DASH = re.compile(r"(?<![0-9])-|-(?![0-9])")
_INNER_SEPARATORS = " -_/:"
_MAX_SEPARATORS = 2
_END = ""


def _table() -> dict[int, str]:
    table = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    table.update({ord(dash): "-" for dash in _DASHES})
    table.update({ord(space): " " for space in _SPACES})
    table.update({ord("×"): "x", ord("✕"): "x", ord("【"): "[", ord("】"): "]"})
    table.update({ord("、"): ",", ord("。"): ";", ord("İ"): "i"})
    return table


_FOLD = _table()


def fold(text: str) -> str:
    """Lower case, full-width forms and dashes made ASCII; the same length as `text`.

    >>> fold("Ｑｗｅｎ２.５－７Ｂ，４×A100")
    'qwen2.5-7b,4xa100'
    """
    return (text if text.isascii() else text.translate(_FOLD)).lower()


def brackets(text: str) -> list[str]:
    """What stands in brackets, without the brackets, folded."""
    return [found[1:-1] for found in _BRACKETS.findall(fold(text))]


def dashed(text: str) -> str:
    """Text folded, brackets dropped, every run of separators one dash.

    >>> dashed("Qwen/Qwen2.5-7B-Instruct (AWQ)")
    'qwen-qwen2.5-7b-instruct'
    """
    return _SEPARATORS.sub("-", _BRACKETS.sub(" ", fold(text))).strip("-.")


def squeeze(written: str) -> str:
    """Key of a `dashed` name: the dashes that do not stand between two digits vanish."""
    return _LOOSE_DASH.sub("", written)


def key_of(text: str) -> str:
    """Look-up key of a written name.

    >>> key_of("llama3.1:70b") == key_of("Llama-3.1-70B"), key_of("Llama-3 8B")
    (True, 'llama3-8b')
    """
    return squeeze(dashed(text))


def touches(text: str, at: int) -> bool:
    """Whether the character at `at` would make a name longer: an ASCII letter or digit."""
    return 0 <= at < len(text) and text[at].isascii() and text[at].isalnum()


class KeyHit(NamedTuple):
    """A key found in folded text."""

    key: str
    end: int
    """Position after its last character."""


class KeyTrie:
    """Finds look-up keys in folded text, with or without separators inside them."""

    def __init__(self, keys: Iterable[str], *, fillers: str = "") -> None:
        self._root: dict[str, Any] = {}
        self._skipped = frozenset(_INNER_SEPARATORS + fillers)
        for key in keys:
            node = self._root
            for character in key:
                node = node.setdefault(character, {})
            node[_END] = key
        self.first = frozenset(self._root) - {_END}
        """Characters that a key can begin with."""

    def hits(self, text: str, start: int) -> list[KeyHit]:
        """Keys that begin at `start` and end at a border, longest last."""
        found: list[KeyHit] = []
        node = self._root
        at, length = start, len(text)
        while at < length:
            character = text[at]
            child = node.get(character) if character != "-" else None
            if child is None:
                step = self._over_separators(text, at) if at > start else at
                if step == at or step >= length:
                    break
                if text[at - 1].isdigit() and text[step].isdigit():
                    node = node.get("-", {})
                child = node.get(text[step])
                at = step
                if child is None:
                    break
            node = child
            at += 1
            if _END in node:
                found.append(KeyHit(node[_END], at))
        return found

    def _over_separators(self, text: str, at: int) -> int:
        end = at
        while end < len(text) and end - at < _MAX_SEPARATORS and text[end] in self._skipped:
            end += 1
        return end
