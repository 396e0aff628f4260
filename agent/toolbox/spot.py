"""spot_plan: when to save on machines that may be taken away, and what that costs."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal, NamedTuple

from pydantic import Field

from agent.answer import FigureOut
from agent.settings import Settings
from agent.toolbox.base import Arguments, Report, Row, Tool, description_of
from agent.toolbox.ranges import figures_out


class SpotArguments(Arguments):
    """A job on machines that may be taken away."""

    checkpoint_minutes: float | None = Field(None, gt=0, description="How long one save takes")
    params_b: float | None = Field(None, gt=0, description="To estimate the save's length")
    interval_minutes: float | None = Field(
        None, gt=0, description="Minutes between saves that were chosen; its cost is told"
    )
    mtbf_hours: float | None = Field(None, gt=0, description="Mean hours between interruptions")
    hourly_interruption_pct: float | None = Field(
        None, gt=0, lt=100, description="Share of machines taken within an hour, per cent"
    )
    monthly_interruption_pct: float | None = Field(
        None, gt=0, lt=100, description="Share of machines taken within a month, per cent"
    )
    interruption_band: str | None = Field(None, description="<5%, 5-10%, ..., >20% a month")
    checkpoint_gb: float | None = Field(None, gt=0, description="Size of one save, GB")
    storage: str | None = Field(None, description="Where it is written: essd-pl1, nas, nvme ...")
    restart_minutes: float | None = Field(None, ge=0)
    job_hours: float | None = Field(None, gt=0)
    spot_price: float | None = Field(None, gt=0, description="Per hour")
    on_demand_price: float | None = Field(None, gt=0, description="Per hour")
    currency: str = "CNY"
    instances: int = Field(1, ge=1)
    provider: str | None = Field(None, description="Cloud whose spot terms are meant")


class ChosenInterval(Row):
    """What saving at the given interval costs."""

    minutes: float
    lost_minutes: float
    lost_share: float
    save_share: float
    restart_share: float
    restart_minutes: float
    overhead: float


class SpotTerms(Row):
    """What a vendor says of its spot instances."""

    provider: str
    least_share: float | None
    """Lowest share of the on-demand price that the vendor names."""
    notice_minutes: float | None
    protection_hours: float | None
    source: str


class SpotSeen(Row):
    """Spot over on-demand price, as seen over many GPU types and regions of a cloud."""

    provider: str
    median: float
    low: float
    high: float
    pairs: int
    source: str


class SpotReport(Report):
    """When to save, and what that costs."""

    terms: tuple[SpotTerms, ...]
    seen: tuple[SpotSeen, ...]

    chosen: ChosenInterval | None
    """Cost of the interval that was given."""
    interval_minutes: float
    """The best one."""
    checkpoint_minutes: float
    mtbf_hours: float
    mtbf_basis: Literal["given", "hourly", "monthly", "band", "assumed"]
    """What the mean time between interruptions rests on."""
    write_mb_s: float | None
    """Rate at which the save was reckoned; None where its length was given or assumed."""
    lost_minutes: float
    overhead: float
    wall_hours: float | None
    cost: Decimal | None
    on_demand_cost: Decimal | None
    saving: float | None
    currency: str | None

    def summary(self) -> str:
        """The interval."""
        return f"save every {self.interval_minutes:.0f} min"


def build(settings: Settings) -> Tool[SpotArguments]:
    """The tool; it depends on no setting."""
    return Tool(
        name="spot_plan",
        description=description_of("spot_plan"),
        arguments=SpotArguments,
        report=SpotReport,
        function=plan_spot,
    )


USUAL_DISK = "essd-pl1"
"""The cloud disk that a save is written to where none was said."""
_ASSUMED_SAVE_S = 60.0
_ASSUMED_MTBF_HOURS = 6.0
"""A few hours: a cautious guess where neither a rate nor a band is known."""


class _Save(NamedTuple):
    seconds: float
    write_mb_s: float | None


class _Between(NamedTuple):
    hours: float
    basis: Literal["given", "hourly", "monthly", "band", "assumed"]


def _save(arguments: SpotArguments) -> _Save:
    """How long one save takes: as said, by its size and the disk, or a minute."""
    from tools.speed import checkpoint_bytes, checkpoint_seconds, storage_limit

    if arguments.checkpoint_minutes is not None:
        return _Save(arguments.checkpoint_minutes * 60, None)
    size = None if arguments.checkpoint_gb is None else arguments.checkpoint_gb * 1e9
    if size is None and arguments.params_b is not None:
        size = checkpoint_bytes(arguments.params_b * 1e9)
    if size is None:
        return _Save(_ASSUMED_SAVE_S, None)
    rate = storage_limit(arguments.storage or USUAL_DISK).mb_s
    return _Save(checkpoint_seconds(size, write_mb_s=rate), rate)


def _between(arguments: SpotArguments) -> _Between:
    """Mean hours between interruptions of all machines, by the best that is known."""
    from tools.speed import mtbf_hours_of, mtbf_of_band

    count = arguments.instances
    if arguments.mtbf_hours is not None:
        return _Between(arguments.mtbf_hours, "given")
    if arguments.hourly_interruption_pct is not None:
        rate = arguments.hourly_interruption_pct / 100
        return _Between(mtbf_hours_of(interruptions_per_hour=rate, instances=count), "hourly")
    if arguments.monthly_interruption_pct is not None:
        share = arguments.monthly_interruption_pct / 100
        return _Between(mtbf_hours_of(monthly_interruption=share, instances=count), "monthly")
    if arguments.interruption_band is not None:
        return _Between(mtbf_of_band(arguments.interruption_band, instances=count).value, "band")
    return _Between(_ASSUMED_MTBF_HOURS, "assumed")


def plan_spot(arguments: SpotArguments) -> SpotReport:
    """The best interval between checkpoints and the cost of interruptions.

    Raises:
        UserInputError: Impossible values.
    """
    from tools.speed import SpotJob, spot_plan

    save, between = _save(arguments), _between(arguments)
    plan = spot_plan(
        SpotJob(
            mtbf_hours=between.hours,
            checkpoint_s=save.seconds,
            restart_s=None if arguments.restart_minutes is None else arguments.restart_minutes * 60,
            job_hours=arguments.job_hours,
            spot_price_per_hour=_decimal(arguments.spot_price),
            on_demand_price_per_hour=_decimal(arguments.on_demand_price),
            instances=arguments.instances,
            currency=arguments.currency,
        )
    )
    terms, seen = _spot_terms(arguments.provider), _spot_seen()
    chosen = _chosen_interval(arguments, save.seconds, between.hours)
    return SpotReport(
        figures=figures_out(plan.figures())
        + _spot_figures(terms, seen, save.seconds, between.hours)
        + _chosen_figures(chosen),
        chosen=chosen,
        terms=terms,
        seen=seen,
        interval_minutes=plan.interval_s / 60,
        checkpoint_minutes=save.seconds / 60,
        mtbf_hours=between.hours,
        mtbf_basis=between.basis,
        write_mb_s=save.write_mb_s,
        lost_minutes=plan.lost_work_s / 60,
        overhead=plan.overhead,
        wall_hours=plan.wall_hours,
        cost=plan.cost,
        on_demand_cost=plan.on_demand_cost,
        saving=plan.saving,
        currency=plan.currency,
    )


def _chosen_interval(
    arguments: SpotArguments, save_s: float, mtbf_hours: float
) -> ChosenInterval | None:
    from tools.speed.spot import saving_cost

    if arguments.interval_minutes is None:
        return None
    restart = arguments.restart_minutes
    cost = saving_cost(
        interval_s=arguments.interval_minutes * 60,
        mtbf_hours=mtbf_hours,
        checkpoint_s=save_s,
        restart_s=None if restart is None else restart * 60,
    )
    return ChosenInterval(
        minutes=arguments.interval_minutes,
        lost_minutes=cost.lost_work_s / 60,
        lost_share=cost.lost_share,
        save_share=cost.save_share,
        restart_share=cost.restart_share,
        restart_minutes=cost.restart_share * mtbf_hours * 60,
        overhead=cost.overhead,
    )


def _chosen_figures(chosen: ChosenInterval | None) -> tuple[FigureOut, ...]:
    if chosen is None:
        return ()
    formulas = {
        "lost_share": "interval / 2 / mtbf",
        "save_share": "checkpoint / interval",
        "restart_share": "restart / mtbf",
        "overhead": "lost + save + restart",
    }
    shares = tuple(
        FigureOut(name=f"chosen interval: {name}", value=round(getattr(chosen, name) * 100, 1),
                  unit="%", formula=formula)
        for name, formula in formulas.items()
    )  # fmt: skip
    minutes = (
        ("chosen interval", chosen.minutes, "given"),
        ("lost work", chosen.lost_minutes, "interval / 2"),
        ("restart", chosen.restart_minutes, "given or assumed"),
    )
    return shares + tuple(
        FigureOut(name=name, value=value, unit="min", formula=formula)
        for name, value, formula in minutes
    )


def _spot_terms(provider: str | None) -> tuple[SpotTerms, ...]:
    from tools.catalog import provider_id
    from tools.catalog.prices import policy_source, spot_policies

    wanted = provider_id(provider) if provider is not None else None
    return tuple(
        SpotTerms(
            provider=policy.provider,
            least_share=None if policy.least_share is None else float(policy.least_share),
            notice_minutes=None if policy.notice_seconds is None else policy.notice_seconds / 60,
            protection_hours=policy.protection_hours,
            source=policy_source(policy).id,
        )
        for policy in spot_policies().values()
        if wanted in (None, policy.provider)
    )


def _spot_seen() -> tuple[SpotSeen, ...]:
    from tools.catalog.prices import observed_spot_shares

    return tuple(
        SpotSeen(
            provider=o.provider,
            median=o.median_share,
            low=o.low_share,
            high=o.high_share,
            pairs=o.pairs,
            source=o.source.id,
        )
        for o in observed_spot_shares()
    )


def _spot_figures(
    terms: tuple[SpotTerms, ...], seen: tuple[SpotSeen, ...], save_s: float, mtbf_hours: float
) -> tuple[FigureOut, ...]:
    figures = [
        FigureOut(name="checkpoint", value=save_s, unit="s", formula="given or assumed"),
        FigureOut(name="mtbf", value=mtbf_hours, unit="h", formula="given or assumed"),
    ]
    for row in terms:
        rows = (
            ("notice", row.notice_minutes, "min"),
            ("least share", row.least_share, "1"),
            ("protection", row.protection_hours, "h"),
        )
        figures += [
            FigureOut(name=f"{row.provider}: spot {name}", value=value, unit=unit,
                      sources=(row.source,))
            for name, value, unit in rows if value is not None
        ]  # fmt: skip
    for o in seen:
        for name, value in (("median", o.median), ("low", o.low), ("high", o.high)):
            for kind, share in (("share", value), ("saving", 1 - value)):
                figures.append(
                    FigureOut(name=f"{o.provider}: spot {kind} {name}", value=round(share, 3),
                              unit="1", sources=(o.source,))
                )  # fmt: skip
    return tuple(figures)


def _decimal(value: float | None) -> Decimal | None:
    return None if value is None else Decimal(str(value))
