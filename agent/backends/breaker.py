"""One circuit breaker an endpoint: after repeated failures it is left alone for a while."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import lru_cache


class CircuitBreaker:
    """Counts failures in a row; opens at the limit, lets one trial through after the rest.

    Args:
        failures: Failures in a row that open it.
        rest_s: Seconds for which it stays open.
        clock: Monotonic seconds.
    """

    def __init__(
        self, *, failures: int, rest_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limit = failures
        self._rest_s = rest_s
        self._clock = clock
        self._lock = threading.Lock()
        self._in_a_row = 0
        self._opened_at: float | None = None
        self._is_on_trial = False

    def allows(self) -> bool:
        """True when a call may be made now; while half open only one caller gets it."""
        with self._lock:
            if self._opened_at is None:
                return True
            if self._is_on_trial or self._clock() - self._opened_at < self._rest_s:
                return False
            self._is_on_trial = True
            return True

    def succeeded(self) -> None:
        """Closes it."""
        with self._lock:
            self._in_a_row, self._opened_at, self._is_on_trial = 0, None, False

    def failed(self) -> None:
        """Counts a failure; opens at the limit, and at once after a failed trial."""
        with self._lock:
            self._in_a_row += 1
            if self._is_on_trial or self._in_a_row >= self._limit:
                self._opened_at, self._is_on_trial = self._clock(), False

    def released(self) -> None:
        """Ends a call that says nothing about the endpoint's health."""
        with self._lock:
            self._is_on_trial = False

    @property
    def is_open(self) -> bool:
        """True while calls are refused."""
        with self._lock:
            return self._opened_at is not None


@lru_cache(maxsize=64)
def breaker_for(address: str, *, failures: int, rest_s: float) -> CircuitBreaker:
    """The breaker that all advisors of this process share for one endpoint."""
    return CircuitBreaker(failures=failures, rest_s=rest_s)
