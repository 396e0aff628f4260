"""Reading free text in Chinese and English: folding, language, index terms."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from knowledge.types import Language

_HAN = r"\u3400-\u4dbf\u4e00-\u9fff"
_HAN_CHAR = re.compile(f"[{_HAN}]")
_HAN_RUN = re.compile(f"[{_HAN}]+")
_WORD = re.compile(r"[a-z0-9]+(?:[._+\-][a-z0-9]+)*")
_PART = re.compile(r"[a-z]+|[0-9]+")
_DASHES = dict.fromkeys(map(ord, "‐‑‒–—−"), "-")
_STOP = frozenset(
    """
    a an and are as at be been but by can could do does did for from had has have how i if
    in into is it its just me my no not of on or our so some than that the their them then
    there these they this to too up us was we well were what when where which while who
    why will with would you your am any also about get got im ive dont doesnt isnt should
    ok right need needs want use using really very much many
    """.split()
)
_SUFFIXES = ("ations", "ation", "ings", "ing", "ies", "ers", "er", "ed", "es", "s")


def fold(text: str) -> str:
    """Text in one width, one case, one kind of dash and single spaces.

    >>> fold("ＧＮ７i‑Ｃ８ ")
    'gn7i-c8'
    """
    wide = unicodedata.normalize("NFKC", text).translate(_DASHES).lower()
    return " ".join(wide.split())


def language_of(text: str) -> Language:
    """The language a reader wrote in: zh as soon as a fifth of the letters is Chinese.

    >>> language_of("gn7i 有 NVLink 吗"), language_of("is gn7i fast")
    ('zh', 'en')
    """
    han = len(_HAN_CHAR.findall(text))
    latin_words = len(re.findall(r"[A-Za-z]+", text))
    return "zh" if han and han >= 0.25 * (han + latin_words) else "en"


def weight(text: str) -> int:
    """Length in Latin characters, a Chinese one counting for three, as it carries about as much.

    >>> weight("显存 GB")
    9
    """
    return len(text) + 2 * len(_HAN_CHAR.findall(text))


def stem(word: str) -> str:
    """An English word without its commonest endings; both sides of a match lose the same.

    >>> stem("instances"), stem("training"), stem("bus")
    ('instanc', 'train', 'bus')
    """
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 4:
            word = word[: -len(suffix)]
            break
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


def terms(text: str) -> Iterator[str]:
    """Index terms of a text: stemmed words, names with their parts, Chinese character pairs.

    >>> list(terms("抢占式 instances"))
    ['instanc', '抢占', '占式']
    """
    folded = fold(text)
    for match in _WORD.finditer(folded):
        word = match.group()
        if word in _STOP:
            continue
        if word.isalpha():
            yield stem(word)
            continue
        yield word
        parts = re.split(r"[._+\-]", word)
        if len(parts) > 1:
            yield from (stem(p) if p.isalpha() else p for p in parts if p and p not in _STOP)
    for run in _HAN_RUN.findall(folded):
        if len(run) == 1:
            yield run
        yield from (run[i : i + 2] for i in range(len(run) - 1))
