"""Which machines meet a list of conditions, and which may: the catalog searched by need."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from decimal import Decimal
from typing import Any

from agent.answering.plan import Call, Context, Plan
from agent.answering.renting.renting import has_share, unknown_last
from agent.answering.telling.draft import DETAIL, HEAD, Draft
from agent.answering.telling.machines import (
    cards_text,
    instance_line,
    price_text,
    provider_name,
    say_price_sources,
)
from agent.answering.telling.numbers import hourly, usual_currency
from agent.answering.telling.run_words import joined
from agent.request import MachineNeed, Request
from agent.toolbox import ToolResult
from agent.toolbox.catalog import InstancesReport, UncertainOut
from agent.toolbox.offers import InstanceOut
from tools.units import HOURS_PER_MONTH

_BARE_CARD = re.compile(r"[A-Za-z]+\d+[A-Za-z]*|[A-Za-z]+ \d+")
"""A card's name without maker, form and memory: all of its kinds are left out."""
_SHOWN, _SHOWN_APART, _MOST = 6, 4, 50
_LEAST_CONDITIONS = 2
"""A short list of so many conditions is a search even without a word that asks."""
_OF_A_FAILURE = ("oom_diagnosis", "io_bottleneck", "spot_checkpoint")
"""Questions that describe the machine there is."""
_NO_CONDITIONS = ("exact_count", "is_list", "asks_cards", "gpu_share")
"""Fields of a need that are no condition of a search."""
_SOFT = ("gpus", "providers", "region", "min_gpu_count", "min_gpu_memory_gb", "max_price_of_card")
"""What a question about a run or a card says as well."""
_JOB_SLOTS = (
    "model", "models", "params_b", "model_size_mb", "instance", "instances", "samples", "tokens",
    "epochs", "steps", "step_s", "steps_per_s", "gpu_mem_used_mib", "gpu_util_pct", "dataset",
)  # fmt: skip


def applies(request: Request, context: Context) -> bool:
    """True for machines asked for by what they must have, with nothing said of a job."""
    need = request.need
    if need is None or request.pasted or any(getattr(request.slots, name) for name in _JOB_SLOTS):
        return False
    if request.intent in _OF_A_FAILURE or request.says("renting.no_search"):
        return False
    said = need.model_fields_set
    hard = said.difference(_SOFT, _NO_CONDITIONS)
    if hard == {"max_price"} and need.asks_cards:
        return True
    is_told_apart = need.is_list or request.says("renting.which_of_them")
    if not hard and not (_is_by_size(need) and is_told_apart):
        return False
    conditions = said.difference(_NO_CONDITIONS, ("max_price_of_card",))
    is_list = need.is_list and (_is_by_size(need) or len(conditions) >= _LEAST_CONDITIONS)
    return is_list or need.asks_cards or request.says("renting.wanted")


def _is_by_size(need: MachineNeed) -> bool:
    """Whether memory is asked for without a card, or several of a card."""
    return (need.min_gpu_count or 1) > 1 if need.gpus else need.min_gpu_memory_gb is not None


def compose(request: Request, context: Context) -> Plan:
    """Those that meet every condition, cheapest first; apart, those of which a point is unknown."""
    draft = Draft(request.model_copy(update={"clarifying_question": None, "corrections": ()}))
    need = request.need or MachineNeed()
    points = _points(draft, need)
    reports = yield from _search(draft, points)
    rows = _ranked([row for report in reports for row in report.instances])
    total = sum(report.total for report in reports)
    if need.gpu_share is not None and need.gpu_share < 1:
        rows = [row for row in rows if has_share(row, need.gpu_share)]
        total = len(rows)
    conditions = _conditions(draft, points)
    if rows:
        exact = [row for row in rows if row.gpu_count == need.min_gpu_count]
        first = exact if need.exact_count and exact else rows
        draft.figure("types", total, "1", formula="types that meet every condition")
        key = "by_need.found" if total > 1 else "by_need.found_one"
        draft.say(key, count=total, conditions=conditions, importance=HEAD)
        _tell_rows(draft, _by_card(first) if need.asks_cards else first)
        if need.exact_count and not exact:
            draft.say("by_need.more_cards", count=need.min_gpu_count)
    else:
        draft.say("by_need.none", conditions=conditions, importance=HEAD)
        yield from _without_one(draft, points)
    _tell_apart(draft, [row for report in reports for row in report.uncertain],
                sum(report.uncertain_total for report in reports))  # fmt: skip
    _tell_sources(draft, rows)
    return draft.finish("not_applicable", intent="catalog_lookup")


def _points(draft: Draft, need: MachineNeed) -> dict[str, Any]:
    """Arguments of the search, one a condition; cards and clouds named are searched one by one."""
    points = need.model_dump(exclude_defaults=True, exclude={*_NO_CONDITIONS, "max_price"})
    price = need.max_price
    if price is not None:
        hours = HOURS_PER_MONTH if price.per == "month" else 1
        points["max_price"] = (Decimal(str(price.amount)) / hours).quantize(Decimal("0.0001"))
        points["max_price_currency"] = price.currency or usual_currency(draft.language)
    if need.region is not None:
        points["in_region"] = True
    return points


def _search(
    draft: Draft, points: dict[str, Any]
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], list[InstancesReport]]:
    """One search a cloud and card named; all of the catalog where none is."""
    common = {k: v for k, v in points.items() if k not in ("providers", "gpus")}
    currency = points.get("max_price_currency") or usual_currency(draft.language)
    results = yield tuple(
        Call("find_instances", {
            **common, "provider": cloud, "gpu": gpu, "any_variant": gpu is not None or None,
            "currency": currency, "limit": _MOST,
        })
        for cloud in points.get("providers") or (None,)
        for gpu in points.get("gpus") or (None,)
    )  # fmt: skip
    draft.use(*results)
    return [r.report for r in results if isinstance(r.report, InstancesReport)]


def _ranked(rows: Sequence[InstanceOut]) -> list[InstanceOut]:
    """The cheapest with a dated price first, then those without one by size."""
    return sorted(
        rows,
        key=lambda r: unknown_last(
            float(r.compared.per_hour) if r.compared else None, r.gpu_count, r.vcpu
        ),
    )


def _by_card(rows: Sequence[InstanceOut]) -> list[InstanceOut]:
    """The cheapest type of each whole card, the largest memory first; all where none is whole."""
    best: dict[str | None, InstanceOut] = {}
    for row in rows:
        if row.gpu_share == 1 and row.gpu_memory_gb is not None:
            best.setdefault(row.gpu, row)
    return sorted(best.values(), key=lambda r: -(r.gpu_memory_gb or 0)) or list(rows)


def _tell_rows(draft: Draft, rows: Sequence[InstanceOut]) -> None:
    """The cheapest type of each family, and how many more the family has."""
    families: dict[tuple[str, str], list[InstanceOut]] = {}
    for row in rows:
        families.setdefault((row.provider, row.family), []).append(row)
    lines = []
    for members in list(families.values())[:_SHOWN]:
        line = instance_line(draft, members[0], with_provider=True) + _links(draft, members[0])
        if len(members) > 1:
            line += draft.phrase("by_need.family_more", count=len(members) - 1)
            draft.figure(f"{members[0].family}: more types", len(members) - 1, "1",
                         formula="types of the family")  # fmt: skip
        lines.append(line)
    draft.bullets(lines)
    draft.offer(members[0].as_offer() for members in list(families.values())[:_SHOWN])
    rest = [
        f"{provider_name(draft, provider)} {name}"
        for provider, name in list(families)[_SHOWN : _SHOWN + 10]
    ]
    if rest:
        draft.say("by_need.other_families", families=joined(draft, rest), importance=DETAIL)


def _links(draft: Draft, row: InstanceOut) -> str:
    """RDMA and NVLink of a type, where they are known to be there."""
    told = []
    if row.rdma:
        rate = f" {row.rdma_gbps:g} Gbps" if row.rdma_gbps is not None else ""
        told.append(f"RDMA{rate}")
    if row.nvlink:
        told.append("NVLink")
    separator = ", " if draft.language == "en" else "，"
    return "".join(separator + text for text in told)


def _tell_apart(draft: Draft, rows: Sequence[UncertainOut], total: int) -> None:
    """Types of which a point asked for stands in no source, with the point."""
    fewest = min((len(row.unknown) for row in rows), default=0)
    shown = [row for row in rows if len(row.unknown) == fewest]
    families: dict[tuple[str, str], UncertainOut] = {}
    for row in shown:
        families.setdefault((row.instance.provider, row.instance.family), row)
    lines = [_apart_line(draft, row) for row in list(families.values())[:_SHOWN_APART]]
    if not lines:
        return
    draft.figure("types apart", total, "1", formula="types with an unknown point")
    draft.bullets(lines, title=draft.phrase("by_need.apart", count=total))
    draft.offer(row.instance.as_offer() for row in list(families.values())[:_SHOWN_APART])


def _apart_line(draft: Draft, row: UncertainOut) -> str:
    points = joined(draft, [draft.phrase(f"by_need.point_{name}") for name in row.unknown])
    instance = row.instance
    name = f"{provider_name(draft, instance.provider)} `{instance.instance_type}`"
    cards = draft.phrase("machines.in_brackets", text=cards_text(draft, instance))
    price = instance.price or next(iter(instance.listed), None)
    cost = f", {price_text(draft, price)}" if price else ""
    if draft.language == "zh":
        cost = cost.replace(", ", "，", 1)
    return draft.phrase("by_need.apart_line", name=f"{name}{cards}{cost}", points=points)


def _without_one(draft: Draft, points: dict[str, Any]) -> Generator[Any, Any, None]:
    """What there is when one condition is dropped."""
    lines = []
    for name in points:
        if name in _KEPT:
            continue
        fewer = {k: v for k, v in points.items() if k not in (name, *_WITH.get(name, ()))}
        reports = yield from _search(draft, fewer)
        rows = _ranked([row for report in reports for row in report.instances])
        if rows:
            condition = _condition(draft, name, points)
            line = instance_line(draft, rows[0], with_provider=True)
            lines.append(draft.phrase("by_need.without", condition=condition, line=line))
            draft.offer([rows[0].as_offer()])
    draft.bullets(lines[:4], title=draft.phrase("by_need.without_title"))


_KEPT = ("max_price_currency", "max_price_of_card", "in_region", "providers", "gpus")
"""Arguments that are not dropped alone."""
_WITH = {"region": ("in_region",), "rdma": ("min_rdma_gbps",)}
"""Arguments that fall with a condition."""


def _conditions(draft: Draft, points: dict[str, Any]) -> str:
    """The conditions as they were understood."""
    told = [_condition(draft, name, points) for name in points]
    separator = "、" if draft.language == "zh" else ", "
    return separator.join(text for text in told if text)


_UNITS = {
    "min_gpu_count": "1", "min_gpu_memory_gb": "GB", "min_total_gpu_memory_gb": "GB",
    "min_network_gbps": "Gbit/s", "min_rdma_gbps": "Gbit/s", "min_vcpu": "vCPU",
    "min_memory_gib": "GiB",
}  # fmt: skip


def _condition(draft: Draft, name: str, points: dict[str, Any]) -> str:
    """One condition in words."""
    value = points[name]
    if name == "rdma" and "min_rdma_gbps" in points:
        return ""
    if name in _UNITS:
        draft.figure(f"asked: {name}", value, _UNITS[name], sources=("user:need",))
        return draft.phrase(f"by_need.asked_{name}", value=f"{value:g}")
    if name == "max_price":
        currency = points["max_price_currency"]
        draft.figure("asked: price", value, f"{currency}/h", sources=("user:need",))
        key = "asked_max_price_of_card" if points.get("max_price_of_card") else "asked_max_price"
        return draft.phrase(f"by_need.{key}",
                            value=hourly(value, currency, draft.language))  # fmt: skip
    if name in ("providers", "exclude_providers"):
        value = [provider_name(draft, p) for p in value]
    if name == "exclude_gpus":
        value = [bare[0] if (bare := _BARE_CARD.search(card)) else card for card in value]
    if name in ("providers", "gpus", "exclude_gpus", "exclude_providers"):
        key = "asked_one_of" if name in ("providers", "gpus") else "asked_none_of"
        return draft.phrase(f"by_need.{key}", names=joined(draft, list(value)))
    if name == "region":
        return str(value)
    if name in ("in_region", "max_price_currency", "max_price_of_card"):
        return ""
    if name == "slices":
        return draft.phrase(f"by_need.asked_slices_{value}")
    return draft.phrase(f"by_need.asked_{'with' if value else 'without'}",
                        feature=draft.phrase(f"by_need.point_{name}"))  # fmt: skip


def _tell_sources(draft: Draft, rows: Sequence[InstanceOut]) -> None:
    if any(row.price is not None and row.price.is_old for row in rows[:_SHOWN]):
        draft.say("by_need.old_prices", importance=DETAIL)
    say_price_sources(draft, rows[:_SHOWN])
