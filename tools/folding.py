"""One way to fold written text before names are looked up, character for character.

Folding never changes the length of the text, so a position found in the folded text is the
position in what the reader wrote.
"""

from __future__ import annotations

_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2043\ufe58\ufe63"
_SPACES = "\u00a0\u2002\u2003\u2007\u2009\u200a\u202f\u3000\u200b\ufeff"


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
