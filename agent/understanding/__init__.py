"""Free text, Chinese and English, to one typed request. Start at `parse`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent.understanding.parser import parse

__all__ = ["parse"]


def __getattr__(name: str) -> Any:
    if name == "parse":
        from agent.understanding.parser import parse

        return parse
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
