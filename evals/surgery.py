"""Replaces parts of the product while a seeded fault is judged, and puts them back.

Nowhere else is code of ours patched: here the fault is the point (docs/adr/091).
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import ModuleType, TracebackType
from typing import Any

_OURS = ("tools", "knowledge", "agent")


class Surgery:
    """Replaced functions, properties and values; leaving the block puts all of them back."""

    def __init__(self) -> None:
        self._undo: list[tuple[Any, str, Any]] = []

    @property
    def touched(self) -> int:
        """Places that are replaced now."""
        return len(self._undo)

    def __enter__(self) -> Surgery:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for holder, name, value in reversed(self._undo):
            setattr(holder, name, value)
        self._undo.clear()

    def replace(self, target: str, make: Callable[[Any], Any]) -> None:
        """Puts `make(original)` in the place of a name, wherever it was imported to.

        Args:
            target: `package.module:name` or `package.module:Class.name`.
            make: Gets what stands there, gives what shall.

        Raises:
            AttributeError: If there is no such name: a fault that misses the code is no fault.
        """
        place, _, path = target.partition(":")
        holder: Any = importlib.import_module(place)
        *owners, name = path.split(".")
        for owner in owners:
            holder = getattr(holder, owner)
        original = holder.__dict__[name] if isinstance(holder, type) else getattr(holder, name)
        new = make(original)
        if not isinstance(holder, ModuleType):
            self._set(holder, name, new)
            return
        for module in list(sys.modules.values()):
            if getattr(module, "__name__", "").partition(".")[0] not in _OURS:
                continue
            for known_as, value in list(vars(module).items()):
                if value is original and (module is holder or known_as == name):
                    self._set(module, known_as, new)

    def returns(self, target: str, change: Callable[[Any], Any]) -> None:
        """Changes what a function gives back."""

        def make(original: Any) -> Any:
            def changed(*args: Any, **named: Any) -> Any:
                return change(original(*args, **named))

            return changed

        self.replace(target, make)

    def computes(self, target: str, change: Callable[[Any], Any]) -> None:
        """Changes what a property of a class gives."""
        self.replace(target, lambda original: property(lambda self: change(original.fget(self))))

    def _set(self, holder: Any, name: str, value: Any) -> None:
        self._undo.append((holder, name, vars(holder)[name]))
        setattr(holder, name, value)
