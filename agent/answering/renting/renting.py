"""What to rent for a card or for a need, told as a short list with dated prices."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from agent.answering.fitting.kernels import runs_on
from agent.answering.plan import Call
from agent.answering.telling.draft import BODY, DETAIL, Draft
from agent.answering.telling.machines import (
    cheapest_by_card,
    provider_name,
    short_line,
    smallest_by_card,
)
from agent.answering.telling.numbers import gib
from agent.answering.telling.run_words import joined
from agent.toolbox import ToolResult
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.memory import MemoryReport
from agent.toolbox.offers import InstanceOut
from tools.units import gb_from_bytes, gib_from_bytes

_SHOWN = 3
_HOST_USABLE = 0.9
"""Share of a machine's memory that a job can use."""
_MOST_OF_A_MACHINE = 8
"""Cards of the usual largest machine: more are of several."""
_ROUNDED = 0.02
"""Shares of a card that differ by no more are one."""
Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], None]


def default_provider(draft: Draft) -> str | None:
    """The cloud asked for, else Alibaba Cloud: the one that the guidance is about.

    A budget in dollars is compared with a cloud that charges them.
    """
    slots = draft.request.slots
    if slots.provider is None and slots.budget is not None and slots.budget.currency == "USD":
        return None if slots.providers else "aws"
    return slots.provider or (None if slots.providers else "alibaba")


def covered_provider(draft: Draft) -> str | None:
    """The cloud to look for machines in: one that the catalog has no rows of gives way."""
    from tools.catalog import covered_providers

    slots = draft.request.slots
    asked = slots.provider
    if asked is None or slots.providers or asked in covered_providers():
        return default_provider(draft)
    free = slots.model_copy(update={"provider": None})
    return default_provider(Draft(draft.request.model_copy(update={"slots": free})))


def say_not_covered(draft: Draft) -> None:
    """That the machines told are another cloud's, where the catalog has none of the one named."""
    asked, told = draft.request.slots.provider, covered_provider(draft)
    if asked is not None and told is not None and told != asked:
        draft.say("renting.not_covered", asked=provider_name(draft, asked),
                  told=provider_name(draft, told))  # fmt: skip


def default_region(draft: Draft) -> str | None:
    """The region asked for; mainland China for a Chinese question about a Chinese cloud."""
    slots = draft.request.slots
    if slots.region is not None:
        return slots.region
    is_chinese = default_provider(draft) in ("alibaba", "tencent", "huawei")
    return "cn" if draft.language == "zh" and is_chinese else None


def host_gib(draft: Draft, report: MemoryReport) -> float | None:
    """Memory a machine must have for the states that a run keeps there, in GiB; None for none."""
    if not draft.request.slots.offload or report.task != "train" or not report.host_ram_bytes:
        return None
    return round(gib_from_bytes(report.host_ram_bytes) / _HOST_USABLE, 1)


def cards_to_rent(
    draft: Draft,
    gpu: str,
    *,
    count: int = 1,
    everywhere: bool = False,
    min_memory_gib: float | None = None,
) -> Steps:
    """Instances that carry a card, cheapest first; nothing is said where no cloud has it.

    Args:
        draft: The answer so far.
        gpu: Row of the card.
        count: Cards that the instance must have.
        everywhere: All clouds where none was named, not the default one.
        min_memory_gib: Host memory that the run needs, in GiB.
    """
    slots = draft.request.slots
    is_open = everywhere and not (slots.provider or slots.providers)
    results = yield (
        Call(
            "find_instances",
            {
                "gpu": gpu,
                "provider": None if is_open else default_provider(draft),
                "region": None if is_open else default_region(draft),
                "min_gpu_count": count,
                "max_gpu_count": max(count, 1),
                "min_memory_gib": min_memory_gib,
                "limit": 50,
            },
        ),
    )
    draft.use(*results)
    report = results[0].report
    if not isinstance(report, InstancesReport):
        return
    whole = [row for row in report.instances if row.category == "gpu"]
    say_offers(draft, whole, title="renting.with_card")


def unknown_last(*values: float | None) -> tuple[tuple[bool, float], ...]:
    """Sorting key of sizes: the smallest first, what is not known behind all that is.

    >>> sorted([None, 8, 4], key=unknown_last)
    [4, 8, None]
    """
    return tuple((value is None, value if value is not None else 0.0) for value in values)


def has_share(row: InstanceOut, share: float) -> bool:
    """Whether a type has this share of a card: thirds and sixths are rounded in catalogs."""
    return row.gpu_share is not None and abs(row.gpu_share - share) <= _ROUNDED


def say_offers(
    draft: Draft, rows: Sequence[InstanceOut], *, title: str, importance: int = BODY
) -> None:
    """A few offers, cheapest first, and where they come from."""
    ordered = sorted(rows, key=lambda r: (r.price is None, r.price.amount if r.price else 0))
    shown = ordered[:_SHOWN]
    if not shown:
        return
    draft.bullets([short_line(draft, row) for row in shown], title=draft.phrase(title),
                  importance=importance)  # fmt: skip
    draft.offer(row.as_offer() for row in shown)


def say_fitting_cards(draft: Draft, report: MemoryReport) -> Steps:
    """Cards of the cloud that hold a need on each card, with the cheapest type of each.

    A run that is shared out to several cards needs as many of the other kind as well: its need
    is that of one of them, and no single card holds the run.
    """
    count = _cards_of_a_machine(draft, report)
    best = yield from _holding(draft, report, count, default_provider(draft))
    is_elsewhere = not best and draft.request.slots.provider is None
    if is_elsewhere:
        best = yield from _holding(draft, report, count, None)
    ram = host_gib(draft, report)
    if not best and ram is not None:
        draft.figure("machine_memory", ram, "GiB", formula=f"host need / {_HOST_USABLE}")
        draft.say("renting.none_with_host", count=count, ram=f"{ram:,.0f} GiB")
        return
    if not best:
        is_mended = any(change.fits for change in report.changes)
        key = "of_count" if count > 1 else "fits_as_is" if is_mended else "fits"
        draft.say(f"renting.none_{key}", count=count)
        return
    names = joined(draft, [f"{row.gpu}" for row in best])
    if count > 1:
        draft.figure("cards", count, "1", sources=("user:gpu_count",))
        draft.say("renting.fitting_cards_each", cards=names, count=count,
                  need=gib(report.process_bytes), importance=DETAIL)  # fmt: skip
    else:
        draft.say("renting.fitting_cards", cards=names, importance=DETAIL)
    say_offers(draft, best, title="renting.fitting")


def _cards_of_a_machine(draft: Draft, report: MemoryReport) -> int:
    """Cards that one machine must have, where the cards counted are of several machines."""
    nodes = draft.request.slots.nodes or 1
    is_even = report.gpu_count > _MOST_OF_A_MACHINE and report.gpu_count % nodes == 0
    return report.gpu_count // nodes if is_even else report.gpu_count


def _holding(
    draft: Draft, report: MemoryReport, count: int, provider: str | None
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], Sequence[InstanceOut]]:
    """The cheapest type of each card that holds the run, or the smallest where none is priced.

    Cards of no more memory than the one that was too small are none.
    """
    results = yield (
        Call(
            "find_instances",
            {
                "min_gpu_memory_gb": round(gb_from_bytes(report.process_bytes) + 1, 1),
                "min_gpu_count": count,
                "max_gpu_count": count,
                "min_memory_gib": host_gib(draft, report),
                "provider": provider,
                "region": default_region(draft) if provider is not None else None,
                "limit": 50,
            },
        ),
    )
    draft.use(*results)
    found = results[0].report
    if not isinstance(found, InstancesReport):
        return ()
    own_gb = report.label_gb or 0.0
    holding = [
        row
        for row in found.instances
        if runs_on(draft, report, row.gpu) and (row.gpu_memory_gb or 0.0) > own_gb
    ]
    return cheapest_by_card(holding) or smallest_by_card(holding)
