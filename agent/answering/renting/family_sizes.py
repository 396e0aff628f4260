"""The sizes of a family or of a card's types: vCPU and RAM of each, the smallest first."""

from __future__ import annotations

from agent.answering.plan import Call, Context, Plan
from agent.answering.renting.renting import default_region, has_share, unknown_last
from agent.answering.telling.draft import DETAIL, HEAD, Draft
from agent.answering.telling.machines import cards_text, provider_name
from agent.answering.telling.numbers import hourly
from agent.answering.telling.run_words import joined
from agent.request import Request
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.offers import InstanceOut

_LISTED = 12
_INTENTS = ("catalog_lookup", "recommend_instance", "concept")


def applies(request: Request, context: Context) -> bool:
    """True for the sizes of a family or of a card in the catalog, without a job."""
    slots = request.slots
    if request.intent not in _INTENTS or len(slots.instances or ()) > 1 or slots.gpus:
        return False
    if slots.has_model or slots.budget is not None:
        return False
    is_card = slots.has_card and slots.provider is not None
    is_named = slots.instance is not None or is_card
    asks_share = request.need is not None and request.need.gpu_share is not None
    return is_named and (asks_share or request.says("renting.sizes"))


def compose(request: Request, context: Context) -> Plan:
    """The smallest type, then a table of all sizes."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    results = yield (_look_up(draft),)
    draft.use(*results)
    report = results[0].report
    size_gb = request.slots.gpu_mem_gb
    rows = [r for r in _by_size(report) if size_gb in (None, r.gpu_memory_gb)]
    if rows and isinstance(report, InstancesReport) and report.kind == "type":
        again = yield (Call("find_instances", {"name": rows[0].family, "limit": 50,
                                               "provider": rows[0].provider}),)  # fmt: skip
        draft.use(*again)
        rows = _by_size(again[0].report) or rows
    if not rows:
        from agent.answering.renting import catalog

        return (yield from catalog.compose(request, context))
    _tell(draft, rows, _of_share(draft, rows))
    return draft.finish("not_applicable", intent="catalog_lookup")


def _look_up(draft: Draft) -> Call:
    slots = draft.request.slots
    said = {"provider": draft.request.cloud, "limit": 50}
    if slots.instance is not None:
        said["name"] = slots.instance
        said["region"] = default_region(draft)
    else:
        said["gpu"] = slots.gpu
        said["any_variant"] = True
        said["min_gpu_count"] = slots.gpu_count if _is_said(draft, "gpu_count") else None
    return Call("find_instances", {k: v for k, v in said.items() if v is not None})


def _is_said(draft: Draft, slot: str) -> bool:
    count = draft.request.slots.gpu_count or 1
    return slot not in draft.request.inferred and count > 1


def _by_size(report: object) -> list[InstanceOut]:
    if not isinstance(report, InstancesReport):
        return []
    return sorted(
        report.instances,
        key=lambda r: (r.gpu_share != 1, unknown_last(r.gpu_count, r.vcpu, r.memory_gib)),
    )


def _of_share(draft: Draft, rows: list[InstanceOut]) -> list[InstanceOut]:
    """The types with the share of a card that is asked for; empty where none is asked for."""
    need = draft.request.need
    if need is None or need.gpu_share is None:
        return []
    return [row for row in rows if has_share(row, need.gpu_share)]


def _share(row: InstanceOut) -> str:
    return f"1/{round(1 / row.gpu_share)}" if row.gpu_share else ""


def _tell(draft: Draft, rows: list[InstanceOut], of_share: list[InstanceOut]) -> None:
    slots = draft.request.slots
    first = of_share[0] if of_share else rows[0]
    rows = [*of_share, *(row for row in rows if row not in of_share)]
    clouds = {row.provider for row in rows}
    where = f"{provider_name(draft, first.provider)} "
    key = "family_sizes.share" if of_share else "family_sizes.smallest"
    draft.say(key, name=first.instance_type, cards=cards_text(draft, first), share=_share(first),
              vcpu=first.vcpu if first.vcpu is not None else "?", ram=_number(first.memory_gib),
              where=where, family=first.family, importance=HEAD)  # fmt: skip
    families = sorted({(row.provider, row.family) for row in rows})
    if slots.instance is None:
        told = [
            f"{provider_name(draft, provider)} {family}" if len(clouds) > 1 else family
            for provider, family in families
        ]
        draft.say("family_sizes.families", gpu=slots.gpu, items=joined(draft, told),
                  importance=HEAD)  # fmt: skip
    header = [draft.phrase(f"family_sizes.head_{name}")
              for name in ("type", "cards", "vcpu", "ram", "price")]  # fmt: skip
    draft.table(header, [_row(draft, row) for row in rows[:_LISTED]], importance=HEAD)
    draft.offer(row.as_offer() for row in rows[:_LISTED])
    if len(rows) > _LISTED:
        draft.figure("types", len(rows), "1", formula="count")
        draft.say("family_sizes.more", total=len(rows), shown=_LISTED)
    draft.say("family_sizes.dated", importance=DETAIL)


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:g}"


def _row(draft: Draft, row: InstanceOut) -> list[str]:
    price = draft.phrase("family_sizes.no_price")
    if row.price is not None:
        price = hourly(row.price.amount, row.price.currency, draft.language)
    for name, value, unit in (("vCPU", row.vcpu, "vCPU"), ("RAM", row.memory_gib, "GiB")):
        if value is not None:
            draft.figure(f"{row.instance_type}: {name}", value, unit, sources=(row.source,))
    return [f"`{row.instance_type}`", cards_text(draft, row),
            "?" if row.vcpu is None else str(row.vcpu), f"{_number(row.memory_gib)} GiB",
            price]  # fmt: skip
