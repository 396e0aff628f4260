"""Instance types and families by any spelling: what a written name stands for, on which clouds."""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from tools.catalog.loader import offer_source
from tools.catalog.names import (
    FamilyRule,
    edit_distance,
    fold,
    index,
    own_family,
    prefix_provider,
    rule_for,
    squash,
)
from tools.catalog.offer import Category, InstanceOffer
from tools.catalog.providers import covered_providers, provider_id, scan_providers
from tools.errors import AmbiguousInstanceError, UnknownInstanceError
from tools.provenance import Source

Kind = Literal["type", "family", "unlisted", "unknown"]
"""unlisted: a CPU family known by its vendor's naming rule, without rows here."""
_NEAREST = 5
_EDIT_LIMIT = 2
_SLIP = 1
"""Edits of a whole name that are a slip of the finger: the type meant stands first."""
_SHORTEST_TYPO = 3
_COMPARED = 10
_MOST_EDITS = 6
_SIZE = r"(?:\d*x?large|medium|small|micro|nano|metal(?:-\d+xl)?)"
_SHAPES = {
    "alibaba": re.compile(rf"(?:ecs\.)?[a-z]+\d*[a-z0-9.\-]*\.{_SIZE}"),
    "aws": re.compile(rf"(?:ml\.)?[a-z]+\d+[a-z0-9\-]*\.{_SIZE}"),
    "tencent": re.compile(rf"[a-z]+\d+[a-z]*\.{_SIZE}\d+"),
    "huawei": re.compile(rf"[a-z]+\d+[a-z]*\.{_SIZE}\.\d+"),
    "gcp": re.compile(r"[a-z]\d[a-z]?-(?:standard|high\w+|mega\w+|ultra\w+|custom|micro)(?:-\w+)*"),
    "azure": re.compile(r"standard[_ ][a-z]+\d+\w*"),
}
"""How a cloud writes a type, where that tells more than its rows do."""


@dataclass(frozen=True, slots=True)
class Family:
    """All types of one family at one provider."""

    provider: str
    name: str
    category: Category
    gpu_labels: tuple[str, ...]
    """Cards in it; empty for CPU families and where no source names the card."""
    offers: tuple[InstanceOffer, ...]
    """Smallest first; empty for a family that is known by the vendor's naming rule only."""
    purpose_en: str | None = None
    purpose_zh: str | None = None
    sources: tuple[Source, ...] = ()

    @property
    def has_gpu(self) -> bool:
        """True when its types carry a GPU or a slice of one."""
        return self.category in ("gpu", "vgpu-slice")


@dataclass(frozen=True, slots=True)
class InstanceLookup:
    """What a written name stands for."""

    given: str
    provider: str | None
    """Provider that was asked for, or that the name's prefix gives away."""
    kind: Kind
    offers: tuple[InstanceOffer, ...] = ()
    """The types of that name: one a cloud. Empty for a family or an unknown name."""
    families: tuple[Family, ...] = ()
    """The families of that name, one a cloud; for a type, the family it belongs to; for an
    unknown name, the family that its beginning names."""
    elsewhere: tuple[str, ...] = ()
    """Other providers that use the same name; of a name that the provider asked for lacks, those
    that have it."""
    nearest: tuple[InstanceOffer, ...] = ()
    """Closest real types to a name that does not exist."""

    @property
    def exists(self) -> bool:
        """True when the name is a real type or family of a provider that was not excluded."""
        return self.kind in ("type", "family")


def find_instance(text: str, provider: str | None = None) -> InstanceLookup:
    """What an instance type or family name stands for, on every cloud that uses it.

    Args:
        text: The name in any spelling: with or without ecs., ml. or Standard_, any case and
            separators. A provider beside it (`阿里云 g6`) counts as given.
        provider: Any spelling of a provider; keeps only its types. Without it a prefix decides,
            else every cloud that has the name is answered for.

    Returns:
        A lookup. A name that does not exist has `exists` False and the nearest real ones;
        it is never mapped to one of them.

    Raises:
        BadQuantityError: If the provider is not one that is recognised.
    """
    wanted = provider_id(provider) if provider is not None else prefix_provider(text)
    found = _find(text.strip(), wanted)
    if found.kind != "unknown" or wanted is not None:
        return found
    named = scan_providers(text)
    if len(named) != 1:
        return found
    bare = (text[: named[0].start] + text[named[0].end :]).strip(" 的-_,，")
    return _find(bare, named[0].provider) if bare else found


def get_instance(text: str, provider: str | None = None) -> InstanceOffer:
    """The one instance type of a name.

    Raises:
        UnknownInstanceError: If there is no such type; the candidates name real ones.
        AmbiguousInstanceError: If several clouds sell it and no provider is given.
    """
    found = find_instance(text, provider)
    if len(found.offers) == 1:
        return found.offers[0]
    if found.offers:
        clouds = [f"{o.provider} {o.instance_type}" for o in found.offers]
        raise AmbiguousInstanceError(text, clouds)
    if found.kind == "family":
        names = [o.instance_type for f in found.families for o in f.offers][:_NEAREST]
    else:
        names = [o.instance_type for o in found.nearest]
    raise UnknownInstanceError(text, names)


def family(name: str, provider: str | None = None) -> tuple[Family, ...]:
    """Families of a name, one a cloud.

    Raises:
        UnknownInstanceError: If no cloud (or not the one asked for) has such a family.
    """
    found = find_instance(name, provider)
    if found.kind == "family":
        return found.families
    raise UnknownInstanceError(name, [o.instance_type for o in found.nearest])


@lru_cache(maxsize=4096)
def _find(text: str, provider: str | None) -> InstanceLookup:
    key = squash(text)
    types = index().types.get(key, ())
    hits = _at(types, provider)
    if hits:
        return InstanceLookup(
            text,
            provider,
            "type",
            offers=hits,
            families=tuple(f for o in hits for f in _families(squash(own_family(o)), o.provider))
            or tuple(f for o in hits for f in _families(squash(o.family), o.provider)),
            elsewhere=_others(types, provider),
        )
    families = _families(key, provider)
    if families:
        everywhere = {f.provider for f in _families(key, None)}
        return InstanceLookup(
            text,
            provider,
            "family",
            families=families,
            elsewhere=tuple(sorted(everywhere - {f.provider for f in families})),
        )
    return _unknown(text, provider)


def _at(offers: Iterable[InstanceOffer], provider: str | None) -> tuple[InstanceOffer, ...]:
    return tuple(o for o in offers if provider is None or o.provider == provider)


def _others(offers: Iterable[InstanceOffer], provider: str | None) -> tuple[str, ...]:
    return tuple(sorted({o.provider for o in offers if provider and o.provider != provider}))


def _families(key: str, provider: str | None) -> tuple[Family, ...]:
    """Families of a squashed name: from the rows, else from the vendors' naming rules."""
    hits = _at(index().families.get(key, ()), provider)
    found = []
    for cloud in covered_providers():
        if provider not in (None, cloud):
            continue
        own = tuple(o for o in hits if o.provider == cloud)
        rule = rule_for(key, provider=cloud)
        if own:
            found.append(_family_of(key, cloud, own, rule))
        elif rule and len(key) > 1:
            found.append(_family_of(key, cloud, (), rule))
    return tuple(found)


def _family_of(
    key: str, provider: str, offers: tuple[InstanceOffer, ...], rule: FamilyRule | None
) -> Family:
    ordered = tuple(sorted(offers, key=size_order))
    categories = [o.category for o in ordered]
    category: Category = categories[0] if categories else rule.category if rule else "cpu"
    if "gpu" in categories:
        category = "gpu"
    by_type = provider == "azure" or category == "cpu"
    names = {own_family(o) if by_type else o.family for o in ordered}
    return Family(
        provider=provider,
        name=names.pop() if len(names) == 1 else key,
        category=category,
        gpu_labels=tuple(dict.fromkeys(o.gpu_label for o in ordered if o.gpu_label)),
        offers=ordered,
        purpose_en=rule.purpose_en if rule and category == "cpu" else None,
        purpose_zh=rule.purpose_zh if rule and category == "cpu" else None,
        sources=tuple(dict.fromkeys(offer_source(o) for o in ordered[:1])),
    )


def size_order(offer: InstanceOffer) -> tuple[float, int, float, str]:
    """Smallest first: by share of cards, vCPUs, memory; unknown last."""
    return (
        offer.card_count if offer.card_count is not None else 99.0,
        offer.vcpu_count or 10**6,
        offer.memory_gib or 1e9,
        offer.instance_type,
    )


@lru_cache(maxsize=8192)
def split_size(text: str) -> tuple[str, str]:
    """Family part and size part of a written type.

    >>> split_size("ecs.gn7i-c8g1.2xlarge"), split_size("p4d24xlarge"), split_size("gn7i-gpu8")
    (('gn7i-c8g1', '2xlarge'), ('p4d', '24xlarge'), ('gn7i-gpu8', ''))
    """
    folded = fold(text)
    found = re.search(r"[.\-_ ]?(\d*x?large\d*|(?:medium|small|micro|nano)\d*|metal)$", folded)
    return (folded[: found.start()], found[1]) if found else (folded, "")


def _unknown(text: str, provider: str | None) -> InstanceLookup:
    stem, size = split_size(text)
    key = squash(stem)
    heads = [name for name in index().families if key.startswith(name) and len(name) > 1]
    head = max(heads, key=len, default=None)
    families = _families(head, provider) if head and _is_border(stem, head) else ()
    if not families and (ruled := _rule_families(text, stem, provider)):
        return InstanceLookup(text, provider, "unlisted", families=ruled)
    pool = [o for f in families for o in f.offers]
    if not pool:
        pool = _close_families(stem, provider)
    ranked = _ranked(pool, text, size)
    exact = [*index().types.get(squash(text), ()), *_offers_of(squash(text))]
    return InstanceLookup(
        text,
        provider,
        "unknown",
        families=families,
        elsewhere=_others(exact, provider),
        nearest=tuple(ranked[:_NEAREST]),
    )


def _offers_of(key: str) -> tuple[InstanceOffer, ...]:
    """Types of every cloud's family of that name."""
    return tuple(index().families.get(key, ()))


def _is_border(stem: str, head: str) -> bool:
    """True when the family name ends where the written name has a separator or ends."""
    rest = stem[len(head) :] if stem.startswith(head) else ""
    return stem == head or not rest or not rest[0].isalnum()


def _rule_families(text: str, stem: str, provider: str | None) -> tuple[Family, ...]:
    """CPU families without rows (ml.m4.xlarge) that a vendor's naming rule recognises."""
    found = []
    for cloud in covered_providers():
        name = text if cloud == "azure" else re.split(r"[.\-_ ]", stem)[0]
        fits = provider in (None, cloud) and has_shape_of(text, provider=cloud)
        rule = rule_for(name, provider=cloud) if fits and len(name) > 1 else None
        if rule:
            found.append(_family_of(squash(name), cloud, (), rule))
    return tuple(found)


def has_shape_of(text: str, *, provider: str) -> bool:
    """True when a written type has the form in which this cloud writes its types.

    A cloud whose form is not known has none: its types are found by their rows alone.

    >>> has_shape_of("S5.MEDIUM4", provider="tencent"), has_shape_of("c5.xlarge", provider="gcp")
    (True, False)
    """
    shape = _SHAPES.get(provider)
    return shape is not None and shape.fullmatch(text.strip().lower()) is not None


def _close_families(stem: str, provider: str | None) -> list[InstanceOffer]:
    """Types of the families whose names are fewest edits away, two at most."""
    written = {squash(stem), squash(re.split(r"[.\-_ ]", stem)[0])}
    best, found = _EDIT_LIMIT, dict[str, None]()
    for name in index().families:
        if len(name) < _SHORTEST_TYPO or all(_differ(form, name) for form in written):
            continue
        if provider and not _at(index().families[name], provider):
            continue
        distance = min(edit_distance(form, name, limit=best) for form in written)
        if distance < best:
            best, found = distance, {name: None}
        elif distance == best:
            found[name] = None
    offers = dict.fromkeys(o for name in found for o in _at(index().families[name], provider))
    return list(offers)


def _differ(left: str, right: str) -> bool:
    """True when two names are more edits apart than a typo: quick, by length and letters."""
    if abs(len(left) - len(right)) > _EDIT_LIMIT:
        return True
    if left[:1] not in right[:2] and right[:1] not in left[:2]:
        return True
    return len(set(left) ^ set(right)) > 2 * _EDIT_LIMIT


def _ranked(pool: Sequence[InstanceOffer], text: str, size: str) -> list[InstanceOffer]:
    """Real types from the nearest to a written one: by beginning, size, edits, then smallest.

    Edits are counted for the first few only: they are what takes time.
    """
    written = squash(text)

    def coarse(offer: InstanceOffer) -> tuple[int, bool, int]:
        name = own_family(offer)
        shared = len(os.path.commonprefix([written, squash(name)]))
        real = split_size(offer.instance_type)[1]
        length = abs(len(squash(offer.instance_type)) - len(written))
        return -shared, bool(size) and real != size, length

    near = sorted(pool, key=coarse)[:_COMPARED]

    def fine(offer: InstanceOffer) -> tuple[object, ...]:
        edits = edit_distance(squash(offer.instance_type), written, limit=_MOST_EDITS)
        slip = edits if edits <= _SLIP else _MOST_EDITS
        return slip, *coarse(offer)[:2], edits, size_order(offer)

    return sorted(near, key=fine)
