"""How much memory one GPU of an offer gives: of the card, of the slice, or derived."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from tools.catalog.loader import offer_source
from tools.catalog.offer import InstanceOffer
from tools.gpus import GpuMatch, GpuSpec, get_gpu, memory_class
from tools.provenance import Figure, Source


class UsableMemory(NamedTuple):
    """Memory that a process can get on one GPU of an offer."""

    bytes: int
    is_derived: bool
    """True when no published total stands behind it: a slice, a label, a derived row."""
    figure: Figure


def gpu_of(offer: InstanceOffer) -> GpuSpec | None:
    """The card's row in the GPU table; None where the vendor names no card."""
    return get_gpu(offer.gpu_name) if offer.gpu_name is not None else None


@lru_cache(maxsize=2048)
def usable_memory(offer: InstanceOffer) -> UsableMemory | None:
    """Usable memory of one GPU of an offer, in bytes; None when its memory is not known.

    A slice gives its own memory less what the driver keeps, not the card's. Where the vendor
    names no card, the label stands for it; both are said to be derived.
    """
    label_gb = offer.gpu_memory_gb
    card = gpu_of(offer)
    source = (offer_source(offer),)
    if offer.is_slice:
        if label_gb is None or card is None:
            size = None if label_gb is None else memory_class(label_gb).usable_bytes
            rule = "slice label less what the driver keeps"
        else:
            size = GpuMatch(card, slice_memory_gb=label_gb).usable_bytes
            rule = "slice label - 512 MiB"
        return _derived(size, source, rule)
    if offer.gpu_fraction is None and offer.category == "vgpu-slice":
        return None
    if card is not None and card.usable_bytes is not None:
        figure = Figure("usable_memory", card.usable_bytes, "B", (card.source, *source))
        return UsableMemory(card.usable_bytes, card.usable_basis != "seen", figure)
    if label_gb is None:
        return None
    return _derived(memory_class(label_gb).usable_bytes, source, "label less what the driver keeps")


def _derived(size: int | None, source: tuple[Source, ...], rule: str) -> UsableMemory | None:
    if size is None or size <= 0:
        return None
    return UsableMemory(size, True, Figure("usable_memory", size, "B", source, rule))
