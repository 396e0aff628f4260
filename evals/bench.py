"""Times of the product on the machine at hand: `python -m evals bench`.

Each figure is measured in the way its entry of `HOW` says. The CPU time stands beside the time
passed, and the load of the machine beside both: on a busy machine only the former says something.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from evals.sample import Row

HOW: Mapping[str, str] = {
    "estimate_us": "median over 400 memory estimates, each workload built anew",
    "sweep_ms": "median of 5: one model, every card of the catalog, 4 uses, 4 counts, prices",
    "recommend_ms": "median of 9: what to rent for a LoRA run, whole catalog, prices",
    "lookup_us": "median over 2,000: one card and one instance type by a written name",
    "answer_p50_ms": "every turn of the questions suite, asked of a warm advisor; guidance is "
    "found by words only (XUANKA_EMBEDDER=none)",
    "answer_p99_ms": "the same turns",
    "retrieval_p50_ms": "median over the queries of the retrieval suite, warm, with the embedding "
    "model where it is installed",
    "cold_agent_s": "median of 3 processes: `python -m agent QUESTION`, start to end",
    "cold_tools_s": "median of 5 processes: `python -m tools fit MODEL --gpu A10`, start to end",
    "langchain_import_s": "median of 3 processes that import langchain.agents, less a bare start",
}
_QUESTION = "7B QLoRA fine-tuning on an A10?"
_FIT = ("-m", "tools", "fit", "qwen2.5-7b", "--method", "lora", "--gpu", "A10")


class Time(NamedTuple):
    """Seconds passed and seconds of CPU."""

    passed: float
    cpu: float

    def times(self, factor: float) -> Time:
        """Both in another unit."""
        return Time(self.passed * factor, self.cpu * factor)


@dataclass(frozen=True, slots=True)
class Bench:
    """Figures by the names of `HOW`, and what they were measured on."""

    figures: Mapping[str, Time]
    where: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        """The time passed under each name; then `cpu`, `machine` and `how`."""
        passed = {name: _short(time.passed) for name, time in self.figures.items()}
        cpu = {name: _short(time.cpu) for name, time in self.figures.items()}
        return {**passed, "cpu": cpu, "machine": dict(self.where), "how": dict(HOW)}


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def measure(*, questions: Sequence[Row], queries: Sequence[Row]) -> Bench:
    """All figures, one after the other (about a minute).

    Args:
        questions: Rows of the questions suite, follow-ups included.
        queries: Rows of the retrieval suite.
    """
    turns = answer_times(questions)
    found: dict[str, Time] = {
        "estimate_us": estimate_time().times(1e6),
        "sweep_ms": sweep_time().times(1e3),
        "recommend_ms": recommend_time().times(1e3),
        "lookup_us": lookup_time().times(1e6),
        "answer_p50_ms": quantile(turns, 0.50).times(1e3),
        "answer_p99_ms": quantile(turns, 0.99).times(1e3),
        "retrieval_p50_ms": quantile(retrieval_times(queries), 0.5).times(1e3),
        "cold_agent_s": cold_time(["-m", "agent", _QUESTION], repeats=3),
        "cold_tools_s": cold_time(_FIT, repeats=5),
        "langchain_import_s": import_time("langchain.agents", repeats=3),
    }
    return Bench({name: found[name] for name in HOW}, machine())


def machine() -> dict[str, Any]:
    """Cores, load and Python of this machine."""
    return {
        "cores": os.cpu_count(),
        "load_1min": round(os.getloadavg()[0], 2),
        "python": ".".join(map(str, sys.version_info[:3])),
    }


def quantile(times: Sequence[Time], share: float) -> Time:
    """The smallest time that at least `share` of the times do not exceed, each clock by itself.

    >>> quantile([Time(4.0, 1.0), Time(1.0, 3.0), Time(3.0, 2.0)], 0.5)
    Time(passed=3.0, cpu=2.0)
    """
    place = max(0, -(-round(share * 1000) * len(times) // 1000) - 1)
    return Time(*(sorted(clock)[place] for clock in zip(*times, strict=True)))


@contextmanager
def stopwatch() -> Iterator[list[Time]]:
    """Adds the time of its block to the list it yields."""
    found: list[Time] = []
    passed, cpu = time.perf_counter(), time.process_time()
    yield found
    found.append(Time(time.perf_counter() - passed, time.process_time() - cpu))


def median(call: Callable[[], object], repeats: int) -> Time:
    """Median time of a call; one call before it does not count."""
    call()
    times = []
    for _ in range(repeats):
        with stopwatch() as watch:
            call()
        times += watch
    return Time(*(statistics.median(clock) for clock in zip(*times, strict=True)))


def estimate_time() -> Time:
    """One memory estimate."""
    from tools.memory import TrainingWorkload, estimate
    from tools.models import get_model

    model = get_model("Qwen/Qwen2.5-7B")

    def once() -> object:
        workload = TrainingWorkload(model, method="lora", micro_batch_size=2, seq_len=2048)
        return estimate(workload).process_bytes

    return median(once, 400)


def sweep_time() -> Time:
    """One model over the whole catalog."""
    from tools.catalog import sweep
    from tools.models import get_model

    model = get_model("Qwen/Qwen2.5-7B")
    return median(lambda: sweep(model), 5)


def recommend_time() -> Time:
    """One recommendation over the whole catalog."""
    from tools.catalog import recommend
    from tools.memory import TrainingWorkload
    from tools.models import get_model

    model = get_model("Qwen/Qwen2.5-7B")
    return median(lambda: recommend(TrainingWorkload(model, method="lora")), 9)


def lookup_time() -> Time:
    """One card and one instance type by a written name."""
    from tools.catalog import find_instance
    from tools.gpus import find_gpu

    return median(lambda: (find_gpu("a100 80g"), find_instance("ecs.gn7i-c8g1.2xlarge")), 2000)


@contextmanager
def environment(**changes: str) -> Iterator[None]:
    """Environment variables for a while."""
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def answer_times(rows: Sequence[Row]) -> list[Time]:
    """Every turn of every conversation, asked of one warm advisor."""
    from agent import Advisor, Settings

    times: list[Time] = []
    with tempfile.TemporaryDirectory() as folder, environment(XUANKA_EMBEDDER="none"):
        with Advisor(Settings(backend="embedded", state_dir=Path(folder))) as advisor:
            advisor.warm_up()
            for number, row in enumerate(rows):
                for text in [row["question"], *(row.get("turns") or [])]:
                    with stopwatch() as watch:
                        advisor.ask(text, thread=f"bench-{number}")
                    times += watch
    return times


def retrieval_times(rows: Sequence[Row]) -> list[Time]:
    """One search a query."""
    from knowledge import search

    search("warm up")
    times: list[Time] = []
    for row in rows:
        with stopwatch() as watch:
            search(str(row["query"]), k=5)
        times += watch
    return times


def cold_time(arguments: Sequence[str], *, repeats: int) -> Time:
    """Median time of a fresh Python process.

    Raises:
        subprocess.CalledProcessError: If the command fails: a failure has no time.
    """
    times = []
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        passed = time.perf_counter() - started
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        times.append(Time(passed, cpu))
    return Time(*(statistics.median(clock) for clock in zip(*times, strict=True)))


def import_time(module: str, *, repeats: int) -> Time:
    """Importing a module in a fresh process, less the bare start of Python."""
    with_it = cold_time(["-c", f"import {module}"], repeats=repeats)
    without = cold_time(["-c", "pass"], repeats=repeats)
    return Time(max(0.0, with_it.passed - without.passed), max(0.0, with_it.cpu - without.cpu))


def write(path: Path, bench: Bench) -> None:
    """Writes the figures as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(bench.as_json(), indent=1) + "\n", encoding="utf-8")
