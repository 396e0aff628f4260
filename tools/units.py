"""Bytes, GiB and GB, and the hours of a month: the only module that knows 1024**3 and 10**9.

Inside the code a size is a plain ``int`` of bytes named ``*_bytes``. It is read from text by
`parse_bytes` and written by `format_gib`/`format_bytes`, and converted nowhere else.
"""

from __future__ import annotations

import math
import re

from tools.errors import BadQuantityError

KIB = 1024
MIB = 1024**2
GIB = 1024**3
TIB = 1024**4
KB = 10**3
MB = 10**6
GB = 10**9
TB = 10**12
HOURS_PER_MONTH = 730
"""Hours of a month of round-the-clock use: 365 * 24 / 12."""

_UNIT_BYTES = {
    "b": 1,
    "kib": KIB,
    "mib": MIB,
    "gib": GIB,
    "tib": TIB,
    "kb": KB,
    "mb": MB,
    "gb": GB,
    "tb": TB,
}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?b|b)\s*", re.IGNORECASE)


def parse_bytes(text: str) -> int:
    """Bytes named by a size with its unit, rounded up to a whole byte.

    Args:
        text: A number and one of B, KiB, MiB, GiB, TiB (powers of 1024) or kB, MB, GB, TB
            (powers of 1000).

    Raises:
        BadQuantityError: If the unit is missing or unknown.

    >>> parse_bytes("23028 MiB")
    24146608128
    >>> parse_bytes("24 GB")
    24000000000
    """
    found = _SIZE.fullmatch(text)
    if found is None:
        raise BadQuantityError(
            field="size", given=text, allowed="a number with B, KiB, MiB, GiB, kB, MB or GB"
        )
    return math.ceil(float(found[1]) * _UNIT_BYTES[found[2].lower()])


def gib_from_bytes(size_bytes: float) -> float:
    """Size in GiB (2**30 bytes)."""
    return size_bytes / GIB


def gb_from_bytes(size_bytes: float) -> float:
    """Size in GB (10**9 bytes)."""
    return size_bytes / GB


def bytes_from_gib(size_gib: float) -> int:
    """Bytes in a size given in GiB, rounded up."""
    return math.ceil(size_gib * GIB)


def bytes_from_gb(size_gb: float) -> int:
    """Bytes in a size given in GB (10**9), rounded up."""
    return math.ceil(size_gb * GB)


def bytes_from_mib(size_mib: float) -> int:
    """Bytes in a size given in MiB, rounded up."""
    return math.ceil(size_mib * MIB)


def format_significant(value: float, digits: int = 3) -> str:
    """Number with at most `digits` significant digits and no exponent.

    >>> format_significant(12.3456), format_significant(0.01234), format_significant(61234.0)
    ('12.3', '0.0123', '61200')
    """
    if value == 0:
        return "0"
    magnitude = math.floor(math.log10(abs(value)))
    decimals = max(digits - 1 - magnitude, 0)
    rounded = round(value, digits - 1 - magnitude)
    text = f"{rounded:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_gib(size_bytes: float, digits: int = 3) -> str:
    """Size as text in GiB.

    >>> format_gib(24146608128)
    '22.5 GiB'
    """
    return f"{format_significant(size_bytes / GIB, digits)} GiB"


def format_bytes(size_bytes: float, digits: int = 3) -> str:
    """Size as text in the largest binary unit that leaves a number of at least one.

    >>> format_bytes(512), format_bytes(3 * 1024**2), format_bytes(2 * 1024**4)
    ('512 B', '3 MiB', '2 TiB')
    """
    for unit, name in ((TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if abs(size_bytes) >= unit:
            return f"{format_significant(size_bytes / unit, digits)} {name}"
    return f"{format_significant(size_bytes, digits)} B"
