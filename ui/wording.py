"""The page's own words, zh and en, from data/strings.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal, cast

from tools.units import format_significant

Language = Literal["zh", "en"]


@cache
def strings() -> Mapping[str, Mapping[str, str]]:
    """Every string by key, then language."""
    return cast("Mapping[str, Mapping[str, str]]", read_data("strings.json"))


@cache
def examples() -> tuple[Mapping[str, str], ...]:
    """Example questions: intent, en, zh; one for each intent that can be asked for."""
    return tuple(cast("list[Mapping[str, str]]", read_data("examples.json")))


def read_data(name: str) -> object:
    """Parsed JSON of ui/data/`name`."""
    return json.loads(files("ui").joinpath("data", name).read_text(encoding="utf-8"))


def say(key: str, language: Language, **values: Any) -> str:
    """The string `key` in the language, with its places filled.

    Raises:
        KeyError: If the key is not in data/strings.json.

    >>> say("usable", "en", size="21.9")
    'usable 21.9 GiB'
    """
    return strings()[key][language].format(**values)


def say_or(key: str, language: Language, default: str) -> str:
    """The string `key`, or the default where the page has no word for it."""
    entry = strings().get(key)
    return default if entry is None else entry[language]


def language_of(tag: str | None) -> Language:
    """The page language for a browser's language tag or Accept-Language header.

    >>> language_of("zh-TW,zh;q=0.9"), language_of("de"), language_of(None)
    ('zh', 'en', 'en')
    """
    return "zh" if (tag or "").strip().lower().startswith("zh") else "en"


@cache
def provider_labels(language: Language) -> dict[str, str]:
    """Provider ids as a reader knows them."""
    from tools.catalog import all_providers

    return {r.provider: r.name_zh if language == "zh" else r.name_en for r in all_providers()}


def cards_shown(count: float) -> str:
    """A number of cards; a share of one as a fraction, as it is sold.

    >>> cards_shown(8), cards_shown(0.08333), cards_shown(1 / 6), cards_shown(0.3)
    ('8', '1/12', '1/6', '0.3')
    """
    parts = round(1 / count) if 0 < count < 1 else 1
    is_share = parts > 1 and abs(count * parts - 1) < 0.01
    return f"1/{parts}" if is_share else format_significant(count)
