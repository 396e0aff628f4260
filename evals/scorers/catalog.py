"""Judges what the catalog, the GPU table and the model registry hold against their sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evals.sample import Row, Score

_RELATIVE = 2.5e-3
"""Sources print three or four digits: 1,008 GB/s is also 1,010."""
_EXACT = frozenset("gpu_count vcpu_count num_hidden_layers num_key_value_heads".split())


def judge(row: Row, output: Mapping[str, Any]) -> list[Score]:
    """One score a field that the row expects; an unknown field is a failure, not a pass.

    `low`/`high` bound the output's `per_hour`; `least_share`/`most_share` bound the spot price's
    `low_share` and `high_share`.
    """
    if output.get("error"):
        return [Score("found", False, str(output["error"]))]
    expect = row["expect"]
    scores = [
        _bounded(expect, output, name, side, bound)
        for bound, name, side in (
            ("low", "per_hour", 1),
            ("high", "per_hour", -1),
            ("least_share", "low_share", 1),
            ("most_share", "high_share", -1),
        )
        if bound in expect
    ]
    bounds = {"low", "high", "least_share", "most_share"}
    scores += [_equal(name, expect[name], output) for name in expect if name not in bounds]
    if row["what"] == "price":
        scores.append(Score("dated", output.get("priced_on") is not None, "price without a date"))
    return scores


def _bounded(expect: Row, output: Row, name: str, side: int, bound: str) -> Score:
    given = output.get(name)
    if given is None:
        return Score(name, False, f"no {name}")
    holds = side * (float(given) / float(expect[bound]) - 1) >= -_RELATIVE
    return Score(name, holds, f"{name} {given}, {bound} {expect[bound]}")


def _equal(name: str, wanted: Any, output: Row) -> Score:
    if name not in output:
        return Score(name, False, f"no field {name}")
    given = output[name]
    if isinstance(wanted, bool) or isinstance(given, bool) or wanted is None or given is None:
        same = wanted is given
    elif isinstance(wanted, int | float) and isinstance(given, int | float):
        same = abs(wanted - given) <= (0 if name in _EXACT else _RELATIVE * abs(wanted))
    else:
        same = wanted == given
    return Score(name, same, f"{name} is {given!r}, the source says {wanted!r}")
