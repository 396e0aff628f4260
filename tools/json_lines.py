"""Files of JSON lines that a command is given: rows, or one sentence on the line that is none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tools.errors import UserInputError


class Line(NamedTuple):
    """One line that is not blank."""

    number: int
    """Counted from 1, blank lines too."""
    row: dict[str, Any] | None
    """The object on it; None where it holds none."""
    problem: str
    """Why there is no row; empty where there is one."""


def numbered_lines(path: Path) -> Iterator[Line]:
    """The lines of a file, good ones and bad ones.

    Raises:
        UserInputError: If the file cannot be read as text.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UserInputError(f"{path} cannot be read: {reason}; name a file that can.") from error
    except UnicodeDecodeError as error:
        raise UserInputError(f"{path} is not UTF-8 text; give JSON lines.") from error
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield _read(number, line)


def _read(number: int, line: str) -> Line:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else type(error).__name__
        return Line(number, None, f"is not JSON ({reason})")
    if not isinstance(row, dict):
        return Line(number, None, "holds no JSON object")
    return Line(number, row, "")


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines.

    Raises:
        UserInputError: If the file cannot be read, or a line holds no object; it names the line.
    """
    rows = []
    for line in numbered_lines(path):
        if line.row is None:
            raise UserInputError(
                f"{path}: line {line.number} {line.problem}; each line needs one JSON object."
            )
        rows.append(line.row)
    return rows
