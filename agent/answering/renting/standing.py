"""The card spoken of before, where a follow-up asks what to rent or for something cheaper."""

from __future__ import annotations

from collections.abc import Generator

from agent.answering.plan import Call
from agent.answering.renting.renting import default_provider, default_region
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.machines import cheapest_by_card, price_text, provider_name
from agent.answering.telling.numbers import gib
from agent.toolbox import ToolResult
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.memory import MemoryReport
from agent.toolbox.offers import InstanceOut
from agent.toolbox.rent import RecommendReport

Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], InstanceOut | None]


def standing_offer(draft: Draft, need: MemoryReport, found: RecommendReport | None) -> Steps:
    """The cheapest type with the card of the turn before, where nothing that fits costs less.

    Args:
        draft: The answer so far.
        need: The run on that card.
        found: What was found with any card; None where nothing was looked for.

    Returns:
        None where the card was named anew, does not hold the run, or is not the cheapest.
    """
    request = draft.request
    holds = need.verdict in ("fits", "tight")
    if "gpu" not in request.inherited or not holds or request.slots.budget is not None:
        return None
    arguments = {
        "gpu": need.gpu,
        "provider": default_provider(draft),
        "region": default_region(draft),
        "min_gpu_count": need.gpu_count,
        "max_gpu_count": need.gpu_count,
        "limit": 50,
    }
    results = yield (Call("find_instances", arguments),)
    report = results[0].report
    if not isinstance(report, InstancesReport):
        return None
    whole = [row for row in report.instances if row.gpu_share in (None, 1)]
    row = next(iter(cheapest_by_card(whole)), None)
    if row is None or row.price is None or row.price.per != "hour":
        return None
    if any(
        offer.currency != row.price.currency or offer.cost_per_hour <= row.price.amount
        for offer in (found.offers if found is not None else ())
    ):
        return None
    draft.use(*results)
    return row


def say_standing(draft: Draft, need: MemoryReport, row: InstanceOut, *, what: str) -> None:
    """That the card spoken of stays the cheapest choice, with its need and its price."""
    assert row.price is not None
    assert need.usable_bytes is not None
    draft.say(
        f"rent.standing_{need.verdict}",
        instance=f"{provider_name(draft, row.provider)} `{row.instance_type}`",
        gpu=need.gpu,
        count=need.gpu_count,
        price=price_text(draft, row.price),
        what=what,
        need=gib(need.process_bytes),
        usable=gib(need.usable_bytes),
        importance=HEAD,
    )
    draft.offer([row.as_offer()])
