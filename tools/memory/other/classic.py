"""Classic machine learning: host memory from rows x columns, no GPU needed."""

from __future__ import annotations

from typing import NamedTuple

from tools.errors import BadQuantityError
from tools.provenance import Figure, Source


class _Library(NamedTuple):
    data_bytes: float
    """Bytes a value in the library's own structure, beside the caller's array."""
    row_bytes: float
    """Bytes a row: gradients, indices, predictions."""
    origin: str


_LIBRARIES = {
    "xgboost": _Library(
        1.0, 32.0, "code:dmlc/xgboost src/data/gradient_index.cc (hist: 1 byte a binned value)"
    ),
    "lightgbm": _Library(
        1.0, 24.0, "code:microsoft/LightGBM src/io/dense_bin.hpp (1 byte up to 256 bins)"
    ),
    "catboost": _Library(1.0, 40.0, "code:catboost/catboost (1 byte a quantised value)"),
    "scikit-learn": _Library(
        4.0, 32.0, "code:scikit-learn/scikit-learn sklearn/tree/_tree.pyx (float32 copy)"
    ),
}
_COPIES = 2.0
"""The table as read and the array made from it are both there while it is converted."""
_INTERPRETER_BYTES = 0.5e9


class TableNeed(NamedTuple):
    """Host memory of training on a table, in bytes."""

    low_bytes: int
    """Streamed into the library: one array and its binned copy."""
    point_bytes: int
    """Read into a frame, turned into an array, binned by the library."""
    high_bytes: int
    """With a train and validation split by copy."""
    table_bytes: int
    figures: tuple[Figure, ...]


def table_ram(
    rows: int, columns: int, *, library: str = "xgboost", value_bytes: int = 8
) -> TableNeed:
    """Host RAM that training on a table takes.

    Args:
        rows: Rows of the table.
        columns: Numeric columns, after encoding.
        library: xgboost, lightgbm, catboost or scikit-learn.
        value_bytes: Bytes of a value in the caller's array: 8 for float64, 4 for float32.

    Raises:
        BadQuantityError: For sizes that cannot be, or a library that is not known.

    >>> table_ram(10_000_000, 30).table_bytes
    2400000000
    """
    for field, value in (("rows", rows), ("columns", columns)):
        if value < 1:
            raise BadQuantityError(field=field, given=value, allowed="a whole number of at least 1")
    if value_bytes not in (1, 2, 4, 8):
        raise BadQuantityError(field="value_bytes", given=value_bytes, allowed="1, 2, 4, 8")
    kind = _LIBRARIES.get(library.casefold().replace("sklearn", "scikit-learn"))
    if kind is None:
        raise BadQuantityError(field="library", given=library, allowed=", ".join(_LIBRARIES))
    table = rows * columns * value_bytes
    own = rows * columns * kind.data_bytes + rows * kind.row_bytes
    low = table + own + _INTERPRETER_BYTES
    point = _COPIES * table + own + _INTERPRETER_BYTES
    high = (_COPIES + 1) * table + 2 * own + _INTERPRETER_BYTES
    source = Source(kind.origin, "vendor", kind.origin)
    data = Figure("table", table, "B", formula="rows x columns x bytes of a value")
    binned = Figure("library_data", round(own), "B", (source,), "binned values and rows' state")
    need = Figure(
        "host_ram", round(point), "B", formula="2 x table + library data + interpreter",
        inputs=(data, binned),
    )  # fmt: skip
    return TableNeed(round(low), round(point), round(high), table, (data, binned, need))
