"""What is left out of the learning, how far off it comes out, and how wide intervals must be.

Used by `calibrate` alone.
"""

from __future__ import annotations

import math
import random
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from tools.speed.fitting import spread_of
from tools.speed.samples import Sample

WAYS = ("fold", "source", "card", "family")
"""What is left out before it is predicted: a random fifth, or all rows of one kind."""
COVERAGE = 0.89
"""Share of the left-out rows that an interval is made to hold."""
LEAST_SPREAD, MOST_SPREAD = 1.25, 2.0
CROWDING = 0.5
"""Rows of one source have a weight of their number to the power 1 - CROWDING in a width."""
FEW_ROWS = 10
"""Rows at which a group's own width weighs as much as the general one."""
CLOSE = 1.35

Errors = Sequence[tuple[float, Sample]]
"""log(predicted / measured) with its row."""


def split(samples: Sequence[Sample], way: str) -> Iterator[tuple[list[Sample], list[Sample]]]:
    """(rows kept, rows left out), once for every source, card, model family or fifth."""
    order = random.Random(7)
    fold = {id(s): str(order.randrange(5)) for s in samples}
    key: Callable[[Sample], str] = {
        "source": lambda s: s.source,
        "card": lambda s: s.device,
        "family": lambda s: s.family,
        "fold": lambda s: fold[id(s)],
    }[way]
    for name in sorted({key(s) for s in samples}):
        kept = [s for s in samples if key(s) != name]
        yield kept, [s for s in samples if key(s) == name]


def score(errors: Errors, widths: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Median error, share within 1.35 times and share inside the interval; core rows apart."""

    def half_width(sample: Sample) -> float:
        return math.log((widths.get(sample.spread) or widths["default"])["factor"])

    found: dict[str, float] = {}
    for suffix, chosen in (
        ("", list(errors)),
        ("_core", [pair for pair in errors if pair[1].core]),
    ):
        if not chosen:
            continue
        held = sum(abs(error) <= half_width(sample) for error, sample in chosen)
        near = sum(abs(error) <= math.log(CLOSE) for error, _ in chosen)
        middle = statistics.median(abs(math.exp(error) - 1) for error, _ in chosen)
        found |= {
            f"rows{suffix}": len(chosen),
            f"median{suffix}": round(middle, 4),
            f"close{suffix}": round(near / len(chosen), 3),
            f"held{suffix}": round(held / len(chosen), 3),
        }
    return found


def spreads(errors: Errors, row_count: int) -> dict[str, dict[str, float]]:
    """Half-width of the interval by group, from left-out errors.

    Core rows count double; the rows of one source share a weight that grows slower than their
    number, since the next question comes from no source at all.

    Args:
        errors: Of every way of leaving out that is to be held, one after the other.
        row_count: Rows that the errors belong to.
    """
    crowd = Counter((sample.source, sample.spread) for _, sample in errors)
    by_group: dict[str, list[tuple[float, float]]] = {"default": []}
    for error, sample in errors:
        voice = crowd[sample.source, sample.spread] ** -CROWDING * (2 if sample.core else 1)
        by_group["default"].append((error, voice))
        by_group.setdefault(sample.spread, []).append((error, voice))

    def width(pairs: Sequence[tuple[float, float]]) -> float:
        return spread_of([e for e, _ in pairs], COVERAGE, [weight for _, weight in pairs])

    rows = Counter(sample.spread for _, sample in errors)
    general = width(by_group["default"])
    found = {}
    for name, values in sorted(by_group.items()):
        own = width(values)
        trust = rows[name] / (rows[name] + FEW_ROWS) if name != "default" else 1.0
        factor = math.exp(trust * math.log(own) + (1 - trust) * math.log(general))
        count = row_count if name == "default" else rows[name] * row_count // len(errors)
        found[name] = {
            "factor": round(min(MOST_SPREAD, max(LEAST_SPREAD, factor)), 3),
            "rows": count,
        }
    return found
