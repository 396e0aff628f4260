"""Learns the constants of data/*.json from measured rows, and says how well they carry over.

    python -m tools.speed.calibrate ROWS.jsonl ... [--core FILE ...] [--write]

Rows have the fields of the measurement files; those of `--core` files count three times. Errors
are printed as fitted and with sources, cards, model families and random fifths left out of the
learning; `--write` stores the constants. Nothing here runs in the product.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.speed.fitting import Fit, fit_constants, group_factors
from tools.speed.left_out import WAYS, Errors, score, split, spreads
from tools.speed.results import load_data
from tools.speed.samples import READERS, Constants, Sample, read_samples

CORE_WEIGHT = 3.0
ROW_WEIGHT = 5.0
"""A row off by a tenth weighs as much as a constant off by a quarter of its prior width."""
CROWDING = 0.6
"""Rows of one source, model and card share a weight of their number to the power 1 - CROWDING."""
HELD = ("whole_run", "adapters", "objectives", "ppo")
"""Parts of a data file that are not learnt."""
FEWEST_ROWS = 10
"""Rows of one engine that its own launch cost is learnt from."""


@dataclass(frozen=True, slots=True)
class Model:
    """What is learnt together."""

    name: str
    trust: Mapping[str, float]
    """Group kinds in order, with the rows a group needs to be trusted half."""
    samples: Sequence[Sample]
    extra: Mapping[str, tuple[float, float]]
    """Constants beside the priors file: start and width."""

    def priors(self) -> tuple[dict[str, float], dict[str, float]]:
        """(start, width) of every constant."""
        rows = load_data("priors")[self.name]
        start = {key: float(row["start"]) for key, row in rows.items()}
        width = {key: float(row["width"]) for key, row in rows.items()}
        start.update({key: value[0] for key, value in self.extra.items()})
        width.update({key: value[1] for key, value in self.extra.items()})
        return start, width


BY_ROWS = ("serving",)
"""Models whose groups are programs: one publisher measures most of each, and what the rows share is
the program itself."""
TRUST = {
    "training": {"architecture": 1.0, "card": 1.0, "way": 2.0, "layout": 2.0},
    "serving": {"engine": 1.0, "engine-format": 1.5},
    "vision": {"architecture": 0.7, "card": 0.7, "network": 0.7, "style": 1.0},
}


def _extra(name: str, samples: Sequence[Sample]) -> dict[str, tuple[float, float]]:
    """Constants of single cards: how much of the bandwidth, the host and the peak they give."""
    if name != "serving":
        return {}
    rows = load_data("priors")["serving_per_card"]
    found: dict[str, tuple[float, float]] = {}
    seen = Counter(sample.device for sample in samples)
    used = Counter(sample.tags["engine"] for sample in samples if sample.spread != "eager")
    for engine, count in used.items():
        if count >= FEWEST_ROWS:
            found[f"start:{engine}"] = (1.0, rows["start"]["width"])
    for sample in samples:
        if sample.device.startswith("CPU") or seen[sample.device] < 2:
            continue
        found[f"card:{sample.device}"] = (1.0, rows["card"]["width"])
        if sample.spread == "eager":
            found[f"host:{sample.device}"] = (1.0, rows["host"]["width"])
        if sample.spread == "graph":
            found[f"compute:{sample.device}"] = (1.0, rows["compute"]["width"])
    return found


def build(name: str, samples: Sequence[Sample]) -> Model:
    """The samples as one thing to learn."""
    return Model(name, TRUST[name], samples, _extra(name, samples))


def _weights(samples: Sequence[Sample]) -> list[float]:
    crowd = Counter(sample.unit for sample in samples)
    return [(CORE_WEIGHT if s.core else 1.0) * s.light / crowd[s.unit] ** CROWDING for s in samples]


Groups = dict[str, dict[str, dict[str, float]]]


def _factor(sample: Sample, learnt: Groups) -> float:
    factor = 1.0
    for kind, key in sample.tags.items():
        row = learnt.get(kind, {}).get(key)
        factor *= row["factor"] if row else 1.0
    return factor


def _affected(model: Model) -> dict[str, list[int]]:
    """Rows that the constants of single cards move."""
    return {
        name: [
            i
            for i, s in enumerate(model.samples)
            if name.partition(":")[2] in (s.device, s.tags.get("engine"))
        ]
        for name in model.extra
    }


def learn(model: Model, *, rounds: int = 2, near: Fit | None = None) -> tuple[Fit, Groups]:
    """Constants and group corrections, each learnt with the other held still.

    Args:
        model: What is learnt.
        rounds: Times that constants and corrections are learnt in turn.
        near: A fit of nearly the same rows, from which few steps are left to go.
    """
    samples, weights = model.samples, _weights(model.samples)
    start, width = model.priors()
    truths = [sample.truth for sample in samples]
    factors = [1.0] * len(samples)
    learnt: Groups = {}
    fit = Fit(start, {})
    for _ in range(rounds):

        def predict(
            i: int, constants: Constants, held: tuple[float, ...] = tuple(factors)
        ) -> float:
            return samples[i].predict(constants, held[i])

        fit = fit_constants(
            start, width, predict, truths, [ROW_WEIGHT * w for w in weights],
            affects=_affected(model), rounds=2 if near else 8,
            begin=near.constants if near else None,
        )  # fmt: skip
        errors = [math.log(s.predict(fit.constants, 1.0) / s.truth) for s in samples]
        learnt = group_factors(
            errors,
            [s.tags for s in samples],
            model.trust,
            weights,
            None if model.name in BY_ROWS else [s.source for s in samples],
        )
        factors = [_factor(sample, learnt) for sample in samples]
    return Fit({**fit.constants, **_generations(model, fit)}, fit.deviation), learnt


def _generations(model: Model, fit: Fit) -> dict[str, float]:
    """What the measured cards of one generation share, for those that were not measured."""
    generation = {s.device: s.generation for s in model.samples}
    shares: dict[str, list[float]] = {}
    for name, value in fit.constants.items():
        kind, _, device = name.partition(":")
        if kind == "card":
            shares.setdefault(generation[device], []).append(math.log(value))
    return {
        f"generation:{name}": math.exp(sum(logs) / (len(logs) + 1)) for name, logs in shares.items()
    }


def errors_of(samples: Sequence[Sample], fit: Fit, learnt: Groups) -> list[float]:
    """log(predicted / measured) of each sample."""
    return [math.log(s.predict(fit.constants, _factor(s, learnt)) / s.truth) for s in samples]


def stored(
    model: Model,
    fit: Fit,
    learnt: Groups,
    checks: Mapping[str, Mapping[str, float]],
    widths: Mapping[str, Mapping[str, float]],
    held: Mapping[str, Any],
) -> dict[str, Any]:
    """The data file: constants with their intervals, group corrections, spreads, errors."""
    meanings = load_data("priors")[model.name]
    constants = {}
    for name, value in fit.constants.items():
        deviation = fit.deviation.get(name, 0.0)
        row: dict[str, Any] = {
            "value": float(f"{value:.4g}"),
            "low": float(f"{value * math.exp(-1.28 * deviation):.4g}"),
            "high": float(f"{value * math.exp(1.28 * deviation):.4g}"),
        }
        if name in meanings:
            row["meaning"] = meanings[name]["meaning"]
        constants[name] = row
    return {
        **{key: value for key, value in held.items() if key in HELD},
        "about": "Learnt by `python -m tools.speed.calibrate` from published measurements; low and "
        "high hold 80 % of the belief in a constant. See README.md beside this file.",
        "rows": len(model.samples),
        "sources": sorted({sample.source for sample in model.samples}),
        "errors": checks,
        "constants": constants,
        "groups": learnt,
        "spread": widths,
    }


def cross_validate(model: Model, way: str, near: Fit) -> Errors:
    """Errors of every sample when its source, card, model family or a random fifth was left out."""
    found: list[tuple[float, Sample]] = []
    for kept, left in split(model.samples, way):
        fit, learnt = learn(build(model.name, kept), rounds=1, near=near)
        found += zip(errors_of(left, fit, learnt), left, strict=True)
    return found


def _calibrate(name: str, samples: Sequence[Sample], *, write: bool) -> None:
    """Learns, prints how well it carries over, and stores the constants when asked."""
    model = build(name, samples)
    fit, learnt = learn(model)
    fitted = list(zip(errors_of(samples, fit, learnt), samples, strict=True))
    errors = {way: cross_validate(model, way, fit) for way in WAYS}
    widths = spreads([pair for way in WAYS[1:] for pair in errors[way]], len(samples))
    checks = {"fitted": score(fitted, widths)}
    checks |= {f"left_out_{way}": score(found, widths) for way, found in errors.items()}
    for way, row in checks.items():
        print(f"{name:9s}", f"{way:16s}", *(f"{key} {value:g}" for key, value in row.items()))
    if write:
        path = Path(__file__).parent / "data" / f"{name}.json"
        held = json.loads(path.read_text(encoding="utf-8"))
        content = stored(model, fit, learnt, checks, widths, held)
        text = json.dumps(content, indent=1, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> int:
    """Learns, prints errors, and stores the constants when asked."""
    parser = argparse.ArgumentParser(prog="python -m tools.speed.calibrate", description=__doc__)
    parser.add_argument("rows", nargs="*", type=Path)
    parser.add_argument("--core", nargs="*", type=Path, default=[])
    parser.add_argument("--only", choices=sorted(READERS))
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args(argv)
    paths = [(path, True) for path in args.core] + [(path, False) for path in args.rows]
    for name in [args.only] if args.only else list(READERS):
        unread: Counter[str] = Counter()
        samples = read_samples(paths, name, unread)
        _calibrate(name, samples, write=args.write)
        for reason, count in unread.most_common(8):
            print(f"  not read ({count}): {reason}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
