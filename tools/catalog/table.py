"""Reading and writing of the catalog's CSV files: one column list a table, strict cells.

Every cell is checked when it is read; the error names file, row and field. An empty cell is
None. The same columns write the file back, so a refresh cannot change the format.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from tools.errors import CatalogRowError

_BOOLEANS = {"true": True, "false": False}


class Column(NamedTuple):
    """One column: its name in the file and how a filled cell is read."""

    name: str
    read: Callable[[str], Any]
    required: bool = False


def text(cell: str) -> str:
    """The cell as it stands; spaces around it are a mistake."""
    if cell != cell.strip():
        raise ValueError("has spaces around it")
    return cell


def count(cell: str) -> int:
    """A whole number of at least one."""
    number = int(cell)
    if number < 1:
        raise ValueError("is below 1; unknown is an empty cell")
    return number


def percent(cell: str) -> int:
    """A whole number of percent, 0 to 100."""
    number = int(cell)
    if not 0 <= number <= 100:
        raise ValueError("is not between 0 and 100")
    return number


def positive(cell: str) -> float:
    """A finite number above zero."""
    number = float(cell)
    if not 0 < number < float("inf"):
        raise ValueError("is not above zero; unknown is an empty cell")
    return number


def money(cell: str) -> Decimal:
    """A price above zero."""
    try:
        amount = Decimal(cell)
    except InvalidOperation as error:
        raise ValueError("is not a decimal number") from error
    if not amount.is_finite() or amount <= 0:
        raise ValueError("is not above zero; unknown is an empty cell")
    return amount


def share(cell: str) -> Fraction:
    """A share of a card: 1, or a fraction such as 1/6."""
    fraction = Fraction(cell)
    if not 0 < fraction <= 1:
        raise ValueError("is not above 0 and at most 1")
    return fraction


def boolean(cell: str) -> bool:
    """The word true or false."""
    if cell not in _BOOLEANS:
        raise ValueError("is neither 'true' nor 'false'; unknown is an empty cell")
    return _BOOLEANS[cell]


def words(cell: str) -> tuple[str, ...]:
    """Names separated by semicolons."""
    return tuple(text(part) for part in cell.split(";"))


def one_of(allowed: Sequence[str]) -> Callable[[str], str]:
    """Reader of a cell that holds one of the given words."""
    known = frozenset(allowed)

    def read(cell: str) -> str:
        if cell not in known:
            raise ValueError(f"is not one of {', '.join(allowed)}")
        return cell

    return read


def read_rows(
    lines: str,
    *,
    columns: Sequence[Column],
    file: str,
    numbers: Sequence[int] | None = None,
    above: int = 0,
) -> Iterator[tuple[int, list[Any]]]:
    """Rows of a CSV text, cells read and in the order of `columns`.

    Args:
        lines: Text of the whole file.
        columns: What the header must say, in order.
        file: Name for error messages.
        numbers: Row numbers, where the text is a selection of a file's rows.
        above: Lines of the file above the header, so that a row's number is that of its line.

    Yields:
        Row number (the header is row 1 where nothing stands above it) and the cells.

    Raises:
        CatalogRowError: If the header or a cell is wrong.
    """
    rows = csv.reader(io.StringIO(lines))
    header = next(rows, [])
    names = [column.name for column in columns]
    if header != names:
        wrong = sorted(set(header) ^ set(names)) or header
        raise CatalogRowError(
            file,
            above + 1,
            ",".join(wrong),
            f"does not match; the header must be {','.join(names)}",
        )
    readers = [(column.name, column.read, column.required) for column in columns]
    for position, cells in enumerate(rows):
        number = above + position + 2 if numbers is None else numbers[position]
        if len(cells) != len(readers):
            raise CatalogRowError(
                file, number, names[0], f"row has {len(cells)} cells; {len(readers)} are needed"
            )
        yield number, _read_cells(cells, readers, file, number)


def _read_cells(
    cells: list[str],
    readers: list[tuple[str, Callable[[str], Any], bool]],
    file: str,
    number: int,
) -> list[Any]:
    values: list[Any] = []
    for cell, (name, read, required) in zip(cells, readers, strict=True):
        if cell:
            try:
                values.append(read(cell))
            except ValueError as error:
                raise CatalogRowError(file, number, name, f"is {cell!r}: {error}") from error
        elif required:
            raise CatalogRowError(file, number, name, "is empty; it is required")
        else:
            values.append(None)
    return values


def write_rows(rows: Sequence[Mapping[str, object]], *, columns: Sequence[Column]) -> str:
    """The CSV text of rows, None as an empty cell."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.name for column in columns])
    for row in rows:
        writer.writerow([_cell(row[column.name]) for column in columns])
    return out.getvalue()


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, tuple):
        return ";".join(value)
    return str(value)


def read_text(path: Path) -> str:
    """Text of a data file."""
    return path.read_text(encoding="utf-8")
