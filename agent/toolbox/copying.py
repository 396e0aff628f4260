"""plan_copy: how long data takes to move, what holds it back, and what the traffic costs."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from agent.answer import AssumptionOut, CitationOut
from agent.settings import Settings
from agent.toolbox.base import Arguments, Report, Row, Tool, description_of
from agent.toolbox.ranges import Range, assumptions_out, figures_out, range_out

if TYPE_CHECKING:
    from tools.catalog import TrafficCost


class CopyArguments(Arguments):
    """Data to move."""

    size_gb: float = Field(gt=0, description="GB (10**9 bytes) in all")
    source: str | None = Field(None, description="s3, oss, gcs, nas, cpfs, essd-pl1, nvme ...")
    target: str | None = Field(None, description="The same, for the other end")
    gbps: float | None = Field(None, gt=0, description="Nominal Gbit/s of one machine's network")
    machines: int = Field(1, ge=1, description="Machines that copy at once, each its share")
    files: float | None = Field(None, gt=0, description="How many files, where they are small")
    streams: int | None = Field(None, ge=1, description="Files under way at once on one machine")
    abroad: bool = Field(False, description="Outside mainland China")
    way: Literal["inbound", "internal", "internet", "regions"] = "internal"
    provider: str | None = Field(None, description="Cloud whose traffic price is meant")


class TrafficOut(Row):
    """What the traffic costs."""

    provider: str
    way: str
    low: Decimal
    high: Decimal
    currency: str
    is_upper: bool
    """Beyond the tiers that are known: at most this."""
    priced_on: str | None
    """None = undated."""
    hours: tuple[str, ...]
    """Hours of the day that the prices are of, where they differ."""
    locator: str


class CopyReport(Report):
    """How long a copy takes."""

    seconds: Range
    mb_s: float
    stages: dict[str, float]
    """MB/s by what limits them: link, source, target."""
    slowest: str
    """link, source, target or files."""
    file_seconds: float | None
    connections: int
    machines_useful: int | None
    traffic: TrafficOut | None
    """None where no price of this way is known."""
    assumptions: tuple[AssumptionOut, ...]

    def summary(self) -> str:
        """Hours and what sets them."""
        return f"{self.seconds.value / 3600:.2g} h, slowest: {self.slowest}"


def build(settings: Settings) -> Tool[CopyArguments]:
    """The tool; it depends on no setting."""
    return Tool(
        name="plan_copy",
        description=description_of("plan_copy"),
        arguments=CopyArguments,
        report=CopyReport,
        function=plan_copy,
    )


def plan_copy(arguments: CopyArguments) -> CopyReport:
    """Time of a copy, its slowest part, and the money of its traffic where a price is known.

    Raises:
        UserInputError: Unknown stores, and copies of which no rate is known.
    """
    from tools.catalog import provider_id, traffic_cost
    from tools.speed import CopyJob, copy_time, object_store
    from tools.units import GB

    size = arguments.size_gb * GB
    found = copy_time(
        CopyJob(
            size_bytes=size,
            source=arguments.source,
            target=arguments.target,
            link_gbps=arguments.gbps,
            machines=arguments.machines,
            files=arguments.files,
            streams=arguments.streams,
            is_abroad=arguments.abroad,
        )
    )
    ends = (object_store(end) for end in (arguments.source, arguments.target) if end is not None)
    provider = next((end.provider for end in ends if end is not None), None)
    if arguments.provider is not None:
        provider = provider_id(arguments.provider)
    cost = None if provider is None else traffic_cost(provider, way=arguments.way, size_bytes=size)
    figures = found.figures() + (() if cost is None else cost.figures())
    return CopyReport(
        figures=figures_out(figures),
        citations=() if cost is None else _citations(cost),
        seconds=range_out(found.seconds),
        mb_s=found.mb_s,
        stages=found.stages,
        slowest=found.slowest,
        file_seconds=found.file_seconds,
        connections=found.streams_needed,
        machines_useful=found.machines_useful,
        traffic=None if cost is None else _traffic_out(cost),
        assumptions=assumptions_out(found.assumptions),
    )


def _citations(cost: TrafficCost) -> tuple[CitationOut, ...]:
    """Where the tiers stand, each place once, with its date."""
    places = {
        rate.source.id: f"{rate.source.locator}, {rate.priced_on or 'undated'}"
        for rate in cost.rates
    }
    return tuple(
        CitationOut(id=name, title="traffic price", locator=locator)
        for name, locator in places.items()
    )


def _traffic_out(cost: TrafficCost) -> TrafficOut:
    return TrafficOut(
        provider=cost.provider,
        way=cost.way,
        low=cost.low,
        high=cost.high,
        currency=cost.currency,
        is_upper=cost.is_upper,
        priced_on=None if cost.priced_on is None else cost.priced_on.isoformat(),
        hours=tuple(dict.fromkeys(r.hours for r in cost.rates if r.hours is not None)),
        locator=cost.rates[0].source.locator,
    )
