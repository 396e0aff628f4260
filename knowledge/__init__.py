"""Guidance that has been checked: notes, errata, retrieval, and a reader's own documents.

>>> from knowledge import search
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from knowledge.building import BuildReport, build
    from knowledge.corrections import all_errata, errata
    from knowledge.library import Library
    from knowledge.retriever import Retriever, get_passage, search
    from knowledge.settings import KnowledgeSettings
    from knowledge.types import Erratum, Passage

_HOMES = {
    "BuildReport": "building",
    "Erratum": "types",
    "KnowledgeSettings": "settings",
    "Library": "library",
    "Passage": "types",
    "Retriever": "retriever",
    "all_errata": "corrections",
    "build": "building",
    "errata": "corrections",
    "get_passage": "retriever",
    "search": "retriever",
}
__all__ = [
    "BuildReport",
    "Erratum",
    "KnowledgeSettings",
    "Library",
    "Passage",
    "Retriever",
    "all_errata",
    "build",
    "errata",
    "get_passage",
    "search",
]


def __getattr__(name: str) -> Any:
    """Public names, imported when first used."""
    if name in _HOMES:
        return getattr(import_module(f"knowledge.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'knowledge' has no attribute {name!r}")
