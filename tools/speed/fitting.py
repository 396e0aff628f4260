"""Robust least squares on logarithms, with priors; used by `calibrate` alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

HUBER = 0.35
"""Log error beyond which a row pulls with constant force: about 1.4 times off."""
DAMPING = (1e-3, 0.1, 10.0)


class Fit(NamedTuple):
    """Learnt constants."""

    constants: dict[str, float]
    deviation: dict[str, float]
    """Standard deviation of each constant's logarithm, the other constants held loose."""


Predict = Callable[[int, Mapping[str, float]], float]


def fit_constants(
    start: Mapping[str, float],
    prior_width: Mapping[str, float],
    predict: Predict,
    truths: Sequence[float],
    weights: Sequence[float],
    *,
    rounds: int = 8,
    affects: Mapping[str, Sequence[int]] | None = None,
) -> Fit:
    """Constants that explain the measurements best without leaving their priors.

    Args:
        start: Prior centre of every constant; all above zero.
        prior_width: Standard deviation of each constant's logarithm.
        predict: Value of row i under given constants.
        truths: Measured values.
        weights: Weight of each row.
        rounds: Gauss-Newton steps at most.
        affects: Rows that a constant moves, where it moves few; the others move all.

    Returns:
        The constants with the least sum of Huber losses and prior penalties, and their spread.
    """
    import numpy as np

    names = list(start)
    centre = np.log(np.array([start[name] for name in names]))
    width = np.array([prior_width.get(name, 0.3) for name in names])
    target = np.log(np.array(truths))
    root = np.sqrt(np.array(weights))

    def residuals(point: Any) -> Any:
        constants = dict(zip(names, np.exp(point), strict=True))
        values = [math.log(predict(i, constants)) for i in range(len(truths))]
        return np.array(values) - target

    def loss(point: Any, errors: Any) -> float:
        size = np.abs(errors)
        huber = np.where(size < HUBER, 0.5 * size**2, HUBER * (size - 0.5 * HUBER))
        return float((root**2 * huber).sum() + 0.5 * (((point - centre) / width) ** 2).sum())

    point = centre.copy()
    errors = residuals(point)
    best = loss(point, errors)
    damping = DAMPING[1]
    normal = np.diag(1 / width**2)
    for _ in range(rounds):
        jacobian = np.empty((len(truths), len(names)))
        for j in range(len(names)):
            moved = point.copy()
            moved[j] += 0.02
            rows = (affects or {}).get(names[j])
            if rows is None:
                jacobian[:, j] = (residuals(moved) - errors) / 0.02
                continue
            constants = dict(zip(names, np.exp(moved), strict=True))
            jacobian[:, j] = 0.0
            for i in rows:
                value = math.log(predict(i, constants)) - target[i]
                jacobian[i, j] = (value - errors[i]) / 0.02
        pull = np.where(np.abs(errors) < HUBER, 1.0, HUBER / np.maximum(np.abs(errors), 1e-9))
        scale = (root**2 * pull)[:, None]
        normal = jacobian.T @ (scale * jacobian) + np.diag(1 / width**2)
        gradient = jacobian.T @ (scale[:, 0] * errors) + (point - centre) / width**2
        improved = False
        for _ in range(6):
            step = np.linalg.solve(normal + damping * np.diag(np.diag(normal)), gradient)
            trial = point - np.clip(step, -0.7, 0.7)
            trial_errors = residuals(trial)
            value = loss(trial, trial_errors)
            if value < best:
                gain = best - value
                point, errors, best = trial, trial_errors, value
                damping = max(damping / 3, DAMPING[0])
                improved = gain > 1e-4
                break
            damping = min(damping * 4, DAMPING[2])
        if not improved:
            break
    spread = np.sqrt(np.diag(np.linalg.inv(normal)))
    return Fit(
        dict(zip(names, (float(v) for v in np.exp(point)), strict=True)),
        dict(zip(names, (float(v) for v in spread), strict=True)),
    )


def group_factors(
    errors: Sequence[float],
    tags: Sequence[Mapping[str, str]],
    kinds: Mapping[str, float],
    weights: Sequence[float],
) -> dict[str, dict[str, dict[str, float]]]:
    """Corrections of groups of rows, shrunk toward none.

    Args:
        errors: log(predicted / measured) of each row.
        tags: The groups that a row belongs to, by kind.
        kinds: Order of the kinds with their shrinkage: rows that a group needs to be trusted half.
        weights: Weight of each row inside its group.

    Returns:
        kind -> group -> factor to multiply predictions by, and the rows it rests on.
    """
    left = list(errors)
    found: dict[str, dict[str, dict[str, float]]] = {}
    for kind, trust in kinds.items():
        members: dict[str, list[int]] = {}
        for i, tag in enumerate(tags):
            if kind in tag:
                members.setdefault(tag[kind], []).append(i)
        found[kind] = {}
        for name, rows in sorted(members.items()):
            total = sum(weights[i] for i in rows)
            mean = _middle([left[i] for i in rows], [weights[i] for i in rows])
            shift = mean * total / (total + trust)
            for i in rows:
                left[i] -= shift
            found[kind][name] = {"factor": round(math.exp(-shift), 4), "rows": len(rows)}
    return found


def _middle(values: Sequence[float], weights: Sequence[float]) -> float:
    """Weighted mean of the values between the 15th and the 85th percentile."""
    ordered = sorted(zip(values, weights, strict=True))
    total = sum(weights)
    seen, top, bottom = 0.0, 0.0, 0.0
    for value, weight in ordered:
        start, seen = seen, seen + weight
        inside = min(seen, 0.85 * total) - max(start, 0.15 * total)
        if inside > 0:
            top += value * inside
            bottom += inside
    return top / bottom if bottom else 0.0


def spread_of(errors: Sequence[float], share: float) -> float:
    """Factor f so that value / f .. value * f holds `share` of the truths."""
    ordered = sorted(abs(e) for e in errors)
    if not ordered:
        return 1.0
    index = min(len(ordered) - 1, math.ceil(share * len(ordered)))
    return math.exp(ordered[index])
