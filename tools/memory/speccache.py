"""Memory of what is derived from a model, found by identity.

A registry row has some fifty fields: hashing them costs more than the estimate itself. Rows are
frozen and live as long as the registry, so the object stands for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from tools.models import ModelSpec

P = ParamSpec("P")
R = TypeVar("R")
_LIMIT = 4096


def by_identity(
    function: Callable[Concatenate[ModelSpec, P], R],
) -> Callable[Concatenate[ModelSpec, P], R]:
    """Remembers the result for each model object and the other arguments (hashable)."""
    held: dict[tuple[object, ...], tuple[ModelSpec, R]] = {}

    def remembered(spec: ModelSpec, /, *args: P.args, **kwargs: P.kwargs) -> R:
        key = (id(spec), *args, *kwargs.values())
        found = held.get(key)
        if found is not None and found[0] is spec:
            return found[1]
        if len(held) >= _LIMIT:
            held.clear()
        result = function(spec, *args, **kwargs)
        held[key] = (spec, result)
        return result

    remembered.__name__, remembered.__doc__ = function.__name__, function.__doc__
    return remembered
