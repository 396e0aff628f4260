"""Cutting a document's blocks into pieces that are found and quoted as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from knowledge.parsers import Block
from knowledge.text import weight

TARGET_CHARS = 480
MAX_CHARS = 720
"""Of Latin text; a Chinese character counts for three, as it carries about as much."""
_SENTENCE = re.compile(r"(?<=[。！？!?；;])|(?<=[.!?])\s+|\n+")
_HAN = re.compile(r"[\u3400-\u9fff]")


class Piece(NamedTuple):
    """One piece of a document."""

    heading: str
    text: str
    locator: str


def _sentences(text: str) -> Iterator[str]:
    for part in _SENTENCE.split(text):
        sentence = part.strip()
        while weight(sentence) > MAX_CHARS:
            cut = MAX_CHARS // 3 if _HAN.search(sentence[:50]) else MAX_CHARS
            yield sentence[:cut]
            sentence = sentence[cut:]
        if sentence:
            yield sentence


def pieces(blocks: Iterable[Block]) -> Iterator[Piece]:
    """Pieces of about 480 characters (160 in Chinese), never across a heading or a page.

    A piece begins with the last sentence of the one before it when that is short, so that an
    answer that spans the cut is still found.
    """
    for block in blocks:
        held: list[str] = []
        for sentence in _sentences(block.text):
            if held and weight(" ".join(held)) + weight(sentence) > TARGET_CHARS:
                yield Piece(block.heading, "\n".join(held), block.locator)
                held = [held[-1]] if weight(held[-1]) < TARGET_CHARS // 4 else []
            held.append(sentence)
        if held:
            yield Piece(block.heading, "\n".join(held), block.locator)
