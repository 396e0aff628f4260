"""What the premise checks look at: the text, its cards and instances, what was settled."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from agent.request import Pasted
from agent.understanding.lexicon.phrases import table
from agent.understanding.lexicon.readings import Board
from agent.understanding.lexicon.text import Document
from agent.understanding.readers.names import Card, read_cards, read_instances
from agent.understanding.settling.resolution import Resolution

if TYPE_CHECKING:
    from tools.catalog import InstanceMention

Fields = dict[str, Any]
"""What the sentences of a row are filled with."""
_NEAR = 24
"""Characters between a property and the card that it is said of."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that a check may look at."""

    text: str
    """Folded, orders included: what they claim is put right as well."""
    board: Board
    out: Resolution
    cards: tuple[Card, ...]
    """Every card named, also those that are only claimed."""
    instances: tuple[InstanceMention, ...]
    pasted: tuple[Pasted, ...]
    told: str
    """What is said in the reader's own words: signs for names, no log, setting or order."""
    marks: frozenset[str] = frozenset()
    """What it says beyond its slots (tables: data/marks/)."""

    def near(self, words: str, card: Card) -> bool:
        """Whether a word group stands beside a card with no other card between."""
        others = [other for other in self.cards if other is not card]
        for hit in table("premise_words", words).find(self.text):
            if self.is_denied(hit.start, hit.end):
                continue
            low, high = sorted((hit.start, card.start))
            gap = max(hit.start, card.start) - min(hit.end, card.end)
            if gap <= _NEAR and not any(low < o.start < high for o in others):
                return True
        return False

    def is_denied(self, start: int, end: int) -> bool:
        """Whether the text itself says that it is not so ("A10 没有 NVLink")."""
        around = self.text[max(0, start - 10) : start] + " | " + self.text[end : end + 10]
        return table("premise_words", "denied").has(around)

    def says(self, words: str) -> bool:
        """Whether a word group of data/premise_words.yaml is in the text."""
        return table("premise_words", words).has(self.text)

    def claims(self, words: str) -> bool:
        """Whether a word group is in the text and not denied there."""
        hits = table("premise_words", words).find(self.text)
        return any(not self.is_denied(hit.start, hit.end) for hit in hits)


def scene_of(
    whole: str,
    orders: list[tuple[int, int]],
    board: Board,
    out: Resolution,
    pasted: list[Pasted],
    *,
    told: str,
    marks: Iterable[str] = (),
) -> Scene:
    """What the premise checks look at; claims inside orders are put right as well.

    Args:
        whole: The folded text with its orders.
        orders: Where they stand.
        board: What was read beside them.
        out: Slots as they are settled.
        pasted: Logs and configurations in the text.
        told: Its own words, with signs for names.
        marks: What they say beyond the slots.
    """
    if orders:
        beside, board_of_names = Document(whole, whole, None, bytearray(len(whole))), Board()
        read_instances(beside, board_of_names)
        read_cards(beside, board_of_names)
    else:
        board_of_names = board
    cards = tuple(reading.value for reading in board_of_names.of("card"))
    instances = tuple(reading.value for reading in board_of_names.of("instance_mention"))
    return Scene(whole, board, out, cards, instances, tuple(pasted), told, frozenset(marks))


@cache
def short_name(name: str) -> str:
    """Row of the GPU table without vendor, form factor and size: A100, RTX A6000, V100."""
    words = [w for w in name.split() if w not in ("NVIDIA", "Tesla", "GeForce", "PCIe", "Huawei")]
    kept = [w for w in words if not re.fullmatch(r"SXM\d?|\d+GB|\(.*\)?", w)]
    return " ".join(kept) or name


@cache
def sizes_of(name: str) -> list[float]:
    """Memory labels (GB) of all cards of one short name."""
    from tools.gpus import all_gpus

    labels = {
        other.memory_label_gb
        for other in all_gpus()
        if short_name(other.name).removesuffix(" NVL") == name
    }
    return sorted(label for label in labels if label)
