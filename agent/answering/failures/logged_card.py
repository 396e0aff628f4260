"""The card that an out-of-memory text is of, by the total that it shows."""

from __future__ import annotations

from agent.answering.telling.draft import BODY, Draft
from agent.answering.telling.numbers import gib
from agent.answering.telling.run_words import joined
from agent.request import Pasted, Request
from agent.toolbox.totals import CardTotal, card_total
from tools.gpus import GpuSpec, all_gpus
from tools.units import GIB, MIB

_LABELS = (4, 6, 8, 10, 11, 12, 16, 20, 24, 32, 40, 48, 64, 80, 94, 96, 128, 141, 192)
"""Memory on the box, GB; what a log shows as the total is a little less in GiB."""
_MOST_NAMES = 6


def on_logged_card(request: Request, log: Pasted) -> Request:
    """The request with the memory class of the card in the log, where no card was named."""
    slots, total = request.slots, log.fields.get("total_bytes")
    if slots.gpu is not None or slots.gpu_mem_gb is not None or not total:
        return request
    known = card_total(total / MIB)
    usual = next((float(size) for size in _LABELS if size * GIB >= total), None)
    label = known.label_gb if known is not None else usual
    if label is None:
        return request
    return request.model_copy(update={"slots": slots.model_copy(update={"gpu_mem_gb": label})})


def say_logged_card(draft: Draft, log: Pasted) -> None:
    """Which cards show the total of the log, where no card was named."""
    total: int = log.fields.get("total_bytes") or 0
    if say_slice(draft, total):
        return
    known = card_total(total / MIB) if total else None
    if known is None or draft.request.slots.has_card or draft.request.slots.instance is not None:
        return
    total_row(draft, known, total)


_WHOLE = 0.75
"""Share of a card's memory below which a total is that of a part of it."""


def sliced_card(request: Request, total_mib: float) -> GpuSpec | None:
    """The card that was named, where a total, MiB, can only be that of a part of it."""
    card = next((spec for spec in all_gpus() if spec.name == request.slots.gpu), None)
    usable = card.memory_usable_mib if card is not None else None
    return card if usable and 0 < total_mib < _WHOLE * usable else None


def say_slice(draft: Draft, total: int) -> bool:
    """Tells that a total, bytes, is that of a slice of the named card; False for any other."""
    card = sliced_card(draft.request, total / MIB)
    if card is None:
        return False
    usable = card.memory_usable_mib or 0
    draft.figure("total_shown", total, "B", sources=("user:total",))
    draft.figure("whole_card", usable * MIB, "B", sources=(f"data:gpus.csv#{card.name}",))
    key = "slice_mig" if card.mig else "slice_vgpu"
    draft.lead(f"symptoms.{key}", total=gib(total), card=card.name, whole=gib(usable * MIB))
    return True


def total_row(draft: Draft, known: CardTotal, total: int) -> None:
    """Cards that show a total, bytes, and those of the same label that do not."""
    draft.figure("label", known.label_gb, "GB", sources=tuple(_sources(known)))
    others = draft.phrase("symptoms.total_others", **_told_others(draft, known)) \
        if known.others else ""  # fmt: skip
    draft.say("symptoms.total_of", total=gib(total), label=f"{known.label_gb:g}",
              cards=_names(draft, known.cards), others=others, importance=BODY)  # fmt: skip


def _told_others(draft: Draft, known: CardTotal) -> dict[str, str]:
    """Cards of the label that show another total, with the lowest and highest of these."""
    sizes = sorted(spec.memory_usable_mib or 0 for spec in known.others)
    low, high = sizes[0] * MIB, sizes[-1] * MIB
    for name, size in (("others_low", low), ("others_high", high)):
        draft.figure(name, size, "B", sources=tuple(_sources(known)))
    span = gib(low) if gib(low) == gib(high) else f"{gib(low).removesuffix(' GiB')}–{gib(high)}"
    return {"names": _names(draft, known.others), "span": span}


def _names(draft: Draft, cards: tuple[GpuSpec, ...]) -> str:
    """Names of cards, the first few."""
    names = [spec.name.partition(" (")[0] for spec in cards[:_MOST_NAMES]]
    rest = [draft.phrase("symptoms.total_more")] if len(cards) > _MOST_NAMES else []
    return joined(draft, [*names, *rest])


def _sources(known: CardTotal) -> list[str]:
    return [f"data:gpus.csv#{spec.name}" for spec in (*known.cards, *known.others)][:_MOST_NAMES]
