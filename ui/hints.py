"""Hints of tools, in the words of who calls them over a wire."""

from __future__ import annotations

from tools.errors import UnknownGpuError, UnknownInstanceError, UnknownModelError

_LISTED_BY = ((UnknownModelError, "find_model"), (UnknownGpuError, "find_gpu"),
              (UnknownInstanceError, "find_instances"))  # fmt: skip


def for_a_client(hint: str) -> str:
    """Names are looked up with tools there; commands of a terminal are of no use.

    >>> for_a_client("Closest: A10. Known names: python -m tools gpus.")
    'Closest: A10. Look names up with find_gpu.'
    """
    for kind, tool in _LISTED_BY:
        hint = hint.replace(f"Known names: {kind.listing}", f"Look names up with {tool}")
    return hint
