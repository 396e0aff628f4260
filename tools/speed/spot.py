"""Spot instances: how often to save, what an interruption costs, and which billing pays."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

from tools.errors import BadQuantityError
from tools.provenance import Figure, Source
from tools.speed.jobs import money
from tools.speed.results import Interval, given, require_positive
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


_BANDS = {
    "<5%": (0.025, 0.01, 0.05),
    "5-10%": (0.075, 0.05, 0.10),
    "10-15%": (0.125, 0.10, 0.15),
    "15-20%": (0.175, 0.15, 0.20),
    ">20%": (0.30, 0.20, 0.60),
}
"""Monthly share of machines taken by a vendor's band: the likely one, its least, its most. The open
ends are assumed: 1 % at least, 60 % at most."""


def mtbf_of_band(band: str, *, instances: int = 1) -> Interval:
    """Mean hours between interruptions of a job on machines of a vendor's band.

    Args:
        band: As the AWS Spot Advisor writes it: <5%, 5-10%, 10-15%, 15-20%, >20%.
        instances: Machines that must all run.

    Raises:
        BadQuantityError: If the band is not known.

    Source: the band is the share of machines taken within a month; see `mtbf_hours_of`.

    >>> round(mtbf_of_band("15-20%").value)
    3795
    """
    shares = _BANDS.get(band)
    if shares is None:
        raise BadQuantityError(field="band", given=band, allowed=", ".join(_BANDS))
    hours = [mtbf_hours_of(monthly_interruption=share, instances=instances) for share in shares]
    return Interval(hours[0], hours[2], hours[1], "h")


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
