"""Regions: a vendor's id, a city in either language, or a group (cn = mainland China)."""

from __future__ import annotations

from functools import cache
from typing import Literal, NamedTuple, get_args

from tools.catalog import table
from tools.catalog.loader import DATA
from tools.catalog.table import Column
from tools.errors import BadQuantityError

_FILE = "regions.csv"
Group = Literal["cn", "hk", "us", "eu", "ap", "other"]
GROUPS: tuple[Group, ...] = get_args(Group)
_COLUMNS = (
    Column("provider", table.text, required=True),
    Column("region", table.text, required=True),
    Column("group", table.one_of(GROUPS), required=True),
    Column("aliases", table.words),
)
_GROUP_WORDS: dict[str, tuple[Group, ...]] = {
    **{group: (group,) for group in GROUPS},
    "china": ("cn",),
    "mainland": ("cn",),
    "中国": ("cn",),
    "国内": ("cn",),
    "大陆": ("cn",),
    "中国大陆": ("cn",),
    "美国": ("us",),
    "usa": ("us",),
    "欧洲": ("eu",),
    "europe": ("eu",),
    "亚太": ("ap", "hk"),
    "asia": ("ap", "hk"),
    "海外": ("hk", "us", "eu", "ap", "other"),
    "overseas": ("hk", "us", "eu", "ap", "other"),
}


class Region(NamedTuple):
    """One region of one provider."""

    provider: str
    region: str
    group: Group
    aliases: tuple[str, ...] | None


@cache
def all_regions() -> tuple[Region, ...]:
    """Regions that carry a price, and a few more that are written often."""
    rows = table.read_rows(table.read_text(DATA / _FILE), columns=_COLUMNS, file=_FILE)
    return tuple(Region(*cells) for _, cells in rows)


@cache
def regions_named(written: str) -> frozenset[tuple[str, str]]:
    """(provider, region) pairs that a written region stands for.

    Args:
        written: A vendor's region id, a city or country in zh or en, or a group: cn (mainland
            China, without Hong Kong), hk, us, eu, ap, overseas.

    Raises:
        BadQuantityError: If nothing is known by that name.
    """
    key = written.strip().lower()
    groups = _GROUP_WORDS.get(key, ())
    found = frozenset(
        (row.provider, row.region)
        for row in all_regions()
        if row.group in groups or key == row.region or key in (row.aliases or ())
    )
    if not found:
        raise BadQuantityError(
            field="region",
            given=written,
            allowed="a vendor's region id such as cn-beijing or us-east-1, a city, or one of "
            "cn, hk, us, eu, ap, overseas",
        )
    return found


@cache
def region_group(provider: str, region: str) -> Group | None:
    """Group of a region; None when the region is not known."""
    for row in all_regions():
        if (row.provider, row.region) == (provider, region):
            return row.group
    return None
