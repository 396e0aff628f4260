"""Instance types and families named in free text, zh or en, with where they stand.

A short family name (g6, p3, t2) is also an ordinary token, so it counts only where the text
speaks of clouds or machines; a card (A2, T4), a model (t5-large) or a word never counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from tools.catalog.lookup import InstanceLookup, find_instance, has_shape_of
from tools.catalog.names import index, prefix_provider, rule_for, squash
from tools.catalog.providers import ProviderMention, covered_providers, scan_providers

_TOKEN = re.compile(r"(?<![A-Za-z0-9._\-])[A-Za-z0-9][A-Za-z0-9._\-]*[A-Za-z0-9]")
_COUNT = re.compile(r"^\d+[x*](?=[a-z])", re.IGNORECASE)
_WILDCARD = re.compile(r"[.\-_](?:x+|\*)$", re.IGNORECASE)
_CONTEXT = re.compile(
    r"云|实例|规格|机型|服务器|主机|租|ecs|ec2|cvm|instance|\btype\b|family|families|\bcloud\b|vcpu"
    r"|\bvm\b|spot|抢占|竞价|按量|包月|包年",
    re.IGNORECASE,
)
_NEEDS_PROVIDER = re.compile(r"[a-z]\d{1,2}|e|n[cdvg]s?|ncsv\d|nv\w?\d?")
_CONTEXT_IS_ENOUGH = re.compile(r"[gpct]\d")
_OTHER_MEANING = re.compile(
    r"a\d|p[14]0?|t4g?|m\d+(?:max|pro|ultra)?|k\d+|v\d+|s3|r[3579]|i[3579]|c[123]|gpt\d*|t5"
)
"""Cards, chips, storage and CPU brands that look like a family."""
_MODELS = ("t5", "gpt2", "m1", "m2", "m3")
"""Models and chips that are written like a family with a size: t5.large."""
_SPOKEN = re.compile(r"^([a-z0-9]+)-[a-z]{3,}$", re.IGNORECASE)
"""g4dn-based, gn7i-like: a family with an ordinary word behind it."""
_NAMED_AS = re.compile(
    r"[ \t]*(?:实例|规格|机型|系列|families|family|instances?\b|series)", re.IGNORECASE
)
_ECS = re.compile(r"(?<![a-z0-9])ecs(?![a-z0-9.])", re.IGNORECASE)
"""Alibaba's product name: it tells short names apart, without naming the provider outright."""
_NEAR = 16
_AFTER = re.compile(
    r"[ \t]*(?:on|in|from|at|of|by|for|@|\(|（|,|，)?[ \t]*(?:the[ \t]+)?", re.IGNORECASE
)


class InstanceMention(NamedTuple):
    """An instance type or family named in a text."""

    lookup: InstanceLookup
    start: int
    end: int
    text: str
    provider: str | None
    """Provider by the name's prefix, else by the words around it; None when not said."""


def scan_instances(text: str, *, provider: str | None = None) -> list[InstanceMention]:
    """Instance types and families that a text names, in order.

    Args:
        text: Free text, zh or en.
        provider: Provider known from elsewhere (an earlier turn); used where the text names none.

    Returns:
        Mentions with the looked-up rows. A name that has the form of a type and does not exist
        is returned too, with `lookup.exists` False.
    """
    clouds = [m for m in scan_providers(text) if m.provider in covered_providers()]
    in_context = bool(clouds) or provider is not None or _CONTEXT.search(text) is not None
    speaks_of_ecs = _ECS.search(text) is not None
    found: list[InstanceMention] = []
    for token in _TOKEN.finditer(text):
        start, written = _without_count(token.start(), token[0])
        if not _may_name_an_instance(written):
            continue
        spoken = _SPOKEN.match(written)
        if spoken and squash(written) not in index().families and spoken[1] in _long_families():
            written = spoken[1]
        end = start + len(written)
        cloud = prefix_provider(written) or _provider_at(text, start, end, clouds) or provider
        if cloud is None and speaks_of_ecs:
            cloud = "alibaba"
        named = _WILDCARD.sub("", written) or written
        is_named = cloud is not None or _NAMED_AS.match(text, end) is not None
        lookup = _lookup(named, cloud, in_context=in_context, has_cloud=is_named)
        if lookup is not None:
            found.append(InstanceMention(lookup, start, end, written, _whose(lookup, cloud)))
    return found


def _whose(lookup: InstanceLookup, cloud: str | None) -> str | None:
    """The cloud around a name, unless the name exists only elsewhere."""
    owners = {o.provider for o in lookup.offers} | {f.provider for f in lookup.families}
    return cloud if not owners or cloud in owners else None


def _without_count(start: int, written: str) -> tuple[int, str]:
    """4xg5.12xlarge is four g5.12xlarge."""
    count = _COUNT.match(written)
    return (start + count.end(), written[count.end() :]) if count else (start, written)


def _may_name_an_instance(written: str) -> bool:
    has_digit = any(c.isdigit() for c in written)
    return has_digit and any(c.isalpha() for c in written) and len(written) <= 48


def _lookup(
    written: str, cloud: str | None, *, in_context: bool, has_cloud: bool
) -> InstanceLookup | None:
    key = squash(written)
    if key in index().types and (len(key) > 4 or in_context or prefix_provider(written)):
        return _anywhere(written, cloud)
    if key in index().families or (len(key) <= 4 and has_cloud):
        return _family(written, key, cloud, in_context=in_context, has_cloud=has_cloud)
    if _looks_like_a_type(written):
        found = _anywhere(written, cloud)
        return found if found.families or found.nearest or prefix_provider(written) else None
    return None


def _family(
    written: str, key: str, cloud: str | None, *, in_context: bool, has_cloud: bool
) -> InstanceLookup | None:
    if _OTHER_MEANING.fullmatch(key) and not prefix_provider(written):
        is_named_family = has_cloud and cloud is not None and _has_gpu_rows(key, cloud)
        if not is_named_family:
            return None
    elif _NEEDS_PROVIDER.fullmatch(key) and not has_cloud:
        if not (in_context and _CONTEXT_IS_ENOUGH.fullmatch(key)):
            return None
    found = _anywhere(written, cloud)
    return found if found.kind == "family" else None


def _has_gpu_rows(key: str, cloud: str) -> bool:
    return any(o.provider == cloud and o.is_gpu for o in index().families.get(key, ()))


def _anywhere(written: str, cloud: str | None) -> InstanceLookup:
    """The lookup at the provider; where that has no such name but another has, that one."""
    found = find_instance(written, cloud)
    if not found.exists and cloud is not None and prefix_provider(written) is None:
        everywhere = find_instance(written)
        if everywhere.exists:
            return everywhere
    return found


def _looks_like_a_type(written: str) -> bool:
    """A name in the form of a type: with a cloud's prefix, a size, or a known GPU family ahead."""
    if prefix_provider(written):
        return True
    head = re.split(r"[.\-_]", written.lower())[0]
    known = head in _long_families()
    if known and len(head) < len(written):
        return True
    if has_shape_of(written, provider="gcp"):
        return True
    if not any(has_shape_of(written, provider=cloud) for cloud in ("alibaba", "aws", "tencent")):
        return _azure_like(written)
    if head not in _MODELS and rule_for(head, provider="aws") is not None:
        return True
    is_plain = _OTHER_MEANING.fullmatch(head) is not None
    return any(c.isdigit() for c in written.split(".", 1)[1]) or (
        not is_plain and any(c.isdigit() for c in head)
    )


def _azure_like(written: str) -> bool:
    return re.fullmatch(r"n[cdvg]\d+[a-z]*(?:_[a-z0-9]+)*_v\d", written.lower()) is not None


@cache
def _long_families() -> frozenset[str]:
    """GPU families whose names are nothing else: gn7i, g4dn, ebmgn8v, PNV4."""
    return frozenset(
        name
        for name, offers in index().families.items()
        if len(name) >= 3
        and any(c.isdigit() for c in name)
        and any(o.category != "cpu" for o in offers)
        and _OTHER_MEANING.fullmatch(name) is None
    )


def _provider_at(text: str, start: int, end: int, clouds: Sequence[ProviderMention]) -> str | None:
    """Provider that the words around a name give it."""
    after = _AFTER.match(text, end)
    behind = after.end() if after else end
    for cloud in clouds:
        if cloud.start == behind and behind > end:
            return cloud.provider
    before = [c for c in clouds if c.end <= start]
    if before and start - before[-1].end <= _NEAR:
        return before[-1].provider
    names = {c.provider for c in clouds}
    if len(names) == 1:
        return names.pop()
    return before[-1].provider if before else None
