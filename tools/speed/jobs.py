"""How long a job takes and what it costs, from its amount of work and a speed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

from tools.errors import BadQuantityError
from tools.provenance import Figure
from tools.speed.results import Interval, given, require_positive

SECONDS_PER_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class JobTime:
    """Wall-clock time of a job."""

    hours: Interval
    steps: int | None
    """Optimizer steps, where a batch or a step count was given."""
    tokens: float | None
    """Tokens processed, where the work is text."""
    samples: float | None
    """Samples processed over all epochs."""
    _figures: tuple[Figure, ...]

    def figures(self) -> tuple[Figure, ...]:
        """Hours (h) with their interval, and the counts they rest on."""
        return self._figures


@dataclass(frozen=True, slots=True)
class JobCost:
    """Price of a job."""

    cost: Decimal
    low: Decimal
    high: Decimal
    currency: str
    _figures: tuple[Figure, ...]

    def figures(self) -> tuple[Figure, ...]:
        """The cost with its interval, in the price's currency."""
        return self._figures


@dataclass(frozen=True, slots=True, kw_only=True)
class JobWork:
    """How much there is to do; None = not said.

    Raises:
        BadQuantityError: If a number is not above zero.
    """

    tokens: float | None = None
    """Tokens of one epoch."""
    samples: float | None = None
    """Samples of one epoch."""
    tokens_per_sample: float | None = None
    """Mean tokens of a sample (packed) or its padded length."""
    epochs: float = 1
    """Passes over the data; may be a fraction."""
    steps: int | None = None
    """Optimizer steps in total; wins over samples divided by batch."""
    global_batch: float | None = None
    """Samples per optimizer step over all GPUs, accumulation included."""

    def __post_init__(self) -> None:
        for field in ("tokens", "samples", "tokens_per_sample", "epochs", "steps", "global_batch"):
            require_positive(field, getattr(self, field))

    @property
    def all_samples(self) -> float | None:
        """Samples over all epochs."""
        return None if self.samples is None else self.samples * self.epochs

    @property
    def all_tokens(self) -> float | None:
        """Tokens over all epochs."""
        if self.tokens is not None:
            return self.tokens * self.epochs
        if self.all_samples is not None and self.tokens_per_sample is not None:
            return self.all_samples * self.tokens_per_sample
        return None

    @property
    def step_count(self) -> int | None:
        """Optimizer steps; a started one counts."""
        if self.steps is not None or self.all_samples is None or self.global_batch is None:
            return self.steps
        return math.ceil(self.all_samples / self.global_batch)


def job_hours(
    work: JobWork,
    *,
    step_s: float | None = None,
    tokens_per_s: Interval | float | None = None,
    samples_per_s: Interval | float | None = None,
) -> JobTime:
    """Hours a job takes, from a measured step or from a rate.

    Args:
        work: How much there is to do.
        step_s: Measured seconds per optimizer step; wins over a rate.
        tokens_per_s: Tokens per second of all GPUs together.
        samples_per_s: Samples per second of all GPUs together.

    Returns:
        JobTime; a measured step gives an interval of no width.

    Raises:
        BadQuantityError: If a number is not above zero, or the work or the speed is not given.

    Source: definition, hours = work / speed.

    >>> job_hours(JobWork(samples=50_000, epochs=3, global_batch=16), step_s=1.2).steps
    9375
    """
    require_positive("step_s", step_s)
    steps, tokens, samples = work.step_count, work.all_tokens, work.all_samples
    if step_s is not None and steps is not None:
        return _by_steps(work, steps, step_s)
    if tokens_per_s is not None and tokens is not None:
        made_of = "samples * tokens per sample * epochs"
        return _by_rate(work, ("tokens", tokens, made_of), tokens_per_s)
    if samples_per_s is not None and samples is not None:
        return _by_rate(work, ("samples", samples, "samples * epochs"), samples_per_s)
    raise BadQuantityError(
        field="work and speed",
        given="not enough of them",
        allowed="steps (or samples with a batch) and step_s, tokens and tokens_per_s, "
        "or samples and samples_per_s",
    )


def _by_steps(work: JobWork, steps: int, step_s: float) -> JobTime:
    hours = steps * step_s / SECONDS_PER_HOUR
    inputs = (given("step_s", step_s, "s"), _count("steps", steps, "samples * epochs / batch"))
    interval = Interval(hours, hours, hours, "h")
    figures = interval.figures("hours", formula="steps * step_s / 3600", inputs=inputs)
    return JobTime(interval, steps, work.all_tokens, work.all_samples, (*figures, *inputs))


def _by_rate(work: JobWork, amount: tuple[str, float, str], rate: Interval | float) -> JobTime:
    """Hours of an amount (name, value, formula) at a rate of all GPUs."""
    name, value, made_of = amount
    interval = _hours(value, rate, f"{name}_per_s")
    inputs = (_count(name, value, made_of),)
    figures = interval.figures("hours", formula=f"{name} / {name}_per_s / 3600", inputs=inputs)
    return JobTime(
        interval, work.step_count, work.all_tokens, work.all_samples, (*figures, *inputs)
    )


def _count(name: str, value: float, formula: str) -> Figure:
    return Figure(name, value, "1", formula=formula)


def _hours(work: float, rate: Interval | float, field: str) -> Interval:
    speed = rate if isinstance(rate, Interval) else Interval(rate, rate, rate, "1/s")
    require_positive(field, speed.value)
    return speed.inverse(work / SECONDS_PER_HOUR, "h")


def job_cost(
    hours: Interval | float,
    *,
    price_per_hour: Decimal,
    currency: str,
    instances: int = 1,
) -> JobCost:
    """Cost of running `instances` machines for `hours`.

    Args:
        hours: Wall-clock hours.
        price_per_hour: Price of one machine for one hour.
        currency: ISO code of the price; the cost has the same.
        instances: Machines rented.

    Raises:
        BadQuantityError: If a number is not above zero.

    Source: definition, cost = hours * price * machines. Assumes: billing by the second; disks,
    traffic and idle time are not in it.

    >>> job_cost(3.125, price_per_hour=Decimal("2"), currency="USD").cost
    Decimal('6.25')
    """
    time = hours if isinstance(hours, Interval) else Interval(hours, hours, hours, "h")
    require_positive("hours", time.value)
    require_positive("price_per_hour", price_per_hour)
    require_positive("instances", instances)
    values = [
        money(time_h, price_per_hour * instances) for time_h in (time.value, time.low, time.high)
    ]
    inputs = (
        Figure("hours", time.value, "h", formula="work / speed"),
        given("price_per_hour", price_per_hour, f"{currency}/h"),
        given("instances", instances, "1"),
    )
    formula = "hours * price_per_hour * instances"
    figures = tuple(
        Figure(name, value, currency, formula=formula, inputs=inputs)
        for name, value in zip(("cost", "cost_low", "cost_high"), values, strict=True)
    )
    return JobCost(values[0], values[1], values[2], currency, figures)


def money(amount: float, price: Decimal) -> Decimal:
    """Amount times price, rounded to the cent."""
    return (Decimal(repr(amount)) * price).quantize(Decimal("0.01"))
