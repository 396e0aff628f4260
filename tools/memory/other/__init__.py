"""Closed forms of models that are not language models: images, detection, diffusion, speech, T5.

`estimate_other` is what `tools.memory.estimate` calls for them; classic machine learning has
`table_ram`, host memory from rows and columns.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tools.memory.other.classic import TableNeed, table_ram
    from tools.memory.other.estimator import estimate_other, has_form

_HOMES = {"estimate_other": "estimator", "has_form": "estimator",
          "table_ram": "classic", "TableNeed": "classic"}  # fmt: skip

__all__ = ["TableNeed", "estimate_other", "has_form", "table_ram"]


def __getattr__(name: str) -> Any:
    """Loads a public name from its module at first use."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
