"""Models named in free text, zh and en: ids, ollama tags, paths, nicknames.

Every position where a name can begin is walked through one trie of all keys, so the cost is
linear in the text. A name counts only between borders: no letter or digit may touch it, and a
Chinese character is a border. A bare size ("7B") is no model.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from tools.folding import KeyHit, KeyTrie, dashed, fold, touches
from tools.models.names import (
    PRECISIONS,
    family_index,
    name_index,
    split_weight_format,
    vocabulary,
)
from tools.models.registry import get_model
from tools.models.spec import ModelMatch, ModelMention, ModelSpec

_START = re.compile(r"(?<![a-z0-9])[a-z0-9]|[\u4e00-\u9fff]")
_FILLERS = "的"
_SHORT_KEY = 3
_SIZE_NEXT = re.compile(r"[ \-_:的]{0,2}(\d{1,4}(?:\.\d+)?) ?([bm])(?![a-z0-9])")
_VERSION_NEXT = re.compile(r"[-_](v\d+(?:\.\d+)*|\d{4}|latest)(?![a-z0-9.])|:(latest)(?![a-z0-9])")
_WORD_NEXT = re.compile(r"[-_:](?P<joined>[a-z0-9]+(?:[_-][a-z0-9]+)*)| (?P<spaced>[a-z0-9_-]+)")
_SIZE_IN_FRONT = re.compile(r"(?<![a-z0-9.])(\d{1,4}(?:\.\d+)?) ?b(?:参数)?(?:[ -]|的){0,2}$")
_ANY_SIZE = re.compile(r"\d ?b")
_NEAR = 0.15
"""Nominal sizes this near to a row's parameters agree with it (a share)."""


class FamilyMention(NamedTuple):
    """A family named without a size in free text."""

    key: str
    candidates: tuple[str, ...]
    start: int
    end: int
    text: str


@cache
def _trie() -> KeyTrie:
    return KeyTrie(name_index().exact, fillers=_FILLERS)


@cache
def _family_trie() -> KeyTrie:
    quiet = frozenset(vocabulary().scan["quiet_families"])
    return KeyTrie((key for key in family_index() if key not in quiet), fillers=_FILLERS)


def scan_models(text: str) -> list[ModelMention]:
    """Every registry model named in free text, in order.

    A weight format behind the name fills `match.quantization`; a version without a row of its
    own falls back and is said in the notes.
    """
    folded = fold(text)
    mentions: list[ModelMention] = []
    first = _trie().first
    floor = 0
    for found in _START.finditer(folded):
        start = found.start()
        if start < floor or folded[start] not in first:
            continue
        hit = _best_hit(folded, start)
        if hit is None:
            continue
        match, end = _read_tail(folded, start, hit)
        if _is_contradicted(folded, match.spec, hit.end, end):
            continue
        mentions.append(ModelMention(match, start, end, text[start:end]))
        floor = end
    mentions.extend(_size_first(text, folded, mentions))
    return sorted(mentions, key=lambda mention: mention.start)


def _size_first(text: str, folded: str, mentions: list[ModelMention]) -> list[ModelMention]:
    """Models named with the size in front of the family (`0.6B的qwen3`, `8B Llama 3.1`)."""
    found: list[ModelMention] = []
    if _ANY_SIZE.search(folded) is None:
        return found
    for family, hit_start, hit_end in _family_hits(folded, mentions):
        low = max(0, hit_start - 16)
        front = (
            _SIZE_IN_FRONT.search(folded, low, hit_start) if "b" in folded[low:hit_start] else None
        )
        if front is None:
            continue
        joint = "-" if family[-1].isdigit() else ""
        rows = name_index().exact.get(f"{family}{joint}{front[1]}b", ())
        if len(rows) == 1:
            start = front.start()
            found.append(ModelMention(ModelMatch(rows[0]), start, hit_end, text[start:hit_end]))
    return found


def _family_hits(folded: str, mentions: list[ModelMention]) -> list[tuple[str, int, int]]:
    """Family keys outside the models already found, with their positions."""
    trie = _family_trie()
    hits: list[tuple[str, int, int]] = []
    spans = iter([(mention.start, mention.end) for mention in mentions])
    low, high = next(spans, (len(folded), len(folded)))
    floor = 0
    for found in _START.finditer(folded):
        start = found.start()
        while start >= high:
            low, high = next(spans, (len(folded), len(folded) + 1))
        if start < floor or start >= low or folded[start] not in trie.first:
            continue
        borders = [hit for hit in trie.hits(folded, start) if _is_border(folded, hit.end)]
        if borders:
            hits.append((borders[-1].key, start, borders[-1].end))
            floor = borders[-1].end
    return hits


def scan_families(text: str) -> list[FamilyMention]:
    """Families named without a size ("千问", "llama"), where no model is named."""
    mentions = scan_models(text)
    return [
        FamilyMention(key, family_index()[key], start, end, text[start:end])
        for key, start, end in _family_hits(fold(text), mentions)
    ]


def _is_border(text: str, end: int) -> bool:
    """Whether a name may end here: `qwen2.5` does not end inside `qwen2.57`, nor `t5` in `t5.1`."""
    if touches(text, end):
        return False
    return not (text[end : end + 1] == "." and end + 1 < len(text) and text[end + 1].isdigit())


def _best_hit(text: str, start: int) -> KeyHit | None:
    for hit in reversed(_trie().hits(text, start)):
        if _is_border(text, hit.end) and _is_in_place(text, start, hit):
            return hit
    return None


def _is_in_place(text: str, start: int, hit: KeyHit) -> bool:
    rules = vocabulary().scan
    written = text[start : hit.end]
    if hit.key in rules["needs_separator"] and written == hit.key:
        return False
    after = text[hit.end : hit.end + 12].lstrip()
    if after.startswith(tuple(rules["not_before"].get(hit.key, ("\0",)))):
        return False
    joined = start > 0 and text[start - 1] in "-_." and touches(text, start - 2)
    return not (len(hit.key) <= _SHORT_KEY and joined)


def _read_tail(text: str, start: int, hit: KeyHit) -> tuple[ModelMatch, int]:
    """Role words, a version and a weight format behind a name."""
    spec, notes = _row_of(text, hit)
    _, quantization = split_weight_format(dashed(text[start : hit.end]))
    quantization = None if quantization in PRECISIONS else quantization
    end = hit.end
    while True:
        version = _VERSION_NEXT.match(text, end)
        if version is not None:
            word = version[1] or version[2]
            if word != "latest":
                notes = (*notes, f"{word} has no row of its own: figures of {spec.name}")
            end = version.end()
            continue
        step = _WORD_NEXT.match(text, end)
        if step is None:
            return ModelMatch(spec, quantization, notes), end
        taken, weight_format = _words_taken(step)
        if taken == 0:
            return ModelMatch(spec, quantization, notes), end
        quantization = weight_format or quantization
        end += taken


def _words_taken(step: re.Match[str]) -> tuple[int, str | None]:
    """How many characters of what follows belong to the name, and the format they carry."""
    word = step["joined"] or step["spaced"]
    pieces = re.split(r"[-_]", word)
    for count in range(len(pieces), 0, -1):
        tail = "-".join(pieces[:count])
        length = 1 + len(tail)
        if tail in vocabulary().role_words and (step["joined"] or tail in ("instruct", "chat")):
            return length, None
        rest, found = split_weight_format("-" + tail)
        is_precision = step["spaced"] is not None and found in PRECISIONS
        if found is not None and not rest and not is_precision:
            return length, found
    return 0, None


def _row_of(text: str, hit: KeyHit) -> tuple[ModelSpec, tuple[str, ...]]:
    rows = name_index().exact[hit.key]
    if len(rows) == 1:
        return rows[0], ()
    rule = vocabulary().scan["shared_keys"].get(hit.key)
    if rule is None:
        chosen, others = rows[0], rows[1:]
        return chosen, (f"the name also stands for {', '.join(row.name for row in others)}",)
    around = text[max(0, hit.end - 120) : hit.end + 120]
    named = rule["other"] if any(hint in around for hint in rule["hints"]) else rule["default"]
    other = rule["default"] if named == rule["other"] else rule["other"]
    return get_model(named), (f"the name also stands for {other}",)


def _is_contradicted(text: str, spec: ModelSpec, name_end: int, end: int) -> bool:
    """Whether a size that the row does not have follows directly (`gpt2 22b`, `r1 70b`)."""
    for at in {name_end, end}:
        found = _SIZE_NEXT.match(text, at)
        if found is not None:
            size = float(found[1]) * (1e9 if found[2] == "b" else 1e6)
            known = {spec.params_total, spec.params_active or spec.params_total}
            known.add(spec.params_total - (spec.vision_params or 0))
            return all(abs(size - count) > _NEAR * count for count in known)
    return False
