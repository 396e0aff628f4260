"""Money of data that leave one cloud for another, or for a place outside: the source bills it."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agent.answering.plan import Call
from agent.answering.telling.draft import DETAIL, HEAD, Draft
from agent.answering.telling.machines import provider_name
from agent.answering.telling.numbers import money
from agent.request import Route
from agent.toolbox import ToolResult
from agent.toolbox.copying import CopyReport, TrafficOut

_OUTSIDE = "outside"
_ANY_GBPS = 10.0
"""Gbit/s for a call that is made for the money alone."""


def say_route(
    draft: Draft, route: Route, wanted: dict[str, Any]
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], None]:
    """What the cloud that data leave bills, and that the one they enter bills nothing."""
    base = wanted | {"gbps": wanted["gbps"] or _ANY_GBPS}
    ways = [(cloud, way) for cloud, way in ((route.source, "internet"), (route.target, "inbound"))
            if cloud != _OUTSIDE]  # fmt: skip
    results = yield tuple(
        Call("plan_copy", base | {"provider": cloud, "way": way}) for cloud, way in ways
    )
    draft.use(*results)
    found = {way: _traffic(r) for (_, way), r in zip(ways, results, strict=True)}
    if route.source != _OUTSIDE:
        _say_billed(draft, route.source, found.get("internet"))
    inbound = found.get("inbound")
    if inbound is not None and inbound.high == 0:
        key = "routes.free_from_outside" if route.source == _OUTSIDE else "routes.free_in"
        draft.say(key, target=provider_name(draft, route.target), importance=HEAD)
    if draft.request.says("copies.leased"):
        draft.say("routes.leased")
    draft.say("copying.requests", importance=DETAIL)


def _traffic(result: ToolResult) -> TrafficOut | None:
    return result.report.traffic if isinstance(result.report, CopyReport) else None


def _say_billed(draft: Draft, cloud: str, cost: TrafficOut | None) -> None:
    """The money of data that leave a cloud."""
    source = provider_name(draft, cloud)
    if cost is None:
        draft.say("routes.unknown", source=source, importance=HEAD)
        return
    date = draft.phrase("copying.undated")
    if cost.priced_on is not None:
        date = draft.phrase("copying.dated", date=cost.priced_on)
    low, high = (money(x, cost.currency, draft.language) for x in (cost.low, cost.high))
    told = low if low == high else f"{low}–{high}"
    draft.say("routes.billed", source=source, cost=told, date=date, importance=HEAD)
    if low != high:
        draft.say("routes.cheap_hours", hours=cost.hours[0])
    if cost.is_upper:
        draft.say("copying.at_most")
