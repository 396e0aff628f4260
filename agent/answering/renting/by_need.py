"""Which machines meet a list of conditions, and which may: the catalog searched by need."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from typing import Any

from agent.answering.plan import Call, Context, Plan
from agent.answering.renting.need_words import MachineNeed, read_need
from agent.answering.telling.draft import DETAIL, HEAD, Draft
from agent.answering.telling.machines import (
    cards_text,
    instance_line,
    price_text,
    provider_name,
    say_price_sources,
)
from agent.answering.telling.numbers import money
from agent.answering.telling.run_words import joined
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.catalog import InstancesReport, UncertainOut
from agent.toolbox.offers import InstanceOut

_MACHINES = re.compile(
    r"机器|机型|裸金属|bare[\s-]metal|规格|实例|服务器|主机(?!内存)|云主机|节点|配置|型号"
    r"|(?<![a-z])(?:instances?|instance\stypes?|machines?|vms?|box(?:es)?|servers?|skus?|sizes?|offers?)(?![a-z])",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"哪些|哪个|哪种|哪款|哪几|有没有|有什么|什么样|列出|列一下|列举|找|求|推荐|选|想要|要一台|来一台|给我|最便宜"
    r"|(?<![a-z])(?:which|what|list|show|find|any|is\sthere|are\sthere|looking\sfor|need|want|recommend"
    r"|cheapest|give\sme|have)(?![a-z])",
    re.IGNORECASE,
)
_WHICH = re.compile(r"哪些|列出|列举|(?<![a-z])(?:which|list|show)(?![a-z])", re.IGNORECASE)
_CARDS = re.compile(
    r"(?:什么|哪些|哪种|哪款)(?:显)?卡|(?<![a-z])(?:which|what)\s(?:gpus?|cards?)(?![a-z])",
    re.IGNORECASE,
)
_NOT_A_SEARCH = re.compile(
    r"要不要|需不需要|需要吗|有必要|区别|差别|为什么|怎么|如何|够不够|够吗|够用吗|能跑|能不能|划算|会不会"
    r"|(?<![a-z])(?:why|how\s(?:do|to|many|long|fast)|should\s(?:i|we)|do\s(?:i|we)\sneed|difference|worth"
    r"|enough|can\s(?:i|we|it))(?![a-z])",
    re.IGNORECASE,
)
_BARE_CARD = re.compile(r"[A-Za-z]+\d+[A-Za-z]*|[A-Za-z]+ \d+")
"""A card's name without maker, form and memory: all of its kinds are left out."""
_SHOWN, _SHOWN_APART, _MOST = 6, 4, 50
_LEAST_POINTS, _LONGEST = 2, 160
"""A short list of conditions is a search even without a word that asks."""
_JOB_SLOTS = (
    "model", "models", "params_b", "model_size_mb", "instance", "instances", "samples", "tokens",
    "epochs", "steps", "step_s", "steps_per_s", "gpu_mem_used_mib", "gpu_util_pct", "dataset",
)  # fmt: skip


def applies(request: Request, context: Context) -> bool:
    """True for machines asked for by what they must have, with nothing said of a job."""
    text = request.search_query
    if request.pasted or any(getattr(request.slots, name) for name in _JOB_SLOTS):
        return False
    has_noun = _MACHINES.search(text) or _CARDS.search(text)
    if has_noun is None or _NOT_A_SEARCH.search(text):
        return False
    need = read_need(request)
    if need.hard == ("max_price",) and _CARDS.search(text):
        return True
    if not need.hard and not (_is_by_size(need) and _WHICH.search(text)):
        return False
    is_list = len(need.points) >= _LEAST_POINTS and len(text) <= _LONGEST
    return _ASKS.search(text) is not None or is_list


def _is_by_size(need: MachineNeed) -> bool:
    """Whether memory is asked for without a card, or several of a card."""
    if "gpus" in need.points:
        return int(need.points.get("min_gpu_count", 1)) > 1
    return "min_gpu_memory_gb" in need.points


def compose(request: Request, context: Context) -> Plan:
    """Those that meet every condition, cheapest first; apart, those of which a point is unknown."""
    draft = Draft(request.model_copy(update={"clarifying_question": None, "corrections": ()}))
    need = read_need(request)
    reports = yield from _search(draft, need.points, need)
    rows = _ranked([row for report in reports for row in report.instances])
    total = sum(report.total for report in reports)
    conditions = _conditions(draft, need)
    if rows:
        exact = [row for row in rows if row.gpu_count == need.points.get("min_gpu_count")]
        first = exact if need.exact_count and exact else rows
        draft.figure("types", total, "1", formula="types that meet every condition")
        key = "by_need.found" if total > 1 else "by_need.found_one"
        draft.say(key, count=total, conditions=conditions, importance=HEAD)
        _tell_rows(draft, _by_card(first) if _CARDS.search(request.search_query) else first)
        if need.exact_count and not exact:
            draft.say("by_need.more_cards", count=need.points["min_gpu_count"])
    else:
        draft.say("by_need.none", conditions=conditions, importance=HEAD)
        yield from _without_one(draft, need)
    _tell_apart(draft, [row for report in reports for row in report.uncertain],
                sum(report.uncertain_total for report in reports))  # fmt: skip
    _tell_sources(draft, rows)
    return draft.finish("not_applicable", intent="catalog_lookup")


def _search(
    draft: Draft, points: dict[str, Any], need: MachineNeed
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], list[InstancesReport]]:
    """One search a cloud and card named; all of the catalog where none is."""
    common = {k: v for k, v in points.items() if k not in ("provider", "gpus")}
    currency = points.get("max_price_currency") or ("CNY" if draft.language == "zh" else "USD")
    results = yield tuple(
        Call("find_instances", {
            **common, "provider": cloud, "gpu": gpu, "any_variant": gpu is not None or None,
            "currency": currency, "limit": _MOST,
        })
        for cloud in points.get("provider") or (None,)
        for gpu in points.get("gpus") or (None,)
    )  # fmt: skip
    draft.use(*results)
    return [r.report for r in results if isinstance(r.report, InstancesReport)]


def _ranked(rows: Sequence[InstanceOut]) -> list[InstanceOut]:
    """The cheapest with a dated price first, then those without one by size."""
    return sorted(
        rows,
        key=lambda r: (
            r.compared is None,
            r.compared.per_hour if r.compared else 0,
            r.gpu_count or 0,
            r.vcpu or 0,
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


def _without_one(draft: Draft, need: MachineNeed) -> Generator[Any, Any, None]:
    """What there is when one condition is dropped."""
    lines = []
    for name in need.points:
        if name in ("max_price_currency", "max_price_of_card", "in_region", "provider", "gpus"):
            continue
        fewer = {k: v for k, v in need.points.items() if not _goes_with(k, name)}
        reports = yield from _search(draft, fewer, need)
        rows = _ranked([row for report in reports for row in report.instances])
        if rows:
            lines.append(
                draft.phrase(
                    "by_need.without",
                    condition=_condition(draft, name, need.points),
                    line=instance_line(draft, rows[0], with_provider=True),
                )
            )
            draft.offer([rows[0].as_offer()])
    draft.bullets(lines[:4], title=draft.phrase("by_need.without_title"))


def _goes_with(key: str, dropped: str) -> bool:
    """Whether an argument falls with the condition that is dropped."""
    pairs = {"region": ("in_region",), "rdma": ("min_rdma_gbps",)}
    return key == dropped or key in pairs.get(dropped, ())


def _conditions(draft: Draft, need: MachineNeed) -> str:
    """The conditions as they were understood."""
    told = [_condition(draft, name, need.points) for name in need.points]
    if draft.language == "zh":
        return "、".join(text for text in told if text)
    return ", ".join(text for text in told if text)


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
        per = "/小时" if draft.language == "zh" else "/h"
        key = "asked_max_price_of_card" if points.get("max_price_of_card") else "asked_max_price"
        return draft.phrase(f"by_need.{key}",
                            value=money(value, currency, draft.language, per=per))  # fmt: skip
    if name in ("provider", "exclude_providers"):
        value = [provider_name(draft, p) for p in value]
    if name == "exclude_gpus":
        value = [bare[0] if (bare := _BARE_CARD.search(card)) else card for card in value]
    if name in ("provider", "gpus", "exclude_gpus", "exclude_providers"):
        key = "asked_one_of" if name in ("provider", "gpus") else "asked_none_of"
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
