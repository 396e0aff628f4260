"""Every row of the reference cases that can be simulated, against its truth: the error table.

python -m tools.memory.simulate.verify --cases DIR [--kind bert --kind timm] [--published]

With `--done FILE` each finished row is added to that file, and rows that stand in it are not run
again: a run of an hour that was stopped goes on where it was. Another simulator needs another file.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tools.errors import AdvisorError
from tools.memory.cases import case_model
from tools.memory.simulate.child import run
from tools.memory.simulate.configs import hf_config
from tools.memory.simulate.request import request_from_case
from tools.units import GIB

_PUBLISHED_GPUS = ("RTX A6000", "RTX 4080")
_MEAN_PERCENT, _WORST_PERCENT = 0.5, 2.0


class Checked(NamedTuple):
    """One row: simulated against true bytes."""

    row_id: str
    group: str
    simulated: int
    truth: float

    @property
    def percent(self) -> float:
        """Signed error in percent of the truth."""
        return (self.simulated / self.truth - 1) * 100


def read_rows(cases: Path, *, published: bool) -> list[dict[str, Any]]:
    """Rows of simulated.jsonl, or the published runs whose peak torch reported."""
    name = "memory_training.jsonl" if published else "simulated.jsonl"
    lines = (cases / name).read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line.strip()]
    return [row for row in rows if is_published(row)] if published else rows


def is_published(row: Mapping[str, Any]) -> bool:
    """Whether a published row is one that a simulated step should equal."""
    gpu = str(row.get("gpu") or "")
    return row.get("counter") == "allocated" and any(name in gpu for name in _PUBLISHED_GPUS)


def check(row: Mapping[str, Any]) -> Checked:
    """Simulates one row in this process.

    Raises:
        UnsupportedError: If the row asks for something that is not simulated.
    """
    if row.get("peak_bytes") is None and row.get("attention") == "sdpa":
        # these runs were made with transformers 4.5x, which hands SDPA a mask
        row = {**row, "extra": {**(row.get("extra") or {}), "padding_mask": True}}
    found = run(request_from_case(row, hf_config(case_model(row).spec)))
    truth = row.get("peak_bytes")
    if truth is None:
        truth = float(row["measured_gb"]) * (1e9 if row.get("unit") == "GB" else GIB)
    group = f"{row.get('kind') or 'published'} {row.get('method') or row.get('task')}"
    return Checked(str(row["id"]), group, int(found["peak_bytes"]), float(truth))


def table(checked: list[Checked]) -> str:
    """Mean, median and worst error by kind and method."""
    groups: dict[str, list[float]] = {}
    for one in checked:
        groups.setdefault(one.group, []).append(abs(one.percent))
    lines = [f"{'rows':<20}{'n':>5}{'mean %':>9}{'median %':>10}{'worst %':>9}"]
    everything = [error for errors in groups.values() for error in errors]
    for name, errors in (*sorted(groups.items()), ("all", everything)):
        mean, median = statistics.mean(errors), statistics.median(errors)
        lines.append(f"{name:<20}{len(errors):>5}{mean:>9.3f}{median:>10.3f}{max(errors):>9.3f}")
    return "\n".join(lines)


def _checked(rows: list[dict[str, Any]], done: Path | None) -> Iterator[Checked]:
    known = _read_done(done)
    for row in rows:
        try:
            one = known.get(str(row["id"])) or check(row)
        except AdvisorError as error:
            print(f"{row['id']}: {error}", file=sys.stderr, flush=True)
            continue
        if done is not None and one.row_id not in known:
            with done.open("a", encoding="utf-8") as file:
                file.write(json.dumps(one) + "\n")
        if abs(one.percent) > _WORST_PERCENT:
            print(f"{one.row_id} {row['model']}: {one.percent:+.2f} %", file=sys.stderr, flush=True)
        yield one


def _read_done(done: Path | None) -> dict[str, Checked]:
    if done is None or not done.exists():
        return {}
    lines = done.read_text(encoding="utf-8").splitlines()
    return {one.row_id: one for one in (Checked(*json.loads(line)) for line in lines)}


def main() -> int:
    """Prints the table; 1 when the mean or the worst is beyond the goal."""
    parser = argparse.ArgumentParser(prog="python -m tools.memory.simulate.verify")
    parser.add_argument("--cases", type=Path, required=True)
    parser.add_argument("--kind", action="append", help="only rows of this kind")
    parser.add_argument("--published", action="store_true", help="published runs instead")
    parser.add_argument("--done", type=Path, help="file of finished rows, to go on from")
    args = parser.parse_args()
    rows = read_rows(args.cases, published=args.published)
    if args.kind:
        rows = [row for row in rows if row.get("kind") in args.kind]
    checked = list(_checked(rows, args.done))
    if not checked:
        print("no row could be simulated", file=sys.stderr)
        return 1
    print(table(checked))
    errors = [abs(one.percent) for one in checked]
    is_good = statistics.mean(errors) <= _MEAN_PERCENT and max(errors) <= _WORST_PERCENT
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
