"""Vocabulary of the parser: tables that are read once and never changed.

README.md beside this file says what each table holds and how to add a row.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import yaml

_Loader: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def load(name: str) -> Any:
    """Contents of ``<name>.yaml``; treat as read-only.

    Raises:
        FileNotFoundError: If there is no such table.
    """
    text = (files(__package__) / f"{name}.yaml").read_text(encoding="utf-8")
    return yaml.load(text, Loader=_Loader)
