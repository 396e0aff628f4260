"""Names of models, cards and instance types, found by the registries that know them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from agent.understanding.phrases import table
from agent.understanding.readings import Board
from agent.understanding.text import Document

_SIZE_BEHIND = re.compile(
    r"\s{0,2}[(\[]?\s?(?:各|each|只有|的|with|版|显存|=|:|是)?\s{0,2}(?P<gb>\d{1,4}(?:\.\d+)?)\s?(?:gib|gb|g)(?![a-z0-9/])"
)
_SIZE_BEFORE = re.compile(
    r"(?<![a-z0-9.])(?P<gb>\d{1,4}(?:\.\d+)?)\s?(?:gib|gb|g)\s?(?:显存)?的?\s?(?:nvidia|rtx|geforce)?\s?\Z"
)


@dataclass(frozen=True, slots=True)
class Card:
    """One card named in the text."""

    name: str
    """Row of the GPU table, with the slice behind it where one is meant."""
    spec: Any
    """The GpuSpec."""
    count: int | None
    memory_gb: float | None
    """The size written beside it, where one is."""
    conflict: str | None
    """Why the written size cannot be."""
    also: tuple[str, ...]
    """Other rows that the bare name could mean."""
    start: int
    end: int
    text: str


def read_models(document: Document, board: Board) -> None:
    """Note models of the registry, then families said without a size, then small ones."""
    try:
        from tools.models import scan_models
    except ImportError:
        return

    for mention in scan_models(document.text):
        if not document.is_free(mention.start, mention.end):
            continue
        board.add("model_match", mention.match, mention.start, mention.end)
        if mention.match.quantization:
            board.add("quantization_named", mention.match.quantization, mention.start, mention.end)
        document.take(mention.start, mention.end)
    rest = document.rest()
    for hit in table("words", "small_models").find(rest):
        board.add("model_small", hit.value, hit.start, hit.end)
        document.take(hit.start, hit.end)
    for hit in table("words", "model_families").find(rest):
        if document.is_free(hit.start, hit.end):
            board.add("model_family", hit.value, hit.start, hit.end)


def read_cards(document: Document, board: Board) -> None:
    """Note cards with their counts and the sizes beside them."""
    try:
        from tools.gpus import scan_gpus
    except ImportError:
        return

    text = document.text
    for mention in scan_gpus(text):
        if not document.is_free(mention.start, mention.end):
            continue
        match = mention.match
        written, start, end = _written_size(text, mention.start, mention.end)
        name = match.spec.name
        if match.slice_name:
            name = f"{name} {match.slice_name}"
        memory = match.slice_memory_gb or match.given_memory_gb or written
        card = Card(
            name, match.spec, mention.count, memory, match.conflict,
            tuple(spec.name for spec in match.also), start, end, mention.text,
        )  # fmt: skip
        board.add("card", card, start, end)
        document.take(start, end)


def _written_size(text: str, start: int, end: int) -> tuple[float | None, int, int]:
    inside = re.search(
        r"(?<![0-9.])(\d{1,4}(?:\.\d+)?)\s?(?:gib|gb|g)(?![a-z0-9])", text[start:end]
    )
    if inside is not None:
        return float(inside[1]), start, end
    behind = _SIZE_BEHIND.match(text, end)
    if behind is not None and not re.match(
        r"\s?(?:内存|ram|主机)", text[behind.end() : behind.end() + 6]
    ):
        return float(behind["gb"]), start, behind.end()
    before = _SIZE_BEFORE.search(text[max(0, start - 14) : start])
    if before is not None:
        return (
            float(before["gb"]),
            start - (len(text[max(0, start - 14) : start]) - before.start()),
            end,
        )
    return None, start, end


def read_instances(document: Document, board: Board) -> None:
    """Note instance types and families."""
    try:
        from tools.catalog import scan_instances
    except ImportError:
        return

    for mention in scan_instances(document.text):
        if not document.is_free(mention.start, mention.end):
            continue
        board.add("instance_mention", mention, mention.start, mention.end)
        board.add("instance", _instance_name(mention), mention.start, mention.end)
        if mention.provider or mention.lookup.provider:
            provider = mention.provider or mention.lookup.provider
            board.add("provider_implied", provider, mention.start, mention.end, origin="inferred")
        elif (
            len(
                owners := {offer.provider for offer in mention.lookup.offers}
                | {f.provider for f in mention.lookup.families}
            )
            == 1
        ):
            board.add(
                "provider_implied", owners.pop(), mention.start, mention.end, origin="inferred"
            )
        document.take(mention.start, mention.end)


def _instance_name(mention: Any) -> str:
    """The vendor's spelling of a known type, else what was written."""
    lookup = mention.lookup
    if lookup.kind == "type" and lookup.offers:
        return str(lookup.offers[0].instance_type)
    if lookup.kind == "family" and lookup.families:
        return str(lookup.families[0].name)
    return str(mention.text)
