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


def _work(
    tokens: float | None,
    samples: float | None,
    tokens_per_sample: float | None,
    epochs: float,
) -> tuple[float | None, float | None]:
    """(tokens, samples) over all epochs."""
    all_samples = samples * epochs if samples is not None else None
    if tokens is not None:
        return tokens * epochs, all_samples
    if all_samples is not None and tokens_per_sample is not None:
        return all_samples * tokens_per_sample, all_samples
    return None, all_samples


def _step_count(steps: int | None, samples: float | None, batch: float | None) -> int | None:
    if steps is not None:
        return steps
    if samples is None or batch is None:
        return None
    return math.ceil(samples / batch)


def job_hours(
    *,
    tokens: float | None = None,
    samples: float | None = None,
    tokens_per_sample: float | None = None,
    epochs: float = 1,
    steps: int | None = None,
    global_batch: float | None = None,
    step_s: float | None = None,
    tokens_per_s: Interval | float | None = None,
    samples_per_s: Interval | float | None = None,
) -> JobTime:
    """Hours a job takes, from a measured step or from a rate.

    Args:
        tokens: Tokens of one epoch.
        samples: Samples of one epoch.
        tokens_per_sample: Mean tokens of a sample (packed) or its padded length.
        epochs: Passes over the data; may be a fraction.
        steps: Optimizer steps in total; wins over samples divided by batch.
        global_batch: Samples per optimizer step over all GPUs, accumulation included.
        step_s: Measured seconds per optimizer step; wins over a rate.
        tokens_per_s: Tokens per second of all GPUs together.
        samples_per_s: Samples per second of all GPUs together.

    Returns:
        JobTime; a measured step gives an interval of no width.

    Raises:
        BadQuantityError: If a number is not above zero, or the work or the speed is not given.

    Source: definition, hours = work / speed.

    >>> job_hours(samples=50_000, epochs=3, global_batch=16, step_s=1.2).steps
    9375
    """
    for name, value in (
        ("tokens", tokens),
        ("samples", samples),
        ("tokens_per_sample", tokens_per_sample),
        ("epochs", epochs),
        ("steps", steps),
        ("global_batch", global_batch),
        ("step_s", step_s),
    ):
        require_positive(name, value)
    all_tokens, all_samples = _work(tokens, samples, tokens_per_sample, epochs)
    count = _step_count(steps, all_samples, global_batch)
    if step_s is not None and count is not None:
        hours = count * step_s / SECONDS_PER_HOUR
        inputs: tuple[Figure, ...] = (
            given("step_s", step_s, "s"),
            _count("steps", count, "samples * epochs / batch"),
        )
        formula = "steps * step_s / 3600"
        interval = Interval(hours, hours, hours, "h")
    elif tokens_per_s is not None and all_tokens is not None:
        interval = _hours(all_tokens, tokens_per_s, "tokens_per_s")
        inputs = (_count("tokens", all_tokens, "samples * tokens per sample * epochs"),)
        formula = "tokens / tokens_per_s / 3600"
    elif samples_per_s is not None and all_samples is not None:
        interval = _hours(all_samples, samples_per_s, "samples_per_s")
        inputs = (_count("samples", all_samples, "samples * epochs"),)
        formula = "samples / samples_per_s / 3600"
    else:
        raise BadQuantityError(
            field="work and speed",
            given="not enough of them",
            allowed="steps (or samples with a batch) and step_s, tokens and tokens_per_s, "
            "or samples and samples_per_s",
        )
    figures = (*interval.figures("hours", formula=formula, inputs=inputs), *inputs)
    return JobTime(interval, count, all_tokens, all_samples, figures)


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
