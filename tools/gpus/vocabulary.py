"""The words around card names, from data/names.json."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """data/names.json; what each list means stands in data/README.md."""

    ignored: frozenset[str]
    laptop: frozenset[str]
    forms: frozenset[str]
    common_cards: dict[str, str]
    also: dict[str, list[str]]
    ask: dict[str, list[str]]
    extra_keys: dict[str, str]
    apple_silicon: frozenset[str]
    mig_hosts: dict[str, list[str]]
    count_words: dict[str, int]
    before_count: frozenset[str]
    not_a_card_before: tuple[str, ...]
    not_a_card_after: tuple[str, ...]
    place_before: frozenset[str]
    place_after: tuple[str, ...]
    not_memory_of_the_card: tuple[str, ...]


@cache
def vocabulary() -> Vocabulary:
    """Read once."""
    text = (resources.files("tools.gpus") / "data/names.json").read_text(encoding="utf-8")
    raw = json.loads(text)
    for field in ("ignored", "laptop", "forms", "apple_silicon", "before_count", "place_before"):
        raw[field] = frozenset(raw[field])
    for field in ("not_a_card_before", "not_a_card_after", "place_after", "not_memory_of_the_card"):
        raw[field] = tuple(raw[field])
    return Vocabulary(**raw)
