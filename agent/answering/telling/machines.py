"""How instance types, prices and cards are told."""

from __future__ import annotations

from collections.abc import Sequence

from agent.answer import CitationOut
from agent.answering.telling.draft import DETAIL, Draft
from agent.answering.telling.numbers import money
from agent.toolbox.offers import FamilyOut, InstanceOut, PriceOut


def provider_name(draft: Draft, provider: str) -> str:
    """A cloud's name as people write it, by its own file in the catalog."""
    from tools.catalog import all_providers

    row = next((row for row in all_providers() if row.provider == provider), None)
    if row is None:
        return provider
    return row.name_zh if draft.language == "zh" else row.name_en


def price_text(draft: Draft, price: PriceOut) -> str:
    """A price with its billing, region and date."""
    per = {"hour": ("/小时", "/h"), "month": ("/月", "/month")}[price.per]
    amount = money(
        price.amount, price.currency, draft.language, per=per[0 if draft.language == "zh" else 1]
    )
    where = price.region or draft.phrase("machines.no_region")
    when = price.priced_on or draft.phrase("machines.no_date")
    key = "machines.price_undated"
    if price.priced_on:
        key = "machines.price_old" if price.is_old else "machines.price"
    billing = draft.phrase(f"machines.{price.billing}")
    draft.cite(CitationOut(id=price.source, title=billing, locator=f"{where}, {when}"))
    return draft.phrase(key, billing=billing, amount=amount, region=where, date=when)


def say_price_sources(draft: Draft, rows: Sequence[InstanceOut]) -> None:
    """Where the prices of the rows told stand, each list once, with its date."""
    lists: dict[str, str] = {}
    for row in rows:
        price = row.price or next(iter(row.listed), None)
        if price is not None:
            name = price.locator.split(" (")[0]
            lists.setdefault(name, price.priced_on or draft.phrase("machines.no_date"))
    told = [
        draft.phrase("machines.price_list", name=name, date=date) for name, date in lists.items()
    ]
    if told:
        separator = "; " if draft.language == "en" else "；"
        draft.say("machines.price_lists", lists=separator.join(told[:3]), importance=DETAIL)


def cards_text(draft: Draft, row: InstanceOut) -> str:
    """Cards of an instance: 1x NVIDIA A10 24 GB, a third of an A10, or none."""
    if row.category == "cpu":
        return draft.phrase("machines.no_gpu")
    card = row.gpu or draft.phrase("machines.unnamed_card")
    memory = f"{row.gpu_memory_gb:g} GB" if row.gpu_memory_gb is not None else ""
    if row.gpu_share is not None and row.gpu_share < 1:
        share = f"1/{round(1 / row.gpu_share)}"
        return draft.phrase("machines.slice", share=share, card=card, memory=memory)
    label = (
        card if memory and memory.replace(" ", "") in card.replace(" ", "") else f"{card} {memory}"
    )
    return f"{row.gpu_count or 1}×{label.strip()}" + _arm_text(draft, row)


_ARM = ("neoverse", "graviton", "yitian", "kunpeng", "ampere altra", "grace", "axion", "cobalt")
"""Names of processors of the ARM kind, in small letters."""


def _arm_text(draft: Draft, row: InstanceOut) -> str:
    """That the machine's processor needs programs built for ARM, where it is one."""
    model = (row.cpu_model or "").casefold()
    return draft.phrase("machines.arm") if any(name in model for name in _ARM) else ""


def instance_line(draft: Draft, row: InstanceOut, *, with_provider: bool = False) -> str:
    """One type: cards, vCPU, memory, network, price."""
    parts = [cards_text(draft, row)]
    if row.vcpu is not None:
        parts.append(f"{row.vcpu} vCPU")
    if row.memory_gib is not None:
        parts.append(draft.phrase("machines.ram", ram=f"{row.memory_gib:g} GiB"))
    if row.network_gbps is not None:
        parts.append(draft.phrase("machines.network", gbps=f"{row.network_gbps:g} Gbps"))
    price = row.price or next(iter(row.listed), None)
    parts.append(price_text(draft, price) if price else draft.phrase("machines.no_price"))
    name = f"`{row.instance_type}`"
    if with_provider:
        name = f"{provider_name(draft, row.provider)} {name}"
    return (
        name
        + (":" if draft.language == "en" else "：")
        + " "[: draft.language == "en"]
        + (", " if draft.language == "en" else "，").join(parts)
    )


def short_line(draft: Draft, row: InstanceOut) -> str:
    """One type in a list of offers: cards and price."""
    price = row.price or next(iter(row.listed), None)
    cost = price_text(draft, price) if price else draft.phrase("machines.no_price")
    separator = ", " if draft.language == "en" else "，"
    provider = provider_name(draft, row.provider)
    cards = draft.phrase("machines.in_brackets", text=cards_text(draft, row))
    return f"{provider} `{row.instance_type}`{cards}{separator}{cost}"


def family_line(draft: Draft, family: FamilyOut) -> str:
    """One family: what it is."""
    provider = provider_name(draft, family.provider)
    if not family.has_gpu:
        purpose = family.purpose_zh if draft.language == "zh" else family.purpose_en
        what = purpose or draft.phrase("machines.cpu_family")
        return draft.phrase("machines.family_cpu", provider=provider, name=family.name, what=what)
    cards = (", " if draft.language == "en" else "、").join(family.gpus)
    return draft.phrase(
        "machines.family_gpu",
        provider=provider,
        name=family.name,
        cards=cards or draft.phrase("machines.unnamed_card"),
    )


def cheapest_by_card(rows: Sequence[InstanceOut], *, limit: int = 3) -> tuple[InstanceOut, ...]:
    """The cheapest priced whole-card type of each card, cheapest first."""
    best: dict[str, InstanceOut] = {}
    for row in rows:
        if row.price is None or row.category != "gpu" or row.gpu is None:
            continue
        kept = best.get(row.gpu)
        if kept is None or kept.price is None or row.price.amount < kept.price.amount:
            best[row.gpu] = row
    ordered = sorted(best.values(), key=lambda row: row.price.amount if row.price else 0)
    return tuple(ordered[:limit])


def smallest_by_card(rows: Sequence[InstanceOut], *, limit: int = 4) -> tuple[InstanceOut, ...]:
    """The smallest whole-card type of each card, for a cloud without dated prices.

    Cards with the least memory come first.
    """
    best: dict[str, InstanceOut] = {}
    for row in rows:
        if row.category != "gpu" or row.gpu is None or row.vcpu is None:
            continue
        kept = best.get(row.gpu)
        if kept is None or (kept.vcpu is not None and row.vcpu < kept.vcpu):
            best[row.gpu] = row
    known = [row for row in best.values() if row.gpu_memory_gb is not None]
    return tuple(sorted(known, key=lambda row: row.gpu_memory_gb or 0)[:limit])
