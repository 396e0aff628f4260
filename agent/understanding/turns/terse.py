"""Turns of a few words: only settings, only a number, or the same again in another language."""

from __future__ import annotations

import re

from agent.answer import Language
from agent.request import Request
from agent.understanding.lexicon.phrases import table
from agent.understanding.lexicon.readings import Board
from agent.understanding.lexicon.text import blanked
from agent.understanding.settling.resolution import Resolution

_LONGEST = 96
_MEANS = re.compile(r"[a-z0-9\u3400-\u9fff]")
_NUMBER = re.compile(r"(?<![a-z0-9.\-])\d{1,7}(?!\.?\d|[a-z%])")
_CLAUSE = re.compile(r"[,.。;!?\n]\s*$|^\s*$")
_CLAUSE_ENDS = re.compile(
    r"\s*(?:呢)?\s*(?:[,.。;!?\n]|$|(?:换成?|改成?|但是?|不过|只是|就)(?!不))"
)
_STILL_REACH = 2
"""Characters between "still" and what stays."""


def is_only_settings(text: str, board: Board) -> bool:
    """Whether nothing but settings and small words is said ("seq 2048, batch 2", "no, 1024")."""
    if len(text) > _LONGEST:
        return False
    if bare_number(text, board) is not None:
        return True
    spans = [(r.start, r.end) for r in board.readings if r.end > r.start]
    return bool(spans) and not _says_more(blanked(text, spans))


def bare_number(text: str, board: Board) -> int | None:
    """The one number of a turn that says nothing else; None where it says more."""
    if len(text) > _LONGEST or any(reading.end > reading.start for reading in board.readings):
        return None
    numbers = list(_NUMBER.finditer(text))
    if len(numbers) != 1 or _says_more(blanked(text, [numbers[0].span()])):
        return None
    return int(numbers[0][0])


def _says_more(text: str) -> bool:
    small = [(hit.start, hit.end) for hit in table("conversation", "small_words").find(text)]
    return _MEANS.search(blanked(text, small)) is not None


_LANGUAGES: tuple[tuple[Language, str], ...] = (("en", "in_english"), ("zh", "in_chinese"))


def said_again(text: str, out: Resolution, last: Request, spoken: Language) -> Request | None:
    """The request before once more, where a turn only asks for that; None for any other turn.

    Args:
        text: Folded text of the turn.
        out: What was read in it.
        last: The request of the turn before.
        spoken: Language of this turn, kept where it names none.
    """
    named = next((to for to, words in _LANGUAGES if table("conversation", words).has(text)), None)
    repeats = table("conversation", "again").has(text)
    said = set(out.values) - out.inferred - {"epochs", "steps"}
    if len(text) > _LONGEST or said or not repeats:
        return None
    language = named or spoken
    kept = language == last.language
    return last.model_copy(
        update={
            "language": language,
            "corrections": last.corrections if kept else (),
            "clarifying_question": last.clarifying_question if kept else None,
        }
    )


def asks_card_figure(text: str, out: Resolution) -> bool:
    """Whether a figure of a named card is asked for and no job is spoken of."""
    other = ("model", "params_b", "method", "gpus", "instance", "nodes", "bandwidth_gbps")
    if out.get("gpu") is None or any(out.get(slot) is not None for slot in other[:4]):
        return False
    if table("conversation", "card_figures").has(text):
        return True
    is_alone = not any(out.get(slot) is not None for slot in other)
    is_of_network = table("links", "kinds").has(text)
    return is_alone and not is_of_network and table("conversation", "bare_figures").has(text)


def asks_trait_of_it(text: str, out: Resolution, last: Request) -> bool:
    """Whether "it" is the card that the turn before asked about ("does it have NVLink?")."""
    about_card = last.intent == "concept" and last.slots.has_card
    own = any(
        out.get(slot) is not None for slot in ("gpu", "gpus", "model", "params_b", "instance")
    )
    if own or not about_card or len(text) > _LONGEST:
        return False
    pointing = table("conversation", "points_back").has(text)
    return pointing and table("conversation", "card_traits").has(text)


_SUBJECTS = ("card", "model_match", "model_family", "params_b", "instance_mention", "gpu_mem_gb")


def asks_trait_of_type(text: str, board: Board, last: Request) -> bool:
    """Whether a few words ask more of the type that was looked up ("total vram? nvlinked?")."""
    is_of_type = last.intent == "catalog_lookup" and last.slots.instance is not None
    if not is_of_type or len(text) > _LONGEST // 2 or any(board.has(slot) for slot in _SUBJECTS):
        return False
    return table("conversation", "type_traits").has(text)


def still_ranges(text: str, board: Board, last: Request) -> list[tuple[int, int]]:
    """Where "还是" means "still": it opens a clause that only names what was so before."""
    found: list[tuple[int, int]] = []
    for hit in table("conversation", "still").find(text):
        if not _CLAUSE.search(text[: hit.start]):
            continue
        for reading in board.readings:
            near = 0 <= reading.start - hit.end <= _STILL_REACH
            if near and _CLAUSE_ENDS.match(text, reading.end) and _stands(reading.slot, last):
                found.append((hit.start, hit.end))
                break
    return found


def _stands(slot: str, last: Request) -> bool:
    """Whether the request before has a value where this reading gives one."""
    home = {"card": "gpu", "model_match": "model", "method_scale": "method", "task_cue": "task"}
    return getattr(last.slots, home.get(slot, slot), None) is not None
