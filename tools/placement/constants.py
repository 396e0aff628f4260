"""Constants and known jobs of data/profiles.json, as figures with their origin."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tools.placement.task import ManagedService, WorkKind
from tools.provenance import Figure, Source

_DATA = Path(__file__).with_name("data")


@dataclass(frozen=True, slots=True)
class Work:
    """A library, algorithm or small network that is known by name."""

    names: tuple[str, ...]
    kind: WorkKind
    has_gpu_code: bool
    rows: int | None = None
    columns: int | None = None
    rounds: int | None = None
    flops_per_sample: float | None = None
    """FLOP of one forward pass."""
    samples: float | None = None
    epochs: float | None = None
    params: float | None = None
    measured_cpu_s_per_epoch: float | None = None
    measured_on: str | None = None


@cache
def _profiles() -> Any:
    return json.loads((_DATA / "profiles.json").read_text(encoding="utf-8"))


@cache
def constant(name: str) -> Figure:
    """A constant as a figure with its origin."""
    row = _profiles()["constants"][name]
    source = Source(f"data:placement/profiles.json#{name}", "derived", row["origin"])
    return Figure(name, row["value"], row["unit"], (source,))


def value(name: str) -> float:
    """Value of a constant."""
    return float(constant(name).value)


@cache
def cpu_spread() -> tuple[float, float]:
    """Factors on a time on a CPU: a fast processor, and a slow one."""
    row = _profiles()["constants"]["cpu_gflops_per_vcpu"]
    return row["value"] / row["high"], row["value"] / row["low"]


@cache
def known_work() -> tuple[Work, ...]:
    """Jobs that are known by name."""
    return tuple(Work(**{**row, "names": tuple(row["names"])}) for row in _profiles()["work"])


def find_work(written: str | None) -> Work | None:
    """The known job that a written name stands for; the longest name that occurs in it wins.

    >>> find_work("XGBoost 训练").kind, find_work("MNIST CNN").samples, find_work("Qwen")
    ('trees', 60000, None)
    """
    folded = (written or "").lower()
    found = [
        (len(name), position, work)
        for position, work in enumerate(known_work())
        for name in work.names
        if name in folded
    ]
    return max(found, key=lambda row: (row[0], -row[1]))[2] if found else None


@cache
def managed_services() -> tuple[ManagedService, ...]:
    """Managed platforms of all providers."""
    rows = json.loads((_DATA / "managed.json").read_text(encoding="utf-8"))["services"]
    return tuple(ManagedService(**row) for row in rows)


def computed(name: str, number: float, unit: str, formula: str, *inputs: Figure) -> Figure:
    """A figure with its formula."""
    return Figure(name, number, unit, (), formula, inputs)


def given(name: str, number: float, unit: str) -> Figure:
    """A figure that the reader gave."""
    return Figure(name, number, unit, (Source(f"user:{name}", "user", "given with the question"),))


def assumed(name: str, number: float, unit: str, why: str) -> Figure:
    """A figure that nobody gave."""
    return Figure(name, number, unit, (Source(f"assumed:{name}", "assumed", why),))
