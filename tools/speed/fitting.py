"""Robust least squares on logarithms, with priors; used by `calibrate` alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

HUBER = 0.35
"""Log error beyond which a row pulls with constant force: about 1.4 times off."""
VOICE = 1.0
"""Weight of rows at which a source has half a voice in its group."""
SOURCE_TRIM = 0.3
"""Share of the voices at either end that a group's middle leaves out."""
MANY = 4
"""Sources from which on outliers among them can be told."""
DAMPING = (1e-3, 0.1, 10.0)
"""Least, first and most damping of a step."""
NUDGE = 0.02
"""Step of the numerical derivative, in the logarithm."""


class Fit(NamedTuple):
    """Learnt constants."""

    constants: dict[str, float]
    deviation: dict[str, float]
    """Standard deviation of each constant's logarithm, the other constants held loose."""


Predict = Callable[[int, Mapping[str, float]], float]


@dataclass(slots=True)
class _Problem:
    """Residuals and loss of a fit, in logarithms."""

    names: list[str]
    centre: Any
    width: Any
    predict: Predict
    target: Any
    root: Any
    affects: Mapping[str, Sequence[int]]

    def constants(self, point: Any) -> dict[str, float]:
        return {name: math.exp(value) for name, value in zip(self.names, point, strict=True)}

    def residuals(self, point: Any) -> Any:
        import numpy as np

        constants = self.constants(point)
        values = [math.log(self.predict(i, constants)) for i in range(len(self.target))]
        return np.array(values) - self.target

    def loss(self, point: Any, errors: Any) -> float:
        import numpy as np

        size = np.abs(errors)
        huber = np.where(size < HUBER, 0.5 * size**2, HUBER * (size - 0.5 * HUBER))
        prior = (((point - self.centre) / self.width) ** 2).sum()
        return float((self.root**2 * huber).sum() + 0.5 * prior)

    def jacobian(self, point: Any, errors: Any) -> Any:
        import numpy as np

        found = np.zeros((len(self.target), len(self.names)))
        for j, name in enumerate(self.names):
            moved = point.copy()
            moved[j] += NUDGE
            rows = self.affects.get(name)
            if rows is None:
                found[:, j] = (self.residuals(moved) - errors) / NUDGE
                continue
            constants = self.constants(moved)
            for i in rows:
                value = math.log(self.predict(i, constants)) - self.target[i]
                found[i, j] = (value - errors[i]) / NUDGE
        return found

    def normal(self, point: Any, errors: Any) -> tuple[Any, Any]:
        """(normal matrix, gradient) at a point."""
        import numpy as np

        jacobian = self.jacobian(point, errors)
        pull = np.where(np.abs(errors) < HUBER, 1.0, HUBER / np.maximum(np.abs(errors), 1e-9))
        scale = (self.root**2 * pull)[:, None]
        matrix = jacobian.T @ (scale * jacobian) + np.diag(1 / self.width**2)
        gradient = jacobian.T @ (scale[:, 0] * errors) + (point - self.centre) / self.width**2
        return matrix, gradient


def fit_constants(
    start: Mapping[str, float],
    prior_width: Mapping[str, float],
    predict: Predict,
    truths: Sequence[float],
    weights: Sequence[float],
    *,
    rounds: int = 8,
    affects: Mapping[str, Sequence[int]] | None = None,
    begin: Mapping[str, float] | None = None,
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
        begin: Constants that the search begins at, where a similar fit is known; else the priors.

    Returns:
        The constants with the least sum of Huber losses and prior penalties, and their spread.
    """
    import numpy as np

    names = list(start)
    centre = np.log(np.array([start[name] for name in names]))
    width = np.array([prior_width.get(name, 0.3) for name in names])
    target, root = np.log(np.array(truths)), np.sqrt(np.array(weights))
    problem = _Problem(names, centre, width, predict, target, root, affects or {})
    point = np.log(np.array([(begin or {}).get(name, start[name]) for name in names]))
    errors = problem.residuals(point)
    best = problem.loss(point, errors)
    normal = np.diag(1 / width**2)
    damping = DAMPING[1]
    for _ in range(rounds):
        normal, gradient = problem.normal(point, errors)
        before = best
        point, errors, best, damping = _descended(
            problem, _At(point, errors, best, damping), normal, gradient
        )
        if before - best < 1e-4:
            break
    spread = np.sqrt(np.diag(np.linalg.inv(normal))).tolist()
    return Fit(problem.constants(point), dict(zip(names, spread, strict=True)))


_TRIALS = 6
"""Steps of growing caution that one round tries."""


class _At(NamedTuple):
    """Where a search stands."""

    point: Any
    errors: Any
    loss: float
    damping: float


def _descended(problem: _Problem, at: _At, normal: Any, gradient: Any) -> _At:
    """The first of a few damped steps that lowers the loss; else the same place, more careful."""
    import numpy as np

    least, _, most = DAMPING
    for _ in range(_TRIALS):
        step = np.linalg.solve(normal + at.damping * np.diag(np.diag(normal)), gradient)
        trial = at.point - np.clip(step, -0.7, 0.7)
        errors = problem.residuals(trial)
        loss = problem.loss(trial, errors)
        if loss < at.loss:
            return _At(trial, errors, loss, max(at.damping / 3, least))
        at = at._replace(damping=min(at.damping * 4, most))
    return at


def group_factors(
    errors: Sequence[float],
    tags: Sequence[Mapping[str, str]],
    kinds: Mapping[str, float],
    weights: Sequence[float],
    sources: Sequence[str] | None = None,
) -> dict[str, dict[str, dict[str, float]]]:
    """Corrections of groups of rows, shrunk toward none.

    A group that a single publisher measured cannot be told from that publisher's habits: trust
    grows with the number of sources, and each source has one voice however many rows it has.

    Args:
        errors: log(predicted / measured) of each row.
        tags: The groups that a row belongs to, by kind.
        kinds: Order of the kinds with their shrinkage: sources (or weight of rows) that a group
            needs to be trusted half.
        weights: Weight of each row inside its source.
        sources: Who published each row; None = rows speak for themselves.

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
            if sources is None:
                means, voices = [left[i] for i in rows], [weights[i] for i in rows]
                mean = _middle(means, voices)
            else:
                means, voices = _voices(rows, left, weights, sources)
                mean = _middle(means, voices, trim=SOURCE_TRIM if len(means) >= MANY else 0.0)
            total = sum(voices)
            shift = mean * total / (total + trust)
            for i in rows:
                left[i] -= shift
            found[kind][name] = {"factor": round(math.exp(-shift), 4), "rows": len(rows)}
    return found


def _voices(
    rows: Sequence[int], left: Sequence[float], weights: Sequence[float], sources: Sequence[str]
) -> tuple[list[float], list[float]]:
    """(mean error, weight) of each source of a group; rows beyond a few add little."""
    by_source: dict[str, list[int]] = {}
    for i in rows:
        by_source.setdefault(sources[i], []).append(i)
    means, voices = [], []
    for members in by_source.values():
        total = sum(weights[i] for i in members)
        means.append(_middle([left[i] for i in members], [weights[i] for i in members]))
        voices.append(total / (total + VOICE))
    return means, voices


def _middle(values: Sequence[float], weights: Sequence[float], *, trim: float = 0.15) -> float:
    """Weighted mean of the values between two percentiles, `trim` from either end."""
    ordered = sorted(zip(values, weights, strict=True))
    total = sum(weights)
    seen, top, bottom = 0.0, 0.0, 0.0
    for value, weight in ordered:
        start, seen = seen, seen + weight
        inside = min(seen, (1 - trim) * total) - max(start, trim * total)
        if inside > 0:
            top += value * inside
            bottom += inside
    return top / bottom if bottom else 0.0


def spread_of(
    errors: Sequence[float], share: float, weights: Sequence[float] | None = None
) -> float:
    """Factor f so that value / f .. value * f holds `share` of the truths (of their weight)."""
    if not errors:
        return 1.0
    ordered = sorted(zip(map(abs, errors), weights or [1.0] * len(errors), strict=True))
    wanted = share * sum(weight for _, weight in ordered)
    for error, weight in ordered:
        wanted -= weight
        if wanted < 0:
            return math.exp(error)
    return math.exp(ordered[-1][0])
