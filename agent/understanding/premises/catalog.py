"""Checks about instance types: names that do not exist, CPU families taken for GPU ones."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from agent.understanding.data import load
from agent.understanding.lexicon.phrases import PhraseTable, table
from agent.understanding.premises.scene import Fields, Scene, short_name
from agent.understanding.premises.types import cloud_name, type_carries, type_memory

if TYPE_CHECKING:
    from tools.catalog import Family, InstanceLookup, InstanceMention

_NEAREST = 3


def scene_table(name: str) -> PhraseTable:
    """A word group of data/premise_words.yaml."""
    return table("premise_words", name)


def cpu_family(scene: Scene) -> list[Fields]:
    """A family without a GPU in a question that wants one."""
    kinds = [{family.category for family in m.lookup.families} for m in scene.instances]
    beside = any(kind and "cpu" not in kind for kind in kinds)  # a GPU type is named as well
    knows = beside or any(
        item.fields.get("message") == "needs_gpu_instance" for item in scene.pasted
    )
    if (
        knows
        or scene.says("knows_cpu")
        or not (scene.says("gpu_wish") or scene.out.get("task") or scene.out.get("params_b"))
    ):
        return []
    found = []
    for mention in _distinct(scene):
        families = [f for f in mention.lookup.families if f.category == "cpu"]
        if not families or any(f.category != "cpu" for f in mention.lookup.families):
            continue
        family = families[0]
        suggested = suggested_families(family.provider)
        if not suggested:
            continue
        found.append(
            {
                "name": mention.text,
                "cloud_zh": cloud_name(family.provider, "zh"),
                "cloud_en": cloud_name(family.provider, "en"),
                "purpose_zh": family.purpose_zh or "通用型",
                "purpose_en": family.purpose_en or "general purpose",
                "gpu_families": ", ".join(suggested),
                **_elsewhere(mention.lookup),
                "source": family.sources[0].id
                if family.sources
                else f"data:{family.provider}.csv#{family.name}",
            }
        )
    return found


@cache
def suggested_families(provider: str) -> tuple[str, ...]:
    """GPU families of a cloud to name instead, each with its cards: gn6i (T4)."""
    from tools.catalog import find_instance

    named = []
    for name in load("suggested_families").get(provider, ()):
        labels = {label for f in find_instance(name, provider).families for label in f.gpu_labels}
        if labels:
            named.append(f"{name} ({'/'.join(sorted({short_name(label) for label in labels}))})")
    return tuple(named)


def _elsewhere(lookup: InstanceLookup) -> Fields:
    """Clouds where the same name does carry a GPU."""
    from tools.catalog import find_instance

    notes_zh, notes_en = [], []
    for provider in lookup.elsewhere:
        other = find_instance(lookup.given, provider)
        for family in other.families:
            if family.gpu_labels:
                label = "/".join(family.gpu_labels)
                notes_zh.append(f"{cloud_name(provider, 'zh')}的 {family.name} 才是 {label}")
                notes_en.append(
                    f"{cloud_name(provider, 'en')} {family.name} is the one with {label}"
                )
    return {
        "elsewhere_zh": f"({';'.join(notes_zh)})" if notes_zh else "",
        "elsewhere_en": f" ({'; '.join(notes_en)})" if notes_en else "",
    }


def same_name(scene: Scene) -> list[Fields]:
    """One family name used of two clouds where it is different hardware."""
    by_key: dict[str, list[Family]] = {}
    for mention in (m for m in scene.instances if m.provider):
        by_key.setdefault(mention.text.lower(), []).extend(mention.lookup.families)
    found = []
    for name, families in by_key.items():
        clouds = {family.provider: family for family in families}
        labels = {tuple(family.gpu_labels) for family in clouds.values()}
        if len(clouds) < 2 or len(labels) < 2:
            continue
        found.append(
            {
                "name": name,
                "each_zh": ";".join(
                    f"{cloud_name(p, 'zh')} {f.name} 是 {_hardware(f, 'zh')}"
                    for p, f in clouds.items()
                ),
                "each_en": "; ".join(
                    f"{cloud_name(p, 'en')} {f.name} is {_hardware(f, 'en')}"
                    for p, f in clouds.items()
                ),
                "source": f"data:{next(iter(clouds))}.csv#{name}",
            }
        )
    return found


def _hardware(family: Family, language: str) -> str:
    if family.gpu_labels:
        return "/".join(family.gpu_labels)
    if language == "zh":
        return f"CPU {family.purpose_zh or '通用型'}(没有 GPU)"
    return f"CPU, {family.purpose_en or 'general purpose'} (no GPU)"


def unknown_instance(scene: Scene) -> list[Fields]:
    """A type that no catalog row carries although its name looks like one."""
    found = []
    for mention in _distinct(scene):
        lookup = mention.lookup
        if lookup.kind != "unknown":
            continue
        nearest = ", ".join(offer.instance_type for offer in lookup.nearest[:_NEAREST])
        family = lookup.families[0] if lookup.families else None
        found.append(
            {
                "name": mention.text,
                "nearest": nearest or "-",
                "family_zh": _family_note(family, "zh"),
                "family_en": _family_note(family, "en"),
                "source": f"data:{family.provider if family else 'catalog'}.csv",
            }
        )
    return found


def other_cloud(scene: Scene) -> list[Fields]:
    """A type or family that the one cloud spoken of does not have and another has."""
    from tools.catalog import covered_providers

    named = {str(reading.value) for reading in scene.board.of("provider")}
    if len(named) != 1 or not named <= set(covered_providers()):
        return []
    said = named.pop()
    found = []
    every = [(mention, _owners(mention)) for mention in _distinct(scene)]
    if any(said in owners for _, owners in every):
        return []  # the cloud is that of the other type
    for mention, owners in every:
        lookup = mention.lookup
        if lookup.kind not in ("type", "family") or not owners:
            continue
        owner = sorted(owners)[0]
        found.append(
            {
                "name": mention.text,
                "cloud_zh": cloud_name(said, "zh"),
                "cloud_en": cloud_name(said, "en"),
                "owner_zh": cloud_name(owner, "zh"),
                "owner_en": cloud_name(owner, "en"),
                "source": f"data:{owner}.csv#{mention.text}",
            }
        )
    return found


def _owners(mention: InstanceMention) -> set[str]:
    """Clouds that have a type or family of the name."""
    lookup = mention.lookup
    return {offer.provider for offer in lookup.offers} | {f.provider for f in lookup.families}


def _family_note(family: Family | None, language: str) -> str:
    if family is None or not family.gpu_labels:
        return ""
    label = "/".join(family.gpu_labels)
    sizes = {offer.gpu_memory_gb for offer in family.offers if offer.gpu_memory_gb}
    memory = f" {max(sizes):g} GB" if sizes else ""
    memory = (
        ""
        if memory.strip() and memory.strip().replace(" ", "") in label.replace(" ", "")
        else memory
    )
    if language == "zh":
        return f"{family.name} 规格族用的是 {label}{memory}。"
    return f"The family {family.name} carries {label}{memory}. "


def instance_card(scene: Scene) -> list[Fields]:
    """A type said to carry other cards, or another number of them, than it does."""
    if type_carries(scene):
        return []  # told with the memory of the card as well
    found = []
    for mention in _distinct(scene):
        lookup = mention.lookup
        labels = {label for family in lookup.families for label in family.gpu_labels}
        if not labels or lookup.kind == "unknown":
            continue
        claimed = [
            card
            for card in scene.cards
            if card.start > mention.start - 40 and not _is_set_against(scene.text, mention, card)
        ]
        wrong = [card for card in claimed if not _is_one_of(card.name, labels)]
        sizes = {offer.gpu_memory_gb for offer in lookup.offers if offer.gpu_memory_gb}
        if not type_memory(scene):  # told with the memory of all cards as well
            wrong += [c for c in claimed if c.memory_gb and sizes and _is_larger(c, sizes)]
        counts = {offer.gpu_count for offer in lookup.offers if offer.gpu_count}
        miscounted: list[Any] = [c for c in claimed if c.count and counts and c.count not in counts]
        loose = scene.board.value("loose_count")
        if not claimed and loose and counts and loose not in counts:
            miscounted = [_Loose(f"{loose} GPU", loose)]
        is_claim = not (scene.out.get("params_b") or scene.out.get("method"))
        is_claim = is_claim or any(_is_said_of(scene, mention, card) for card in claimed)
        if (
            not is_claim
            or not (wrong or miscounted)
            or len(claimed) > len(wrong) + len(miscounted) + 1
        ):
            continue
        if len({family.provider for family in lookup.families}) > 1 or len(_distinct(scene)) > 1:
            continue
        found.append(_card_fields(mention, (wrong or miscounted)[0], labels, counts))
    return found


def _is_set_against(text: str, mention: InstanceMention, card: Any) -> bool:
    """Whether a type and a card stand beside each other as two things ("gn6i 和 A10 哪个快")."""
    low, high = sorted(((mention.start, mention.end), (card.start, card.end)))
    between = text[low[1] : high[0]]
    if scene_table("either").has(between):
        return True
    groups = ("set_beside", "slower_there", "exchanged")
    is_compared = any(scene_table(name).has(between) for name in groups)
    return is_compared and not scene_table("comes_with").has(between)


def _is_larger(card: Any, sizes: set[float]) -> bool:
    """Whether the memory written beside a card is none that the type has."""
    return all(abs(card.memory_gb - size) > 0.15 * size for size in sizes)


def _is_said_of(scene: Scene, mention: InstanceMention, card: Any) -> bool:
    """Whether a card is what the type is said to come with, a job beside it or not."""
    between = scene.text[mention.end : card.start]
    return len(between) <= _CLAIM_REACH and scene_table("comes_with").has(between)


_CLAIM_REACH = 30
"""Characters between a type and the card that it is said to carry."""


@dataclass(frozen=True, slots=True)
class _Loose:
    """A number of cards without a name."""

    text: str
    count: int


def slice_is_card(scene: Scene) -> list[Fields]:
    """A vGPU slice taken for a whole card."""
    found = []
    for mention in _distinct(scene):
        offer = mention.lookup.offers[0] if mention.lookup.offers else None
        if offer is None or not offer.is_slice or not offer.slice_memory_gb:
            continue
        if scene.says("whole_card"):
            found.append(
                {
                    "name": offer.instance_type,
                    "card": offer.gpu_label or "GPU",
                    "share": str(offer.gpu_fraction),
                    "memory": f"{offer.slice_memory_gb:g}",
                    "source": f"data:{offer.file}#{offer.instance_type}",
                }
            )
    return found


def _card_fields(mention: InstanceMention, card: Any, labels: set[str], counts: set[int]) -> Fields:
    label = "/".join(sorted(labels))
    count = next(iter(counts)) if len(counts) == 1 else None
    family = mention.lookup.families[0]
    size_zh, size_en = _size_read(mention, card, count)
    offer = mention.lookup.offers[0] if len(mention.lookup.offers) == 1 else None
    written = offer.instance_type if offer is not None else mention.text
    alone = count == 1
    spec, number = getattr(card, "spec", None), getattr(card, "count", None)
    claimed = f"{number} x {short_name(spec.name)}" if spec is not None and number else card.text
    return {
        "name": written,
        "claimed": claimed,
        "actual_zh": f"{count} 张 {label}({count}×{label})" if count else label,
        "actual_en": f"1 GPU (1 x {label})" if alone else f"{count} x {label}" if count else label,
        "size_zh": size_zh,
        "size_en": size_en,
        "source": f"data:{family.provider}.csv#{family.name}",
    }


def _size_read(mention: InstanceMention, card: Any, count: int | None) -> tuple[str, str]:
    """What the number in a type's name means, where it was taken for a number of cards."""
    if count is None:
        return "", ""
    if "xlarge" in mention.text.lower():
        return (
            "xlarge 前的数字是 vCPU 规模,不是卡数。",
            " The number before xlarge is the vCPU size, not GPUs.",
        )
    said = getattr(card, "count", None)
    vcpus = {offer.vcpu_count for offer in mention.lookup.offers}
    is_vcpu = said is not None and vcpus == {said}
    if not is_vcpu or re.search(rf"(?<!\d){said}(?!\d)", mention.text) is None:
        return "", ""
    return (
        f"名字里的 {said} 是 vCPU 数,不是卡数。",
        f" The {said} in the name is its vCPUs, not GPUs.",
    )


def _is_one_of(name: str, labels: set[str]) -> bool:

    return any(name == label or short_name(name) == short_name(label) for label in labels)


def _distinct(scene: Scene) -> list[InstanceMention]:
    return list({(m.text.lower(), m.provider): m for m in scene.instances}.values())


CHECKS: dict[str, Callable[[Scene], list[Fields]]] = {
    check.__name__: check
    for check in (
        cpu_family,
        same_name,
        other_cloud,
        unknown_instance,
        instance_card,
        slice_is_card,
    )  # fmt: skip
}
