"""Spot instances: how often to save, what an interruption costs, and which billing pays."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

from tools.errors import BadQuantityError
from tools.provenance import Figure, Source
from tools.speed.jobs import money
from tools.speed.results import given, require_positive
from tools.units import HOURS_PER_MONTH, MB

DEFAULT_RESTART_S = 600.0
"""New machine, image, data and checkpoint loaded: ten minutes, assumed."""
FULL_STATE_BYTES_PER_PARAM = 14
"""2 (bf16 weights) + 12 (fp32 master copy and both Adam moments)."""
YOUNG_DALY = Source(
    "paper:2410.18124", "paper", "arXiv 2410.18124: optimal checkpoint interval, Young/Daly form"
)


@dataclass(frozen=True, slots=True)
class SpotPlan:
    """When to save on a machine that may be taken away, and what that costs."""

    interval_s: float
    """Seconds of work between two saves."""
    checkpoint_s: float
    """Seconds that one save blocks the training."""
    mtbf_s: float
    """Mean seconds between interruptions."""
    expected_interruptions: float | None
    lost_work_s: float
    """Mean work thrown away by one interruption: half an interval."""
    overhead: float
    """Share of extra time: saves, lost work and restarts, over the undisturbed time."""
    wall_hours: float | None
    cost: Decimal | None
    on_demand_cost: Decimal | None
    saving: float | None
    """1 - spot cost / on-demand cost, overhead included."""
    currency: str | None
    _figures: tuple[Figure, ...]

    def figures(self) -> tuple[Figure, ...]:
        """Interval (s), overhead (1), wall time (h) and costs."""
        return self._figures


def checkpoint_bytes(
    params: float, *, trainable_params: float | None = None, resumable: bool = True
) -> float:
    """Bytes of one checkpoint.

    Args:
        params: Parameters of the model.
        trainable_params: Parameters of the adapter (LoRA); None means that all are trained.
        resumable: With the optimizer's states (needed to go on), or weights alone.

    Source: 2 B of weights + 12 B of optimizer state a parameter; BLOOM's 2.3 TB for 176 B
    parameters is 13.1 B a parameter (derived).

    >>> checkpoint_bytes(8e9)
    112000000000.0
    """
    require_positive("params", params)
    trained = params if trainable_params is None else trainable_params
    per_param = FULL_STATE_BYTES_PER_PARAM if resumable else 2
    return float(trained * per_param)


def checkpoint_seconds(size_bytes: float, *, write_mb_s: float) -> float:
    """Seconds to write a checkpoint at a disk's rate, the software's overhead left out.

    Args:
        size_bytes: Bytes to write.
        write_mb_s: Write rate in MB/s (10**6 bytes).

    >>> round(checkpoint_seconds(112e9, write_mb_s=350))
    320
    """
    require_positive("write_mb_s", write_mb_s)
    return size_bytes / (write_mb_s * MB)


def mtbf_hours_of(
    *,
    interruptions_per_hour: float | None = None,
    monthly_interruption: float | None = None,
    instances: int = 1,
) -> float:
    """Mean hours between interruptions of a job on `instances` machines.

    Args:
        interruptions_per_hour: Rate of one machine.
        monthly_interruption: Share of machines taken within a month (a vendor's band, 0.1 = 10 %).
        instances: Machines that must all run; any one lost stops the job.

    Raises:
        BadQuantityError: If neither rate is given or one is out of range.

    Source: independent interruptions at a constant rate; monthly share p gives the rate
    -ln(1 - p) / 730 h.
    """
    require_positive("instances", instances)
    if interruptions_per_hour is not None:
        require_positive("interruptions_per_hour", interruptions_per_hour)
        return 1.0 / (interruptions_per_hour * instances)
    if monthly_interruption is None or not 0 < monthly_interruption < 1:
        raise BadQuantityError(
            field="monthly_interruption", given=monthly_interruption, allowed="between 0 and 1"
        )
    return HOURS_PER_MONTH / (-math.log1p(-monthly_interruption) * instances)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpotJob:
    """A job on machines that may be taken away.

    Raises:
        BadQuantityError: If a number is not above zero, or a save takes longer than the mean time
            between two interruptions.
    """

    mtbf_hours: float
    """Mean hours between interruptions of the whole job."""
    checkpoint_s: float
    """Seconds that one save stops the training."""
    restart_s: float | None = None
    """Seconds from the interruption until training goes on; assumed 600."""
    job_hours: float | None = None
    """Undisturbed length of the job."""
    spot_price_per_hour: Decimal | None = None
    """Price of one spot machine."""
    on_demand_price_per_hour: Decimal | None = None
    """Price of the same machine on demand."""
    instances: int = 1
    currency: str | None = None
    """Of both prices."""

    def __post_init__(self) -> None:
        require_positive("mtbf_hours", self.mtbf_hours)
        require_positive("checkpoint_s", self.checkpoint_s)
        if self.restart < 0:
            raise BadQuantityError(field="restart_s", given=self.restart, allowed="0 or more")
        if self.checkpoint_s >= self.mtbf_s:
            raise BadQuantityError(
                field="checkpoint_s",
                given=self.checkpoint_s,
                allowed=f"less than the mean time between interruptions, {self.mtbf_s:.0f} s",
            )

    @property
    def mtbf_s(self) -> float:
        """Mean seconds between interruptions."""
        return self.mtbf_hours * 3600

    @property
    def restart(self) -> float:
        """Seconds of a restart, assumed where none were said."""
        return DEFAULT_RESTART_S if self.restart_s is None else self.restart_s


def spot_plan(job: SpotJob) -> SpotPlan:
    """The best checkpoint interval, the work to expect lost, and the cost of the job.

    Returns:
        SpotPlan; costs are None where a price or the length is missing.

    Source: Young/Daly, interval = sqrt(2 * checkpoint * MTBF) (arXiv 2410.18124); overhead =
    checkpoint / interval + (interval / 2 + restart) / MTBF.

    >>> round(spot_plan(SpotJob(mtbf_hours=6, checkpoint_s=120)).interval_s)
    2277
    """
    interval = math.sqrt(2 * job.checkpoint_s * job.mtbf_s)
    overhead = job.checkpoint_s / interval + (interval / 2 + job.restart) / job.mtbf_s
    wall = job.job_hours * (1 + overhead) if job.job_hours is not None else None
    cost = _cost(wall, job.spot_price_per_hour, job.instances)
    plain = _cost(job.job_hours, job.on_demand_price_per_hour, job.instances)
    figures = _plan_figures(job, interval, overhead)
    if job.currency is not None:
        figures += tuple(
            _cost_figure(name, amount, job.currency, figures)
            for name, amount in (("spot_cost", cost), ("on_demand_cost", plain))
            if amount is not None
        )
    return SpotPlan(
        interval_s=interval,
        checkpoint_s=job.checkpoint_s,
        mtbf_s=job.mtbf_s,
        expected_interruptions=wall / job.mtbf_hours if wall is not None else None,
        lost_work_s=interval / 2,
        overhead=overhead,
        wall_hours=wall,
        cost=cost,
        on_demand_cost=plain,
        saving=float(1 - cost / plain) if cost is not None and plain else None,
        currency=job.currency,
        _figures=figures,
    )


@dataclass(frozen=True, slots=True)
class SavingCost:
    """What saving at a given interval costs on a machine that may be taken away."""

    lost_work_s: float
    """Mean work thrown away by one interruption: half an interval."""
    lost_share: float
    """Work thrown away, over the undisturbed time."""
    save_share: float
    """Time that saves take, over the undisturbed time."""
    restart_share: float
    """Time until training goes on again, over the undisturbed time."""

    @property
    def overhead(self) -> float:
        """All three together."""
        return self.lost_share + self.save_share + self.restart_share


def saving_cost(
    *, interval_s: float, mtbf_hours: float, checkpoint_s: float, restart_s: float | None = None
) -> SavingCost:
    """The cost of a checkpoint interval that was chosen, not computed.

    Args:
        interval_s: Seconds of work between two saves.
        mtbf_hours: Mean hours between interruptions of the whole job.
        checkpoint_s: Seconds that one save stops the training.
        restart_s: Seconds from the interruption until training goes on; assumed 600.

    Raises:
        BadQuantityError: If a number is not above zero.

    Source: arXiv 2410.18124, overhead = checkpoint / interval + (interval / 2 + restart) / MTBF.

    >>> cost = saving_cost(interval_s=1800, mtbf_hours=4, checkpoint_s=60, restart_s=600)
    >>> cost.lost_work_s, round(cost.lost_share, 4), round(cost.overhead, 4)
    (900.0, 0.0625, 0.1375)
    """
    require_positive("interval_s", interval_s)
    require_positive("mtbf_hours", mtbf_hours)
    require_positive("checkpoint_s", checkpoint_s)
    restart = DEFAULT_RESTART_S if restart_s is None else restart_s
    mtbf_s = mtbf_hours * 3600
    return SavingCost(
        lost_work_s=interval_s / 2,
        lost_share=interval_s / 2 / mtbf_s,
        save_share=checkpoint_s / interval_s,
        restart_share=restart / mtbf_s,
    )


def _cost(hours: float | None, price: Decimal | None, instances: int) -> Decimal | None:
    return money(hours, price * instances) if hours is not None and price is not None else None


def _cost_figure(name: str, cost: Decimal, currency: str, inputs: tuple[Figure, ...]) -> Figure:
    return Figure(name, cost, currency, formula="hours * price * instances", inputs=inputs)


def _plan_figures(job: SpotJob, interval: float, overhead: float) -> tuple[Figure, ...]:
    inputs = (
        given("checkpoint_s", job.checkpoint_s, "s"),
        given("mtbf_s", job.mtbf_s, "s"),
        given("restart_s", job.restart, "s"),
    )
    figures = (
        Figure(
            "checkpoint_interval",
            interval,
            "s",
            (YOUNG_DALY,),
            "sqrt(2 * checkpoint_s * mtbf_s)",
            inputs[:2],
        ),
        Figure("lost_work_per_interruption", interval / 2, "s", formula="interval / 2"),
        Figure(
            "overhead",
            overhead,
            "1",
            formula="checkpoint_s / interval + (interval / 2 + restart_s) / mtbf_s",
            inputs=inputs,
        ),
    )
    if job.job_hours is None:
        return figures
    wall = Figure(
        "wall_hours", job.job_hours * (1 + overhead), "h", formula="job_hours * (1 + overhead)"
    )
    return (*figures, wall)


@dataclass(frozen=True, slots=True)
class BillingChoice:
    """Which billing is cheapest for so many hours a month."""

    monthly: dict[str, Decimal]
    """Cost of a month by billing: on_demand, spot, subscription; only those with a price."""
    cheapest: str
    break_even_hours: float | None
    """Hours a month above which the subscription beats on demand."""
    spot_break_even_overhead: float | None
    """Overhead at which spot stops being cheaper than on demand."""
    currency: str
    _figures: tuple[Figure, ...]

    def figures(self) -> tuple[Figure, ...]:
        """Monthly costs and the break-even hours."""
        return self._figures


def billing_break_even(
    *,
    hours_per_month: float,
    currency: str,
    on_demand_per_hour: Decimal | None = None,
    spot_per_hour: Decimal | None = None,
    subscription_per_month: Decimal | None = None,
    spot_overhead: float = 0.0,
) -> BillingChoice:
    """Compares on demand, spot and subscription for `hours_per_month` of use.

    Args:
        hours_per_month: Hours the machine works; 730 is round the clock.
        currency: Of every price.
        on_demand_per_hour: Price of an hour.
        spot_per_hour: Price of a spot hour.
        subscription_per_month: Price of a month, used or not.
        spot_overhead: Extra share of time on spot, from `spot_plan`.

    Raises:
        BadQuantityError: If no price is given, or a number is out of range.

    Source: definition; break-even = subscription / on-demand price.
    """
    require_positive("hours_per_month", hours_per_month)
    if hours_per_month > 31 * 24:
        raise BadQuantityError(
            field="hours_per_month", given=hours_per_month, allowed="at most 744, a month's hours"
        )
    monthly: dict[str, Decimal] = {}
    if on_demand_per_hour is not None:
        monthly["on_demand"] = money(hours_per_month, on_demand_per_hour)
    if spot_per_hour is not None:
        monthly["spot"] = money(hours_per_month * (1 + spot_overhead), spot_per_hour)
    if subscription_per_month is not None:
        monthly["subscription"] = subscription_per_month.quantize(Decimal("0.01"))
    if not monthly:
        raise BadQuantityError(field="prices", given=None, allowed="at least one of the three")
    break_even = _ratio(subscription_per_month, on_demand_per_hour)
    spot_ratio = _ratio(on_demand_per_hour, spot_per_hour)
    figures = [
        Figure(f"{name}_per_month", cost, currency, formula="hours_per_month * price")
        for name, cost in monthly.items()
    ]
    if break_even is not None:
        formula = "subscription_per_month / on_demand_per_hour"
        figures.append(Figure("break_even_hours", break_even, "h", formula=formula))
    return BillingChoice(
        monthly=monthly,
        cheapest=min(monthly, key=lambda name: monthly[name]),
        break_even_hours=break_even,
        spot_break_even_overhead=None if spot_ratio is None else spot_ratio - 1,
        currency=currency,
        _figures=tuple(figures),
    )


def _ratio(over: Decimal | None, under: Decimal | None) -> float | None:
    return float(over / under) if over is not None and under is not None else None
