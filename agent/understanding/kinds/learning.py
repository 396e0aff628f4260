"""Learn the evidence table: ``python -m agent.understanding.kinds.learning FILE...``.

A multinomial logistic regression over the marks of a question and its features, with the scores
of intents.yaml (scaled) as its starting point and a penalty on every weight. Marks that stand in
fewer than `LEAST` questions are left out, so that no wording of one question is a key to anything.
Files: JSON lines with ``q`` or ``question`` and ``intent_accept`` or ``intent`` (a name or a list,
the best first), or YAML lists of the same rows. Rows with ``before`` are skipped.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from agent.understanding.kinds.choice import features_in
from agent.understanding.kinds.evidence import LENGTH, RULES_COUNT, marks_of
from agent.understanding.kinds.intent import scores_of

LEAST = 4
PENALTY = 1e-3
ROUNDS = 300
RATE = 0.05
MADE = 0.5
"""What a question counts that was put together from a job and an asking phrase (``made``)."""
SMALLEST = 0.08
"""Weights nearer to nothing are not kept."""
_SPECIAL = ("out_of_scope", "invalid_input")


class Row(NamedTuple):
    """A labelled question, read."""

    kind: str
    marks: frozenset[str]
    features: frozenset[str]
    scores: dict[str, float]
    weight: float = 1.0


def labelled(paths: Sequence[Path]) -> Iterator[tuple[str, str, float]]:
    """Questions, their best kind, and what they count."""
    for path in paths:
        text = path.read_text(encoding="utf-8")
        rows: list[dict[str, Any]] = (
            yaml.safe_load(text)
            if path.suffix == ".yaml"
            else [json.loads(line) for line in text.splitlines() if line.strip()]
        )
        for row in rows:
            kinds = row.get("intent_accept") or row["intent"]
            kinds = [kinds] if isinstance(kinds, str) else kinds
            best = next((kind for kind in kinds if kind not in _SPECIAL), None)
            if best is not None and not row.get("before"):
                weight = MADE if row.get("made") else 1.0
                yield row.get("q") or row["question"], best, weight


def read(paths: Sequence[Path]) -> list[Row]:
    """Every labelled question with its marks, features and scores by the rules."""
    rows = []
    for question, kind, weight in labelled(paths):
        signed, features = features_in(question)
        marks = frozenset(marks_of(signed))
        rows.append(Row(kind, marks, frozenset(features), scores_of(features), weight))
    return rows


def learn(rows: Sequence[Row]) -> dict[str, Any]:
    """The evidence table as written to data/evidence.json."""
    import numpy as np

    kinds = [kind for kind in rows[0].scores if kind not in _SPECIAL]
    counts = Counter((0, mark) for row in rows for mark in row.marks)
    counts.update((1, name) for row in rows for name in row.features)
    columns = sorted(mark for mark, count in counts.items() if count >= LEAST)
    place = {mark: at for at, mark in enumerate(columns)}
    inputs = np.zeros((len(rows), len(columns)), np.float32)
    for at, row in enumerate(rows):
        keys = [(0, mark) for mark in row.marks] + [(1, name) for name in row.features]
        held = [place[key] for key in keys if key in place]
        inputs[at, held] = LENGTH / np.sqrt(max(len(held), 1))
    start = np.array([[row.scores[k] * RULES_COUNT for k in kinds] for row in rows], np.float32)
    wanted = np.array([[float(row.kind == kind) for kind in kinds] for row in rows], np.float32)
    counted = np.array([[row.weight] for row in rows], np.float32)
    weights = np.zeros((len(columns), len(kinds)), np.float32)
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    for turn in range(1, ROUNDS + 1):
        sums = inputs @ weights + start
        shares = np.exp(sums - sums.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        slope = inputs.T @ ((shares - wanted) * counted) / counted.sum() + PENALTY * weights
        mean = 0.9 * mean + 0.1 * slope
        square = 0.99 * square + 0.01 * slope * slope
        step = mean / (1 - 0.9**turn) / (np.sqrt(square / (1 - 0.99**turn)) + 1e-6)
        weights -= RATE * step
    out: dict[str, Any] = {"kinds": kinds, "words": {}, "features": {}}
    for (section, mark), row_weights in zip(columns, weights, strict=True):
        kept = {
            str(at): round(float(weight), 2)
            for at, weight in enumerate(row_weights)
            if abs(weight) >= SMALLEST
        }
        if kept:
            out["features" if section else "words"][mark] = kept
    return out


def written(learned: dict[str, Any]) -> str:
    """The table as text, one mark a line."""
    lines = ['{"kinds": ' + json.dumps(learned["kinds"]) + ","]
    for section, end in (("words", ","), ("features", "")):
        rows = [
            f"{json.dumps(mark, ensure_ascii=False)}: {json.dumps(row)}"
            for mark, row in sorted(learned[section].items())
        ]
        lines.append(f'"{section}": {{\n' + ",\n".join(rows) + "\n}" + end)
    return "\n".join(lines) + "}\n"


if __name__ == "__main__":
    target = Path(__file__).parents[1] / "data" / "evidence.json"
    found = read([Path(name) for name in sys.argv[1:]])
    target.write_text(written(learn(found)), encoding="utf-8")
    print(f"{len(found)} questions, {target.stat().st_size // 1024} KiB")
