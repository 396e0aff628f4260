"""What is left out of the learning, and what intervals are made of."""

from __future__ import annotations

import math

import pytest

from tools.speed.left_out import WAYS, score, split, spreads
from tools.speed.samples import Sample


def sample(number: int, *, core: bool = False) -> Sample:
    return Sample(
        source=f"s{number % 3}", device=f"d{number % 2}", unit="u", truth=1.0, core=core, tags={},
        spread="full", predict=lambda constants, factor: 1.0, family=f"f{number % 4}",
    )  # fmt: skip


@pytest.mark.parametrize(("way", "groups"), [("source", 3), ("card", 2), ("family", 4)])
def test_every_row_is_left_out_once_with_all_of_its_kind(way: str, groups: int) -> None:
    rows = [sample(i) for i in range(12)]
    parts = list(split(rows, way))
    assert len(parts) == groups
    assert sorted(id(s) for _, left in parts for s in left) == sorted(id(s) for s in rows)
    for kept, left in parts:
        assert len(kept) + len(left) == len(rows)
        name = {"source": "source", "card": "device", "family": "family"}[way]
        assert not {getattr(s, name) for s in kept} & {getattr(s, name) for s in left}


def test_the_random_fifths_cover_all_rows() -> None:
    rows = [sample(i) for i in range(40)]
    assert sum(len(left) for _, left in split(rows, WAYS[0])) == 40


def test_widths_hold_most_left_out_rows_and_stay_below_four_times() -> None:
    errors = [(math.log(1.1) * (1 if i % 2 else -1), sample(i)) for i in range(90)]
    errors += [(math.log(1.6), sample(i)) for i in range(10)]
    widths = spreads(errors, 100)
    assert 1.25 <= widths["full"]["factor"] <= 1.6
    assert score(errors, widths)["held"] >= 0.89
    wild = [(math.log(5) * (1 if i % 2 else -1), sample(i)) for i in range(50)]
    assert spreads(wild, 50)["full"]["factor"] == 2.0


def test_core_rows_are_scored_apart() -> None:
    errors = [(0.0, sample(1)), (math.log(2), sample(2, core=True))]
    found = score(errors, {"default": {"factor": 1.5}})
    assert (found["rows"], found["rows_core"]) == (2, 1)
    assert found["median_core"] == pytest.approx(1.0)
    assert (found["held"], found["held_core"]) == (0.5, 0.0)
