"""Spellings of instance types and families, and the index over them."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from tools.catalog import table
from tools.catalog.loader import DATA, FAMILIES_FILE, catalog
from tools.catalog.offer import CATEGORIES, Category, InstanceOffer
from tools.catalog.table import Column

_PREFIX = re.compile(r"^(?:(ecs)[._\- ]?|(ml)[._]|(standard)[_ \-])(?=[a-z])")
_PREFIX_PROVIDERS = {"ecs": "alibaba", "ml": "aws", "standard": "azure"}
"""Prefixes that only one cloud writes: ECS types, SageMaker's ml. types, Azure sizes."""
_SEPARATORS = re.compile(r"[^0-9a-z\u4e00-\u9fff]+")
_ALIBABA_SHAPE = re.compile(r"-(?:c\d+[gm]\d+|\d+x|m\d+s?|\d+g)\b.*$")
_AZURE_SIZE = re.compile(r"^standard_([a-z]+)\d+([a-z]*)((?:_[a-z0-9]+)*)$")
_FAMILY_COLUMNS = (
    Column("provider", table.text, required=True),
    Column("pattern", re.compile, required=True),
    Column("category", table.one_of(CATEGORIES), required=True),
    Column("purpose_en", table.text, required=True),
    Column("purpose_zh", table.text, required=True),
    Column("source", table.text, required=True),
)


class FamilyRule(NamedTuple):
    """What a vendor's naming rule says of a family, also of one without rows here."""

    provider: str
    pattern: re.Pattern[str]
    category: Category
    purpose_en: str
    purpose_zh: str
    source_id: str


class Index(NamedTuple):
    """Offers by squashed type name and by squashed family name."""

    types: Mapping[str, tuple[InstanceOffer, ...]]
    families: Mapping[str, tuple[InstanceOffer, ...]]


def fold(name: str) -> str:
    """Name in one width and case, without the prefix of its cloud."""
    folded = unicodedata.normalize("NFKC", name).strip().lower()
    return _PREFIX.sub("", folded)


@lru_cache(maxsize=8192)
def squash(name: str) -> str:
    """Key of a written name: prefix and separators do not count.

    >>> squash("ecs.gn7i-c8g1.2xlarge"), squash("p4d.24XLARGE"), squash("Standard_NC24s_v3")
    ('gn7ic8g12xlarge', 'p4d24xlarge', 'nc24sv3')
    """
    return _SEPARATORS.sub("", fold(name))


def prefix_provider(name: str) -> str | None:
    """Provider that the prefix of a name gives away."""
    found = _PREFIX.match(unicodedata.normalize("NFKC", name).strip().lower())
    return _PREFIX_PROVIDERS[found[found.lastindex or 0]] if found else None


@lru_cache(maxsize=2048)
def own_family(offer: InstanceOffer) -> str:
    """Family as the type itself spells it: c7n for ecs.c7n.large, which the row files under c7."""
    if offer.provider == "azure":
        found = _AZURE_SIZE.match(offer.instance_type.lower())
        return "".join(found.groups()).upper() if found else offer.family
    stem = fold(offer.instance_type).split(".")[0].split(" ")[0]
    return _ALIBABA_SHAPE.sub("", stem) if offer.provider == "alibaba" else stem


def family_names(offer: InstanceOffer) -> set[str]:
    """Squashed names under which an offer's family is looked up."""
    names = {squash(offer.family)}
    if offer.category == "cpu":
        names = {squash(own_family(offer))}
    if offer.family.endswith("-vws") or offer.family.startswith("p6-"):
        names.add(squash(offer.family.split("-")[0]))
    if offer.provider == "azure":
        names = _azure_families(offer)
    return names


def _azure_families(offer: InstanceOffer) -> set[str]:
    """NCadsA100v4, NCA100v4 and the vendor's own for Standard_NC24ads_A100_v4; NCv3 for _v3."""
    names = {squash(offer.family)}
    found = _AZURE_SIZE.match(offer.instance_type.lower())
    if found:
        letters, features, tail = found.groups()
        names |= {squash(letters + features + tail), squash(letters + tail)}
    return {name for name in names if len(name) > 1}


@cache
def index() -> Index:
    """The index over the whole catalog, built once."""
    types: dict[str, list[InstanceOffer]] = defaultdict(list)
    families: dict[str, list[InstanceOffer]] = defaultdict(list)
    for offer in catalog().offers:
        types[squash(offer.instance_type)].append(offer)
        if " " in offer.instance_type:
            types[squash(offer.instance_type.split(" ")[0])].append(offer)
        for name in family_names(offer):
            families[name].append(offer)
    return Index(
        {key: tuple(found) for key, found in types.items()},
        {key: tuple(found) for key, found in families.items()},
    )


@cache
def family_rules() -> tuple[FamilyRule, ...]:
    """Rows of data/families.csv."""
    lines = table.read_text(DATA / FAMILIES_FILE)
    rows = table.read_rows(lines, columns=_FAMILY_COLUMNS, file=FAMILIES_FILE)
    return tuple(FamilyRule(*cells) for _, cells in rows)


def rule_for(family: str, *, provider: str) -> FamilyRule | None:
    """What the vendor's naming rule says of a family name; None when no rule covers it."""
    key = _SEPARATORS.sub("", family.lower()) if provider == "azure" else squash(family)
    for rule in family_rules():
        if rule.provider == provider and rule.pattern.fullmatch(key):
            return rule
    return None


def edit_distance(left: str, right: str, *, limit: int) -> int:
    """Edits (insert, delete, replace, swap of neighbours) between two names, up to `limit` + 1.

    >>> edit_distance("gdn", "g4dn", limit=2), edit_distance("gn7i", "gn7e", limit=2)
    (1, 1)
    """
    if abs(len(left) - len(right)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, start=1):
        older, before, row = before, row, [i]
        for j, b in enumerate(right, start=1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return limit + 1
    return row[-1]
