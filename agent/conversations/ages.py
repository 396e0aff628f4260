"""The age of a checkpoint, which its id tells: ids are UUIDs of version 6, ordered by time."""

from __future__ import annotations

import time

TIDY_EVERY_S = 3600.0
"""How often a process that answers looks for conversations to remove."""
_DAY_S = 86_400
_TICKS_PER_S = 10_000_000
_EPOCH_TICKS = 0x01B21DD213814000
"""From 1582-10-15 to 1970-01-01 in ticks of 100 ns (RFC 9562, section 5.1)."""


def first_id_since(days: int, *, now_s: float | None = None) -> str:
    """The smallest id of a checkpoint that is at most so many days old.

    >>> first_id_since(0, now_s=0.0)
    '1b21dd21-3814-6000-0000-000000000000'
    """
    since_s = (time.time() if now_s is None else now_s) - days * _DAY_S
    ticks = f"{int(since_s * _TICKS_PER_S) + _EPOCH_TICKS:015x}"
    return f"{ticks[:8]}-{ticks[8:12]}-6{ticks[12:]}-0000-000000000000"


class Due:
    """Tells once an hour that it is time."""

    def __init__(self) -> None:
        self._at = time.monotonic() + TIDY_EVERY_S

    def is_now(self) -> bool:
        """True when an hour has passed since it last was."""
        if time.monotonic() < self._at:
            return False
        self._at = time.monotonic() + TIDY_EVERY_S
        return True
