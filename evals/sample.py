"""Rows of a suite and the scores they get."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from tools.errors import DataError, UserInputError

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Score:
    """One judgement of one case."""

    name: str
    value: bool | float
    """True or False for a rule that holds or does not; a number for a measured quantity."""
    reason: str = ""

    @property
    def is_failure(self) -> bool:
        """True for a rule that does not hold; numbers never fail by themselves."""
        return self.value is False


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What one case gave."""

    id: str
    passed: bool
    scores: tuple[Score, ...]
    output: Any
    elapsed_ms: float
    tags: Mapping[str, str] = field(default_factory=dict)
    """What the summary groups by: intent, language, kind."""
    error: str | None = None
    """Set when the case could not be run at all."""
    not_run: bool = False
    """True where the run's budget was spent before this case: neither right nor wrong."""


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Rows of a JSON Lines file, in its order.

    Raises:
        UserInputError: If the file is missing, a line is not a JSON object, or an id repeats.
    """
    if not path.exists():
        raise UserInputError(f"No such file of cases: {path}. Give a JSON Lines file.")
    rows: list[dict[str, Any]] = []
    seen: set[str] = set()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise UserInputError(f"{path} line {number} is not JSON: {error.msg}.") from error
        if not isinstance(row, dict) or not isinstance(row.get("id"), str):
            raise UserInputError(f"{path} line {number} has no text field 'id'.")
        if row["id"] in seen:
            raise UserInputError(f"{path} line {number} repeats the id {row['id']!r}.")
        seen.add(row["id"])
        rows.append(row)
    return rows


def shipped(name: str) -> Path:
    """Path of a suite's file that ships with the package."""
    path = Path(str(resources.files("evals") / "suites" / f"{name}.jsonl"))
    if not path.exists():
        raise DataError(f"The suite {name!r} has no file {path.name} in evals/suites.")
    return path


@functools.cache
def _schema(name: str) -> dict[str, Any]:
    text = (resources.files("evals") / "schemas" / f"{name}.schema.json").read_text("utf-8")
    loaded = json.loads(text)
    if not isinstance(loaded, dict):
        raise DataError(f"evals/schemas/{name}.schema.json is not an object.")
    return loaded


def check_rows(name: str, rows: Sequence[Row]) -> None:
    """Validates rows against the suite's JSON schema.

    Raises:
        UserInputError: Naming the case, the field and what the schema asks for.
    """
    try:
        import jsonschema
    except ImportError:  # a run without the development tools still scores
        return
    validator = jsonschema.Draft202012Validator(_schema(name))
    for row in rows:
        for problem in validator.iter_errors(row):
            place = "/".join(str(p) for p in problem.absolute_path) or "the row"
            raise UserInputError(f"Case {row.get('id')!r}, {place}: {problem.message}.")


def content_hash(rows: Sequence[Row]) -> str:
    """Sixteen hex digits that change with any change of the rows."""
    text = json.dumps(rows, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
