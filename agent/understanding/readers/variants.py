"""A card as it is named, and its other forms: of a laptop, or set against it by form alone."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from agent.understanding.lexicon.text import Document

if TYPE_CHECKING:
    from tools.gpus import GpuMatch, GpuMention, GpuSpec

_NOT_IN_LABELS = {"NVIDIA", "Tesla", "PCIe", "GeForce"}


@dataclass(frozen=True, slots=True)
class Card:
    """One card named in the text."""

    name: str
    """Row of the GPU table, with the slice behind it where one is meant."""
    spec: GpuSpec
    count: int | None
    memory_gb: float | None
    """The size written beside it, where one is."""
    conflict: str | None
    """Why the written size cannot be."""
    also: tuple[str, ...]
    """Other rows that the bare name could mean."""
    slice_name: str | None
    """MIG instance or vGPU profile."""
    start: int
    end: int
    text: str

    @property
    def label(self) -> str:
        """How slots name it: the row; a slice by its card, the card's size and the profile."""
        if not self.slice_name:
            return self.name
        words = [
            w for w in self.name.split() if w not in _NOT_IN_LABELS and not w.startswith("SXM")
        ]
        if not self.slice_name[0].isdigit():  # a vGPU profile carries its card's name
            return self.slice_name
        return f"{' '.join(words)} MIG {self.slice_name}"


_CHIP = re.compile(r"(?<![a-z0-9])[a-z]{0,5}\s?\d{2,4}[a-z]{0,2}(?![a-z0-9])")
_OTHER = re.compile(
    r"\s?(?:版本?|的|卡|\()?\s?(?:vs\.?|versus|or|and|还是|对比|和|跟|与|比)\s?(?:an?\s|the\s)?"
    r"(?P<form>sxm\d?|pcie|nvl|\d{2,3}\s?gi?b?)(?![a-z0-9])"
    r"(?!\s?(?:的)?(?:内存|主存|ram|host|memory of|硬盘|磁盘|disk|ssd|data|数据|文件|模型))"
)
"""What joins two forms, and the second of them."""


class SecondForm(NamedTuple):
    """Another row of the same chip, and where it stands."""

    match: GpuMatch
    start: int
    end: int


def second_form(text: str, mention: GpuMention) -> SecondForm | None:
    """The other form that a card is set against; None where none is, or no row has it.

    Args:
        text: Folded.
        mention: The card in front.

    >>> from tools.gpus import scan_gpus
    >>> text = "h100 pcie vs sxm for decoding"
    >>> second_form(text, scan_gpus(text)[0]).match.spec.name
    'NVIDIA H100 SXM5 80GB'
    """
    from tools.errors import UserInputError
    from tools.gpus import find_gpu

    found = _OTHER.match(text, mention.end)
    chip = _CHIP.search(text[mention.start : mention.end])
    if found is None or chip is None:
        return None
    try:
        match = find_gpu(f"{chip[0]} {found['form']}")
    except UserInputError:
        return None
    if match.conflict or match.spec.name == mention.match.spec.name:
        return None
    return SecondForm(match, *found.span("form"))


def other_form(document: Document, mention: GpuMention) -> Card | None:
    """The form that a card is set against, named by its form alone."""
    found = second_form(document.text, mention)
    if found is None or not document.is_free(found.start, found.end):
        return None
    return Card(
        name=found.match.spec.name, spec=found.match.spec, count=mention.count,
        memory_gb=found.match.given_memory_gb, conflict=None, also=(), slice_name=None,
        start=found.start, end=found.end, text=document.text[found.start : found.end],
    )  # fmt: skip


_LAPTOP = re.compile(
    r"(?<![a-z])(?:laptops?|notebook pc|gaming notebook|mobile gpu)(?![a-z])|笔记本电?脑?(?!内核)"
    r"|游戏本|移动版|轻薄本"
)


def of_laptop(text: str, card: Card) -> Card:
    """The card of a laptop, where one is spoken of: less memory and speed than the desktop card."""
    if (
        _LAPTOP.search(text) is None
        or not card.name.startswith("GeForce RTX")
        or "Laptop" in card.name
    ):
        return card
    from tools.errors import UserInputError
    from tools.gpus import find_gpu

    name = " ".join(card.name.split()[:3])
    size = f" {card.memory_gb:g}GB" if card.memory_gb else ""
    for written in (f"{name} Laptop{size}", f"{name} Laptop"):
        try:
            match = find_gpu(written)
        except UserInputError:
            continue
        if "Laptop" in match.spec.name:
            wrong = card.conflict if size and f"{size.strip()}" not in match.spec.name else None
            return replace(card, name=match.spec.name, spec=match.spec, conflict=wrong, also=())
    return card
