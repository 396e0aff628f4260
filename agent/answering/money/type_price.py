"""The price of a type that is named: looked up, in one region with its spot price."""

from __future__ import annotations

from collections.abc import Generator, Iterable

from agent.answering.plan import Call
from agent.answering.renting.renting import default_region
from agent.answering.telling.draft import Draft
from agent.toolbox import ToolResult
from agent.toolbox.catalog import InstancesReport
from agent.toolbox.offers import InstanceOut, PriceOut

Looked = Generator[tuple[Call, ...], tuple[ToolResult, ...], InstanceOut | None]


def look_up(
    draft: Draft, name: str | None, *, provider: str | None = None, region: str | None = None
) -> Call:
    """The call that finds a type or family, in the region asked for or the usual one."""
    said = {"name": name, "provider": provider or draft.request.slots.provider, "limit": 50,
            "region": region or default_region(draft)}  # fmt: skip
    return Call("find_instances", {k: v for k, v in said.items() if v is not None})


def priced_type(draft: Draft, name: str | None) -> Looked:
    """The type of a name; of a family the cheapest whole one with a price."""
    (result,) = yield (look_up(draft, name),)
    draft.use(result)
    return _named(result.report)


def _named(report: object) -> InstanceOut | None:
    if not isinstance(report, InstancesReport) or not report.instances:
        return None
    if report.kind == "type":
        return report.instances[0]
    return cheapest(row for row in report.instances if row.category == "gpu")


def cheapest(rows: Iterable[InstanceOut]) -> InstanceOut | None:
    """The row with the lowest price; None where none has one."""
    priced = [(row.price.amount, row) for row in rows if row.price is not None]
    return min(priced, key=lambda pair: pair[0])[1] if priced else None


def at_one_place(
    draft: Draft, row: InstanceOut
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], InstanceOut]:
    """The type with its spot price in the region of its on-demand price: one place, one saving."""
    region = row.price.region if row.price is not None else None
    if row.spot is None or region is None or row.spot.region == region:
        return row
    call = look_up(draft, row.instance_type, provider=row.provider, region=region)
    (result,) = yield (call,)
    draft.use(result)
    rows = result.report.instances if isinstance(result.report, InstancesReport) else ()
    return next((r for r in rows if r.spot is not None and r.price is not None), row)


def undated_price(row: InstanceOut) -> PriceOut | None:
    """The hourly on-demand price without a date: a sum can be made with it, marked as such."""
    return next((p for p in row.listed if p.per == "hour" and p.billing == "on_demand"), None)
