"""Ways to share out a training run, named beside one another (vocabulary: data/stages.yaml)."""

from __future__ import annotations

import re
from functools import cache
from itertools import islice

from agent.understanding.data import load
from agent.understanding.lexicon.phrases import PhraseTable, phrase_pattern

_MOST = 20
DDP, GRADIENTS, FULL = 0, 2, 3
"""Stages that DDP, and FSDP with gradients or all of it sharded, come to."""


def stages_in(signed: str) -> tuple[int, ...]:
    """Stages that a folded text names, the least split first; DDP is 0, FSDP 3.

    FSDP that shards gradients and optimizer states only (SHARD_GRAD_OP) is 2.

    Args:
        signed: Folded, with signs for names: a number in front of a card counts cards.

    >>> stages_in("zero2还是zero3"), stages_in("ddp or fsdp"), stages_in("zero 2 or 3?")
    ((2, 3), (0, 3), (2, 3))
    """
    found = {int(digit) for hit in islice(_numbered().finditer(signed), _MOST)
             for digit in re.findall(r"[0-3]", hit["list"])}  # fmt: skip
    ways = _ways().find(signed)
    names = {hit.value for hit in ways}
    found |= {DDP} if "ddp" in names else set()
    found |= {GRADIENTS} if "fsdp_half" in names else set()
    is_full = "fsdp" in names and "fsdp_half" not in names
    found |= {FULL} if is_full or "fsdp_full" in names else set()
    return tuple(sorted(found))


@cache
def _ways() -> PhraseTable:
    rows = load("stages")
    return PhraseTable({name: rows[name] for name in ("ddp", "fsdp", "fsdp_full", "fsdp_half")})


@cache
def _numbered() -> re.Pattern[str]:
    """A named stage and those that follow it: "zero2/3", "stage 2 or stage 3"."""
    named = rf"(?<![a-z])(?:{_either('named', is_open=True)})[ _-]?"
    joined = rf"(?:\s?(?:{_either('and')})\s?(?:(?:or|and|还是)\s?)?| )"
    alone = rf"[0-3](?![\d.]| ?(?:[\ue000-\ue0ff]|[a-z]{{1,4}}\d|{_either('counted')}))"
    return re.compile(rf"{named}(?P<list>{alone}(?:{joined}(?:{named})?{alone})*)")


def _either(name: str, *, is_open: bool = False) -> str:
    phrases = sorted(map(str, load("stages")[name]), key=len, reverse=True)
    return "|".join(phrase_pattern(p, open_start=True, open_end=is_open) for p in phrases)
