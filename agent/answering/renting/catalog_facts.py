"""One attribute of a named instance type or family, told first: NVLink, RDMA, FP8, RAM, regions."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple

from agent.answer import Answer
from agent.answering.plan import Call, Context, Plan
from agent.answering.renting import family_sizes
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.joining import in_front
from agent.answering.telling.numbers import gib
from agent.answering.telling.run_words import joined
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.offers import InstanceOut
from agent.toolbox.registries import GpuReport

_INTENTS = ("catalog_lookup", "cost_estimate")
_NAMED = 3
"""Types named before the rest is left out."""
_MOST_REGIONS = 12


_WITH_BANDWIDTH = ("nvlink", "rdma", "vram_rate")
"""Attributes that have a bandwidth of their own."""


def attributes_asked(request: Request) -> tuple[str, ...]:
    """Attributes that a question about a named type asks for, in the order of the answer."""
    found = {name for name, row in _ATTRIBUTES.items() if request.says(*row.marks)}
    if request.says("renting.of_bandwidth") and not found.intersection(_WITH_BANDWIDTH):
        found.add("network")
    if "vram_rate" in found:
        found.discard("vram")
    return tuple(name for name in _ATTRIBUTES if name in found)


def applies(request: Request, context: Context) -> bool:
    """True where one type or family is named and an attribute of it is asked for.

    A table of all sizes of a family tells them already.
    """
    if family_sizes.applies(request, context):
        return False
    slots = request.slots
    is_one = slots.instance is not None and not slots.instances
    is_of_type = not slots.has_model and slots.nodes is None
    is_kind = request.intent in _INTENTS or (request.intent == "network_distributed" and is_of_type)
    return is_one and is_kind and bool(attributes_asked(request))


def told(plan: Plan, request: Request) -> Plan:
    """The answer of another composer, with the attributes in front of it."""
    answer: Answer = yield from plan
    facts = yield from _facts(request)
    if facts is None:
        return answer
    return in_front(facts, answer, behind_first=request.intent == "cost_estimate")


def _facts(
    request: Request,
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], Answer | None]:
    slots = request.slots
    draft = Draft(request.model_copy(update={"corrections": (), "clarifying_question": None}))
    results = yield (
        Call(
            "find_instances",
            {
                "name": slots.instance,
                "provider": request.cloud,
                "limit": 50,
            },
        ),
    )
    draft.use(*results)
    report = results[0].report
    if not isinstance(report, InstancesReport) or report.kind == "unknown":
        return None
    rows = [row for row in report.instances if row.category != "cpu"] or list(report.instances)
    names = list(dict.fromkeys(row.gpu for row in rows if row.gpu))
    cards: list[GpuReport] = []
    if names:
        found = yield tuple(Call("find_gpu", {"name": name}) for name in names[:_NAMED])
        draft.use(*found)
        cards = [r.report for r in found if isinstance(r.report, GpuReport)]
    if not rows:
        return None
    is_type = report.kind == "type"
    what = _Named(rows[0].instance_type if is_type else rows[0].family, rows, cards, is_type)
    for attribute in attributes_asked(request):
        _ATTRIBUTES[attribute].tell(draft, attribute, what)
    return draft.finish("not_applicable") if draft.has_text else None


class _Named(NamedTuple):
    """What was named: its types with their cards."""

    written: str
    rows: Sequence[InstanceOut]
    cards: Sequence[GpuReport]
    is_type: bool

    @property
    def name(self) -> str:
        """The name as code, so that its underscores stay."""
        return f"`{self.written}`"


def _types(draft: Draft, rows: Sequence[InstanceOut]) -> str:
    named = [f"`{row.instance_type}`" for row in rows[:_NAMED]]
    more = " …" if len(rows) > _NAMED else ""
    return joined(draft, named) + more


def _cards_named(draft: Draft, what: _Named) -> str:
    return joined(draft, [card.name for card in what.cards]) or what.name


def _nvlink(draft: Draft, attribute: str, what: _Named) -> None:
    rows, cards = what.rows, what.cards
    name, named = what.name, _cards_named(draft, what)
    several = [row for row in rows if (row.gpu_count or 1) > 1]
    has = [row for row in several if row.nvlink]
    rate = ""
    if both_ways := next((c.nvlink_total_gbs for c in cards if c.nvlink_total_gbs), None):
        draft.figure("nvlink_rate", both_ways, "GB/s", sources=("data:gpus.csv",))
        rate = draft.phrase("catalog_facts.nvlink_rate", cards=named, rate=f"{both_ways:,.0f}")
    if has:
        draft.say("catalog_facts.nvlink_yes", name=name, types=_types(draft, has), rate=rate,
                  importance=HEAD)  # fmt: skip
        return
    if cards and all(card.nvlink is False for card in cards):
        key = "nvlink_no"
    elif several and all(row.nvlink is False for row in several):
        key = "nvlink_no_type"
    elif not several:
        key = "nvlink_one"
    elif all("SXM" in card.name for card in cards) and _is_board(several):
        key = "nvlink_board"
    else:
        key = "nvlink_open"
    draft.say(f"catalog_facts.{key}", name=name, cards=named, rate=rate, importance=HEAD)


_BOARD = 4
"""Modules of the smallest board that NVLink joins (HGX of four or eight)."""


def _is_board(rows: Sequence[InstanceOut]) -> bool:
    return all(
        (row.gpu_count or 1) >= _BOARD and row.gpu_count == rows[0].gpu_count for row in rows
    )


def _rdma(draft: Draft, attribute: str, what: _Named) -> None:
    has = [row for row in what.rows if row.rdma]
    name = what.name
    if has:
        rates = sorted({row.rdma_gbps for row in has if row.rdma_gbps is not None})
        rate = draft.phrase("catalog_facts.rdma_rate", rate=_range(rates)) if rates else ""
        key = "rdma_yes_type" if what.is_type else "rdma_yes"
        draft.say(f"catalog_facts.{key}", name=name, types=_types(draft, has), rate=rate,
                  importance=HEAD)  # fmt: skip
    else:
        is_known = all(row.rdma is False for row in what.rows)
        draft.say(f"catalog_facts.rdma_{'no' if is_known else 'open'}", name=name, importance=HEAD)


_CARD_FACTS: dict[str, tuple[str, str, str]] = {
    "bf16": ("bf16_supported", "BF16", "8.0"),
    "fp8": ("fp8_supported", "FP8", "8.9"),
    "flash": ("flash_attention2_supported", "FlashAttention-2", "8.0"),
    "mig": ("mig", "MIG", ""),
}
"""attribute: (field of a card, how it is called, least compute capability)."""


def _card(draft: Draft, attribute: str, what: _Named) -> None:
    field, ability, least = _CARD_FACTS[attribute]
    for card in what.cards:
        value, cc = getattr(card, field), card.compute_capability
        key = "card_open" if value is None else "card_yes" if value else "card_no"
        if cc is None or (value is False and not least):
            key = "card_open" if value is None else "card_no_plain"
        if cc is not None:
            draft.figure("compute_capability", cc, "1", sources=("data:gpus.csv",))
        if least:
            draft.figure("least_capability", float(least), "1", sources=("data:gpus.csv",))
        told_cc = f"{cc:.1f}" if cc else ""
        draft.say(f"catalog_facts.{key}", cards=card.name, what=ability, cc=told_cc, least=least,
                  importance=HEAD)  # fmt: skip


def _vram(draft: Draft, attribute: str, what: _Named) -> None:
    if attribute == "vram" and all((row.gpu_share or 1) < 1 for row in what.rows):
        _slices(draft, what)
        return
    for card in what.cards:
        if attribute == "vram_rate" and card.mem_bandwidth_gbs is not None:
            draft.figure("memory_bandwidth", card.mem_bandwidth_gbs, "GB/s",
                         sources=("data:gpus.csv",))  # fmt: skip
            draft.say("catalog_facts.vram_rate", cards=card.name,
                      rate=f"{card.mem_bandwidth_gbs:,.0f}", importance=HEAD)  # fmt: skip
        elif attribute == "vram" and card.usable_bytes and card.memory_label_gb:
            draft.say("catalog_facts.vram", cards=card.name, label=f"{card.memory_label_gb:g}",
                      usable=gib(card.usable_bytes), total=_in_all(draft, what, card),
                      importance=HEAD)  # fmt: skip


def _in_all(draft: Draft, what: _Named, card: GpuReport) -> str:
    """What the cards of a type have together, where it has several of one kind."""
    counts = {row.gpu_count for row in what.rows if row.gpu == card.name}
    count = counts.pop() if len(counts) == 1 else None
    if not what.is_type or count is None or count < 2 or card.memory_label_gb is None:
        return ""
    total = count * card.memory_label_gb
    draft.figure("memory of all cards", total, "GB", formula="cards * memory of a card")
    return draft.phrase("catalog_facts.in_all", count=f"{count:g}", total=f"{total:g}")


def _slices(draft: Draft, what: _Named) -> None:
    """Memory of slices: a part of the card's."""
    known = [row.gpu_memory_gb for row in what.rows if row.gpu_memory_gb is not None]
    if not known:
        draft.say("catalog_facts.open", name=what.name, what="vram", importance=HEAD)
        return
    for value in (min(known), max(known)):
        draft.figure("memory of a slice", value, "GB", sources=("data:catalog",))
    draft.say("catalog_facts.vram_slice", name=what.name, memory=_range(known),
              cards=_cards_named(draft, what), importance=HEAD)  # fmt: skip


def _range(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:g}" if low == high else f"{low:g}–{high:g}"


_ROW_FIELDS = {"ram": "memory_gib", "vcpu": "vcpu", "network": "network_gbps",
               "disk": "local_storage_gb"}  # fmt: skip


def _sizes(draft: Draft, attribute: str, what: _Named) -> None:
    """A size of the types, as a range over the family."""
    values = [getattr(row, _ROW_FIELDS[attribute]) for row in what.rows]
    known = [value for value in values if value is not None]
    name = what.name
    if known:
        for value in (min(known), max(known)):
            draft.figure(f"{attribute} of the family", value, "1", sources=("data:catalog",))
        draft.say(f"catalog_facts.{attribute}", name=name, range=_range(known), importance=HEAD)
    elif attribute == "disk":
        draft.say("catalog_facts.disk_open", name=name, importance=HEAD)
    else:
        draft.say("catalog_facts.open", name=name, what=attribute, importance=HEAD)


def _model(draft: Draft, attribute: str, what: _Named) -> None:
    models = list(dict.fromkeys(row.cpu_model for row in what.rows if row.cpu_model))
    if models:
        draft.say("catalog_facts.cpu_model", name=what.name, model=joined(draft, models[:3]),
                  importance=HEAD)  # fmt: skip
    else:
        draft.say("catalog_facts.open", name=what.name, what="CPU", importance=HEAD)


def _regions(draft: Draft, attribute: str, what: _Named) -> None:
    found = list(dict.fromkeys(region for row in what.rows for region in row.regions))
    key = "regions" if found else "regions_open"
    told_regions = joined(draft, found[:_MOST_REGIONS])
    draft.say(f"catalog_facts.{key}", name=what.name, regions=told_regions, importance=HEAD)


class _Attribute(NamedTuple):
    """Something that may be asked of a type."""

    tell: Callable[[Draft, str, _Named], None]
    marks: tuple[str, ...]
    """Words that ask for it."""


_ATTRIBUTES = {
    "nvlink": _Attribute(_nvlink, ("concepts.nvlink", "renting.of_links")),
    "rdma": _Attribute(_rdma, ("renting.of_rdma",)),
    "bf16": _Attribute(_card, ("concepts.bf16",)),
    "fp8": _Attribute(_card, ("concepts.fp8",)),
    "flash": _Attribute(_card, ("concepts.flash_attention",)),
    "mig": _Attribute(_card, ("concepts.mig",)),
    "vram": _Attribute(_vram, ("renting.of_vram",)),
    "vram_rate": _Attribute(_vram, ("concepts.memory_bandwidth", "renting.of_hbm")),
    "ram": _Attribute(_sizes, ("renting.of_ram",)),
    "vcpu": _Attribute(_sizes, ("renting.of_vcpu",)),
    "cpu_model": _Attribute(_model, ("renting.of_cpu_model",)),
    "network": _Attribute(_sizes, ("renting.of_network",)),
    "disk": _Attribute(_sizes, ("renting.of_disk",)),
    "regions": _Attribute(_regions, ("renting.of_regions",)),
}
"""What may be asked of a type, in the order of the answer."""
