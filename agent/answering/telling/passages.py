"""Which of the passages found answer the question, and how they are told."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from agent.answering.telling.draft import BODY, Draft
from agent.answering.telling.sources import say_cited, say_errata
from agent.request import Request
from agent.toolbox.guidance import PassageOut

_LONGEST = {"zh": 420, "en": 800}
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9.+]*(?:-?\d+(?:\.\d+)?)?")
_HAN = re.compile(r"[\u4e00-\u9fff]+")
_BREAKS = re.compile(r"[\s*`_<>\[\]]+")
"""What would end the line that a name stands in, or dress it up."""
_TERM = re.compile(r"[A-Z].*[A-Z]|\d")
"""A name rather than a word of English: GQA, NVLink, NF4."""


@cache
def _words(group: str) -> frozenset[str]:
    """A group of data/passage_words.toml."""
    text = files("agent.answering").joinpath("data", "passage_words.toml").read_text("utf-8")
    return frozenset(tomllib.loads(text)[group])


def on_the_point(passages: list[PassageOut], request: Request) -> list[PassageOut]:
    """The passage that answers, and a second one of its note only where it answers as well.

    A passage that has none of the names in the question is about something else. Among the rest
    the one with most of the names is told, then one whose heading says what is asked; else the
    search's order stands.

    Args:
        passages: What the search found, best first.
        request: The question, whose words were searched with.
    """
    question = request.search_query
    names = {word for word in _WORD.findall(question) if _is_name(word)}
    held = {p.passage_id: sum(_holds(p, name) for name in names) for p in passages}
    about = [p for p in passages if not names or held[p.passage_id]]
    if not about:
        return []
    asked = _units(question)
    shared = {p.passage_id: _units(_heading(p)) & asked for p in about}

    def rank(passage: PassageOut) -> tuple[int, bool]:
        heading = _units(_heading(passage))
        says_it = len(shared[passage.passage_id]) > _SAYS_IT * len(heading)
        return held[passage.passage_id], says_it

    best = max(about, key=rank)
    also = [
        p
        for p in about
        if p is not best
        and p.note_id == best.note_id
        and held[p.passage_id] == held[best.passage_id]
        and 0 < len(shared[best.passage_id]) <= len(shared[p.passage_id])
    ]
    return [best, *also[:1]]


_SAYS_IT = 0.7
"""Share of a heading's words beyond which it says what is asked."""


def _heading(passage: PassageOut) -> str:
    return passage.title.rpartition(" · ")[2]


def _is_name(word: str) -> bool:
    """A name rather than a word: with two capitals, a digit, or a capital that opens it."""
    is_name = bool(_TERM.search(word)) or word[0].isupper()
    no_name = _words("common") | _words("chat") | _words("everywhere")
    return is_name and len(word) > 1 and word.casefold() not in no_name


def _holds(passage: PassageOut, name: str) -> bool:
    """Whether a passage has a name, joined by a hyphen or not: zero3 is ZeRO-3."""
    text = f"{passage.title} {passage.text}".casefold()
    return name.casefold() in text or _joined(name) in _joined(text)


def _joined(text: str) -> str:
    return text.casefold().replace("-", "")


def _units(text: str) -> set[str]:
    """Latin words and pairs of Han characters of a text."""
    words = {w.casefold() for w in _WORD.findall(text)} - _words("common")
    pairs = {run[i : i + 2] for run in _HAN.findall(text) for i in range(len(run) - 1)}
    return words | pairs


def say_passages(
    draft: Draft, passages: list[PassageOut], *, own: Sequence[PassageOut] = (), most: int = 2
) -> None:
    """The passages, what published advice on them gets wrong, and where they come from.

    Args:
        draft: The answer.
        passages: Checked guidance, told as the answer's own words.
        own: Passages of the reader's documents; quoted after the guidance, under their name.
        most: Passages told at most (count).
    """
    for passage in passages[:most]:
        draft.add(shortened(passage.text, _LONGEST[draft.language]), importance=BODY)
    say_errata(draft, passages[:most])
    has_own_words = draft.has_text
    for passage in own[:1]:
        _quote(draft, passage, has_own_words=has_own_words)
    say_cited(draft, [*passages[:most], *own[:1]])


def _quote(draft: Draft, passage: PassageOut, *, has_own_words: bool) -> None:
    """What a document of the reader's says: its name, that nobody checked it, and its words."""
    name = _BREAKS.sub(" ", passage.title.partition(" · ")[0])
    intro = draft.phrase("sources.own_beside" if has_own_words else "sources.own", name=name)
    text = shortened(passage.text, _LONGEST[draft.language])
    quoted = "\n".join(f"> {line}".rstrip() for line in text.splitlines())
    draft.add(f"{intro}\n\n{quoted}", importance=BODY)


def shortened(text: str, limit: int) -> str:
    """Whole sentences or lines of a text up to a length."""
    text = text.strip()
    if len(text) <= limit:
        return text
    kept = text[:limit]
    cut = max(kept.rfind(mark) for mark in ("。", ". ", "\n", "；", ";"))
    return kept[: cut + 1].rstrip() if cut > limit // 3 else kept.rstrip() + "…"
