"""Cards for a request rate, and the price of a million tokens."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal

from tools.errors import BadQuantityError
from tools.provenance import Figure
from tools.speed.results import Interval, given, require_positive
from tools.speed.serving import cached_serving_speed
from tools.speed.workload import ServingJob

PLANNING_SHARE = (0.3, 0.6)
"""Users reach 25 to 64 % of a published maximum: plan with this share of the computed total."""

_MEAN_SHARE = sum(PLANNING_SHARE) / 2
USUAL_OUTPUT = 256
"""Tokens of an answer where none were said, as `serving_speed` takes them."""
MOST_AT_ONCE = 256
"""Sequences that serving programs run at once unless told otherwise (max_num_seqs of vLLM)."""


@dataclass(frozen=True, slots=True)
class CardsNeeded:
    """Cards for a request rate."""

    replicas: int
    gpus: int
    low_gpus: int
    high_gpus: int
    concurrency: float
    """Sequences in flight at that rate."""
    requests_per_s_per_replica: Interval
    """What one replica carries at its best; users reach a share of it."""
    _figures: tuple[Figure, ...]

    def figures(self) -> tuple[Figure, ...]:
        """Cards with their interval."""
        return self._figures


def cost_per_million_tokens(
    tokens_per_s: Interval | float,
    *,
    price_per_hour: Decimal,
    currency: str,
    utilisation: float = 1.0,
) -> tuple[Decimal, tuple[Figure, ...]]:
    """Price of a million generated tokens.

    Args:
        tokens_per_s: Tokens per second of the whole machine.
        price_per_hour: Price of the machine.
        currency: Of the price.
        utilisation: Share of the time that requests keep it busy, 0 to 1.

    Raises:
        BadQuantityError: If a number is out of range.

    >>> from decimal import Decimal
    >>> cost_per_million_tokens(1000.0, price_per_hour=Decimal("3.6"), currency="USD")[0]
    Decimal('1.0000')
    """
    rate = tokens_per_s.value if isinstance(tokens_per_s, Interval) else tokens_per_s
    require_positive("tokens_per_s", rate)
    require_positive("price_per_hour", price_per_hour)
    if not 0 < utilisation <= 1:
        raise BadQuantityError(field="utilisation", given=utilisation, allowed="above 0, at most 1")
    hours = 1e6 / (rate * utilisation) / 3600
    cost = (Decimal(repr(hours)) * price_per_hour).quantize(Decimal("0.0001"))
    figure = Figure(
        "cost_per_million_tokens",
        cost,
        currency,
        formula="1e6 / (tokens_per_s * utilisation) / 3600 * price_per_hour",
        inputs=(given("price_per_hour", price_per_hour, f"{currency}/h"),),
    )
    return cost, (figure,)


def cards_for_request_rate(
    job: ServingJob,
    *,
    requests_per_s: float,
    max_ttft_s: float | None = None,
    held: int | None = None,
) -> CardsNeeded:
    """Cards that carry a request rate.

    Args:
        job: One replica: its cards, prompt and output lengths; concurrency is chosen here.
        requests_per_s: Requests per second on average.
        max_ttft_s: Seconds allowed to the first token of an idle server; None = no limit.
        held: Sequences that one replica's memory holds, where `tools.memory` has said it; else as
            many as fit beside the weights by their bytes.

    Raises:
        BadQuantityError: If a number is not above zero, or the first token cannot be that fast.

    Source: a replica's computed total at the concurrency its memory holds (256 at most), of which
    users reach 30 to 60 %; in flight = sequences at which the replicas carry just that rate.
    """
    require_positive("requests_per_s", requests_per_s)
    require_positive("held", held)
    one = cached_serving_speed(replace(job, concurrency=1))
    if max_ttft_s is not None and one.ttft_s.low > max_ttft_s:
        raise BadQuantityError(
            field="max_ttft_s", given=max_ttft_s, allowed=f"at least {one.ttft_s.low:.2f} s here"
        )
    fitting = held if held is not None else one.fitting_sequences
    width = MOST_AT_ONCE if fitting is None else min(MOST_AT_ONCE, fitting)
    full = cached_serving_speed(replace(job, concurrency=width))
    output = job.output_len or USUAL_OUTPUT
    carried = full.total_tokens_per_s.scaled(1 / output, "1/s")
    per_replica = carried.value
    cards = max(1, job.num_gpus)

    def gpus(share: float) -> int:
        return math.ceil(requests_per_s / (per_replica * share)) * cards

    low, value, high = (
        gpus(share) for share in (PLANNING_SHARE[1], _MEAN_SHARE, PLANNING_SHARE[0])
    )
    figures = _card_figures((value, low, high), requests_per_s, per_replica)
    replicas = value // cards
    in_flight = replicas * _busy(job, width, requests_per_s / replicas * output)
    return CardsNeeded(replicas, value, low, high, in_flight, carried, figures)


def _card_figures(
    counts: tuple[int, int, int], requests_per_s: float, per_replica: float
) -> tuple[Figure, ...]:
    inputs = (
        given("requests_per_s", requests_per_s, "1/s"),
        Figure("requests_per_s_per_replica", per_replica, "1/s", formula="total tokens/s / output"),
    )
    formula = "ceil(rate / (replica's rate * share users reach)) * cards per replica"
    return tuple(
        Figure(name, count, "GPU", formula=formula, inputs=inputs)
        for name, count in zip(("gpus", "gpus_low", "gpus_high"), counts, strict=True)
    )


def _busy(job: ServingJob, width: int, tokens_per_s: float) -> int:
    """The fewest sequences at once at which a replica generates so many tokens a second."""
    low, high = 1, width
    while low < high:
        middle = (low + high) // 2
        total = cached_serving_speed(replace(job, concurrency=middle)).total_tokens_per_s.value
        low, high = (low, middle) if total >= tokens_per_s else (middle + 1, high)
    return low
