"""Checks of what instance types are said to carry: the card, its memory, how many there are."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent.understanding.lexicon.phrases import table
from agent.understanding.premises.scene import Fields, Scene, short_name
from agent.understanding.readers.names import Card

if TYPE_CHECKING:
    from tools.catalog import InstanceMention, InstanceOffer

_CLAUSE = re.compile(r"[,;。;?？\n]|\.(?!\d)")
_SIZE = re.compile(r"(?<![\w.])(?P<gb>\d{1,3})\s?(?:g|gb|gib)(?![a-z/])")
_NEAR_NAME, _NEAR_CARD, _NEAR_SIZE = 12, 10, 24
"""Characters between a type and the verb, the verb and a card, the verb and a size."""
_TOLERANCE = 0.08
"""Share by which a size that is said may be off."""


@dataclass(frozen=True, slots=True)
class _Carried:
    """What the one type that is named really carries."""

    mention: InstanceMention
    name: str
    card: str
    memory_gb: float
    offer: InstanceOffer
    is_type: bool
    """Whether the name is that of one type, not of a family."""

    @property
    def source(self) -> str:
        return f"data:{self.offer.file}#{self.offer.instance_type}"


def type_carries(scene: Scene) -> list[Fields]:
    """Types said to be of a card that they do not carry."""
    found: dict[str, Fields] = {}
    for mention in scene.instances:
        carried = _carried_by(mention, mention.text, scene.out.get("provider"))
        said = _card_said_of(scene, mention) if carried is not None else None
        if carried is None or said is None:
            continue
        words = said.spec.name.split()
        series = next((w for w in words if any(c.isdigit() for c in w)), said.spec.name)
        if series.casefold() in carried.card.casefold():
            continue
        found[carried.name] = {
            "name": carried.name, "said": series, "card": carried.card,
            "memory": f"{carried.memory_gb:g}", "source": carried.source,
            **_carriers(said, series, carried), **_counted_as(carried),
        }  # fmt: skip
    return list(found.values())


_MOST_FAMILIES = 3


def _counted_as(carried: _Carried) -> Fields:
    """How many cards a type has, where its name stands for one number of them."""
    number = carried.offer.gpu_count
    if not carried.is_type or not number or carried.offer.is_slice:
        return {"count_zh": "", "count_en": "the "}
    return {"count_zh": f"{number:g} 张 ", "count_en": f"{number:g} × "}


def _carriers(said: Card, series: str, carried: _Carried) -> Fields:
    """Families of the same cloud that do carry the card that was said."""
    from tools.catalog import Need, offers_for
    from tools.gpus import all_gpus

    provider, name = carried.offer.provider, short_name(said.spec.name)
    rows = tuple(row.name for row in all_gpus() if short_name(row.name) == name)
    offers = offers_for(Need(gpu_names=rows), provider=provider).offers
    parts = {offer.family for offer in offers if offer.is_slice}
    told = list(dict.fromkeys(o.family for o in offers if o.family not in parts))[:_MOST_FAMILIES]
    if not told:
        return {"carriers_zh": "", "carriers_en": ""}
    verb = "carries" if len(told) == 1 else "carry"
    return {
        "carriers_zh": f"{cloud_name(provider, 'zh')}带 {series} 的是 {'、'.join(told)}。",
        "carriers_en": f" {', '.join(told)} {verb} the {series} at {cloud_name(provider, 'en')}.",
    }


def _card_said_of(scene: Scene, mention: InstanceMention) -> Card | None:
    """The card that a type is said to have: behind a verb or as its own, or in front of it."""
    text = scene.text
    before = next((c for c in reversed(scene.cards) if c.end <= mention.start), None)
    if before is not None and _is_said_in_front(text, before, mention):
        return before
    said = next((c for c in scene.cards if c.start >= mention.end), None)
    if said is None or _names_another(scene, mention.end, said.start):
        return None
    between = text[mention.end : said.start]
    if table("premise_words", "either").has(between):
        return None
    is_near = not _CLAUSE.search(between) and _is_said_to_be(text, mention, between)
    return said if is_near or _is_its_own(between) else None


def _names_another(scene: Scene, start: int, end: int) -> bool:
    """Whether another type or cloud is named between two places."""
    places = [m.start for m in scene.instances]
    places += [r.start for r in scene.board.of("provider") if r.weight >= 1]
    return any(start <= place < end for place in places)


def _is_its_own(between: str) -> bool:
    """Whether a card stands as what a type has: "gn6i's V100", "gn6i, liked for its V100"."""
    owned = table("premise_words", "of_it").find(between)
    if not owned or len(between) > _CLAIM_REACH or _SENTENCE.search(between):
        return False
    is_last = not between[owned[-1].end :].strip()
    return is_last and (owned[-1].value == "its" or not between[: owned[-1].start].strip())


def _is_said_in_front(text: str, card: Card, mention: InstanceMention) -> bool:
    """Whether a card is put in front of a type as a part of it: "the A10-powered gn6i"."""
    between = text[card.end : mention.start].strip(" -")
    verbs = table("premise_words", "comes_with").find(text[max(0, card.start - 8) : card.start])
    if between in ("powered", "based", "equipped", "backed"):
        return True
    return between == "的" and any(verb.end >= min(card.start, 8) - 1 for verb in verbs)


def _is_said_to_be(text: str, mention: InstanceMention, between: str) -> bool:
    """Whether a verb joins a type and a card: "gn6i is a V100", "is gn6i a V100"."""
    kind = table("premise_words", "kind_of_type").find(between)
    if kind and kind[0].start <= 1:  # "g6 series uses the A10G"
        between = between[kind[0].end :]
    verbs = table("premise_words", "is_said_to_be").find(between)
    if verbs:
        return verbs[0].start <= 1 and len(between) - verbs[0].end <= _NEAR_CARD
    in_front = text[max(0, mention.start - _VERB_IN_FRONT) : mention.start].rstrip()
    asked = table("premise_words", "is_said_to_be").find(in_front)
    is_asked = bool(asked) and asked[-1].end == len(in_front)
    return is_asked and between.strip() in ("a", "an", "the")


_VERB_IN_FRONT, _CLAIM_REACH = 8, 40
_SENTENCE = re.compile(r"[。?？\n]|\.(?!\d)")


def type_memory(scene: Scene) -> list[Fields]:
    """A type said to carry a card with more or less memory than it has."""
    carried = _carried(scene)
    if carried is None or type_carries(scene):
        return []
    clause = _CLAUSE.split(scene.text[carried.mention.end :][:80], maxsplit=1)[0]
    verb = next(iter(table("premise_words", "comes_with_size").find(clause)), None)
    if verb is None or verb.start > _NEAR_NAME:
        return []
    claim = clause[: verb.end + _NEAR_SIZE]
    size = _SIZE.search(claim)
    if size is None or table("premise_words", "set_beside").has(claim):
        return []
    given = float(size["gb"])
    if abs(given - carried.memory_gb) <= _TOLERANCE * carried.memory_gb:
        return []
    cards = carried.offer.gpu_count or 1
    total = cards * carried.memory_gb
    return [
        {
            "name": carried.name.removeprefix("ecs."), "said": f"{given:g}", "card": carried.card,
            "memory": f"{carried.memory_gb:g}", "source": carried.source,
            "total_zh": f"(共 {cards:g} 张,合计 {total:g} GB)" if cards > 1 else "",
            "total_en": f" ({cards:g} cards, {total:g} GB in all)" if cards > 1 else "",
        }
    ]  # fmt: skip


def _carried(scene: Scene) -> _Carried | None:
    """The card of the one type that is spoken of; None where there are several of either."""
    name, provider = scene.out.get("instance"), scene.out.get("provider")
    if name is None or scene.out.get("instances") is not None or not scene.instances:
        return None
    return _carried_by(scene.instances[0], str(name), provider)


def _carried_by(mention: InstanceMention, name: str, provider: str | None) -> _Carried | None:
    """The one kind of card that a type carries; None where it is not one."""
    from tools.catalog import find_instance

    lookup = find_instance(name, mention.provider or provider)
    offers = lookup.offers or tuple(o for family in lookup.families for o in family.offers)
    cards = {(o.gpu_name or o.gpu_model, o.card_memory_gb) for o in offers if o.category == "gpu"}
    if len(cards) != 1:
        return None
    card, memory = next(iter(cards))
    if not card or not memory:
        return None
    return _Carried(mention, name, str(card), float(memory), offers[0], bool(lookup.offers))


def type_has_more(scene: Scene) -> list[Fields]:
    """One type said to have more cards than another, which has as many or more."""
    return _counted(scene, is_so=lambda own, other: own > other)


def type_has_fewer(scene: Scene) -> list[Fields]:
    """One type said to have fewer cards than another, which has as many or fewer."""
    return _counted(scene, is_so=lambda own, other: own < other)


def _counted(scene: Scene, *, is_so: Callable[[int, int], bool]) -> list[Fields]:
    """Cards of the two types that are named, where the first has not what is said of it."""
    named = list(dict.fromkeys(m.text for m in sorted(scene.instances, key=lambda m: m.start)))
    if len(named) != 2 or len(scene.out.get("instances") or ()) != 2:
        return []
    rows = [_row(name, scene.out.get("provider")) for name in named]
    (first, other) = rows
    if first is None or other is None or is_so(first.gpu_count, other.gpu_count):
        return []
    return [
        {
            "first": first.instance_type, "other": other.instance_type,
            "cards": first.gpu_count, "other_cards": other.gpu_count,
            "gpu": first.gpu_name or first.gpu_model or "GPU",
            "other_gpu": other.gpu_name or other.gpu_model or "GPU",
            "vcpu": first.vcpu_count, "other_vcpu": other.vcpu_count,
            "source": f"data:{first.file}#{first.instance_type}",
        }
    ]  # fmt: skip


def _row(name: str, provider: str | None) -> Any:
    """A type's row, where all of its name agree on their cards."""
    from tools.catalog import find_instance

    offers = find_instance(name, provider).offers
    counts = {(o.gpu_count, o.gpu_name or o.gpu_model, o.vcpu_count) for o in offers}
    is_one = len(counts) == 1 and next(iter(counts))[0] is not None
    return offers[0] if is_one else None


def type_without_gpu(scene: Scene) -> list[Fields]:
    """A type that carries a GPU and is said to have none; the name may be a CPU type elsewhere."""
    found = []
    for mention in {m.text.lower(): m for m in scene.instances}.values():
        families = mention.lookup.families
        labels = sorted({label for family in families for label in family.gpu_labels})
        kinds = {family.category for family in families}
        is_one = len({family.provider for family in families}) == 1
        if not labels or not is_one or "cpu" in kinds or not _is_said_without(scene.text, mention):
            continue
        family = families[0]
        offers = mention.lookup.offers or family.offers
        sizes = sorted({o.card_memory_gb for o in offers if o.card_memory_gb})
        found.append(
            {
                "name": mention.text, "card": "/".join(labels), **_other_kinds(mention),
                "cloud_zh": cloud_name(family.provider, "zh"),
                "cloud_en": cloud_name(family.provider, "en"),
                "memory": "/".join(f"{size:g}" for size in sizes) or "?",
                "source": f"data:{family.provider}.csv#{family.name}",
            }
        )  # fmt: skip
    return found


def _is_said_without(text: str, mention: InstanceMention) -> bool:
    """Whether the clause behind a type says that it is one of CPUs."""
    clause = _CLAUSE.split(text[mention.end :][:80], maxsplit=1)[0]
    said = next(iter(table("premise_words", "said_cpu").find(clause)), None)
    if said is None or said.start > _NEAR_SIZE:
        return False
    in_front, behind = clause[: said.start], clause[said.end : said.end + _NEAR_CARD]
    fails = table("premise_words", "gpu_fails").has(behind)
    apart = table("premise_words", "set_beside").has(in_front)
    return not (fails or apart or table("premise_words", "is_not").has(in_front))


def _other_kinds(mention: InstanceMention) -> Fields:
    """Clouds where the same name is a CPU type."""
    from tools.catalog import find_instance

    clouds = [
        provider
        for provider in mention.lookup.elsewhere
        if any(f.category == "cpu" for f in find_instance(mention.lookup.given, provider).families)
    ]
    names_zh = "、".join(cloud_name(provider, "zh") for provider in clouds)
    names_en = ", ".join(cloud_name(provider, "en") for provider in clouds)
    return {
        "elsewhere_zh": f"{names_zh}的同名规格才是 CPU 机型。" if clouds else "",
        "elsewhere_en": f" The type of that name at {names_en} is the one without a GPU."
        if clouds
        else "",
    }


def cloud_name(provider: str, language: str) -> str:
    """A cloud's name in one of the two languages."""
    from tools.catalog import all_providers

    row = next((row for row in all_providers() if row.provider == provider), None)
    if row is None:
        return provider
    return row.name_zh if language == "zh" else row.name_en


CHECKS: dict[str, Callable[[Scene], list[Fields]]] = {
    check.__name__: check
    for check in (type_carries, type_memory, type_has_more, type_has_fewer, type_without_gpu)
}
