"""The sentences of answers: data in `texts/*.toml`, one entry a key, in Chinese and English."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from agent.answer import Language

_FULL_WIDTH = {",": "，", ";": "；", ":": "：", "?": "？", "!": "！"}
_HAN = "\u4e00-\u9fff」』》】）*”"
_AFTER = re.compile(rf"(?<=[{_HAN}}}%])[,;:?!](?!\S*://)(?!//)")
_BEFORE = re.compile(r"(?<=[A-Za-z0-9)])[,;:?!](?=[\u4e00-\u9fff{「《])")
_BETWEEN = re.compile(r"(?<=[A-Za-z0-9%)])([,;])(?=[A-Za-z])|(?<=[A-Za-z%)])([,;])(?=\d)")
_CODE = re.compile(r"(`[^`]*`|\[[^\]]*\]|\S*[=_]\S*)")
"""Parts of a text whose punctuation is not ours: code, ids in brackets, settings."""
_GAP = re.compile(r"(?<=[\u4e00-\u9fff，。；：）]) +(?=[\u4e00-\u9fff（])")
_PARENTHESES = re.compile(r"\(([^()]*[\u4e00-\u9fff{][^()]*)\)")


@cache
def _sentences(family: str) -> Mapping[str, Mapping[Language, str]]:
    text = files("agent.answering").joinpath("texts", f"{family}.toml").read_text("utf-8")
    loaded: dict[str, dict[Language, str]] = tomllib.loads(text)
    return {
        name: {"zh": full_width(entry["zh"]), "en": entry["en"]} for name, entry in loaded.items()
    }


def full_width(text: str) -> str:
    """Chinese text with its punctuation in full width, whichever way it was typed.

    >>> full_width("够,余量 {x}(很小):可以?")
    '够，余量 {x}（很小）：可以？'
    """
    text = _PARENTHESES.sub("（\\1）", text)
    text = _AFTER.sub(lambda found: _FULL_WIDTH[found[0]], text)
    return _BEFORE.sub(lambda found: _FULL_WIDTH[found[0]], text)


def tidy(text: str) -> str:
    """Chinese running text with full-width punctuation and no space between two Han characters.

    >>> tidy("约 27 分钟 存一次,够了"), tidy("约 6 GB,8-bit 约 10 GB"), tidy("设 `a,b` 和 1,024")
    ('约 27 分钟存一次，够了', '约 6 GB，8-bit 约 10 GB', '设 `a,b` 和 1,024')
    """
    parts = _CODE.split(_GAP.sub("", full_width(text)))
    told = (_BETWEEN.sub(lambda found: _FULL_WIDTH[found[0]], part) for part in parts[::2])
    kept = [*parts[1::2], ""]
    return "".join(part + code for part, code in zip(told, kept, strict=True))


_LOWER_START = re.compile(r"\A(\*{0,2})([a-z])(?=[a-z]*[ ,])")


def sentence_case(text: str) -> str:
    """English text that starts with a capital, unless it starts with a name or code.

    >>> sentence_case("about 5 CNY"), sentence_case("nvidia-smi: look"), sentence_case("yolov8x x")
    ('About 5 CNY', 'nvidia-smi: look', 'yolov8x x')
    """
    return _LOWER_START.sub(lambda found: found[1] + found[2].upper(), text)


def phrase(key: str, language: Language, /, **values: object) -> str:
    """The sentence `family.name` in a language, with its places filled.

    Raises:
        KeyError: If the sentence or a value for one of its places is missing.
    """
    family, _, name = key.partition(".")
    return _sentences(family)[name][language].format(**values)


def families() -> tuple[str, ...]:
    """Names of all phrase files, for checks over all of them."""
    folder = files("agent.answering").joinpath("texts")
    return tuple(sorted(f.name.removesuffix(".toml") for f in folder.iterdir()))


def sentences(family: str) -> Mapping[str, Mapping[Language, str]]:
    """All sentences of a family, for checks over all of them."""
    return _sentences(family)
