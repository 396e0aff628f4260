"""Building the guidance index: aside, under a lock, and put in place by one rename.

The index lives in ``<cache>/guidance/<key>``. The key is a hash of the notes, the glossary, the
code that reads them and the embedder's id, so a changed note is another index and an unchanged
one is found ready. Vectors are kept in the store by their text's hash and are taken over.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np

from knowledge.embedders import Embedder, embedder_id, make_embedder
from knowledge.field import background
from knowledge.locks import file_lock, put_in_place
from knowledge.notes import all_sections, note_files
from knowledge.settings import KnowledgeSettings
from knowledge.snapshot import Snapshot, Vectors, views_of
from knowledge.store import Record, VectorStore, collection_name, open_store

Progress = Callable[[str], None]
_CODE = (
    "text.py",
    "glossary.py",
    "notes.py",
    "lexical.py",
    "spelling.py",
    "field.py",
    "snapshot.py",
    "building.py",
)
_DATA = (
    "data/glossary.yaml",
    "data/other_trades.yaml",
    "data/sources.yaml",
    "data/background.txt",
)
_KEPT = 3
"""Indexes kept beside the newest, for checkouts of other versions that share the folder."""


class BuildReport(NamedTuple):
    """What a build did."""

    folder: Path
    built: bool
    """False where the index was there already."""
    passage_count: int
    embedder_id: str
    elapsed_s: float


def index_key(embedder: str) -> str:
    """Name of the index that fits the notes, the code and the embedder as they are."""
    digest = hashlib.sha256(embedder.encode())
    here = files("knowledge")
    for name in (*_CODE, *_DATA):
        digest.update(here.joinpath(name).read_bytes())
    for note in note_files():
        digest.update(note.name.encode())
        digest.update(note.read_bytes())
    return digest.hexdigest()[:20]


def index_folder(settings: KnowledgeSettings) -> Path:
    """Where the guidance index of these settings lies, or will lie."""
    return settings.cache_dir / "guidance" / index_key(embedder_id(settings))


def is_built(folder: Path) -> bool:
    """Whether a complete index lies there; an interrupted build never gets this name."""
    return (folder / "snapshot.json").exists()


def build(
    settings: KnowledgeSettings | None = None, *, progress: Progress | None = None
) -> BuildReport:
    """Makes the guidance index, or finds it made.

    Args:
        settings: Where and with which embedder; from the environment by default.
        progress: Called with a line of text now and then.

    Returns:
        Where it lies and whether anything had to be done.
    """
    settings = settings or KnowledgeSettings.from_env()
    started = time.monotonic()
    folder = index_folder(settings)
    name = embedder_id(settings)
    built = False
    if not is_built(folder):
        with file_lock(settings.cache_dir / "guidance.lock"):
            if not is_built(folder):
                _build_aside(folder, settings, progress or (lambda _: None))
                built = True
                _prune(folder)
    count = len(all_sections()) if built else 0
    return BuildReport(folder, built, count, name, time.monotonic() - started)


def _build_aside(folder: Path, settings: KnowledgeSettings, progress: Progress) -> None:
    embedder = make_embedder(settings)
    aside = folder.with_name(f"{folder.name}.{os.getpid()}.tmp")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    sections = all_sections()
    vectors = outside = None
    if embedder is not None:
        views = [v.text for v in views_of(sections)]
        texts = [*views, *background()]
        store = open_store(settings, folder=settings.cache_dir / "chroma")
        try:
            both = _embed_new(texts, embedder, store, progress)
        finally:
            store.close()
        vectors, outside = both[: len(views)], both[len(views) :]
    name = "lexical" if embedder is None else embedder.id
    built = Snapshot.build(sections, vectors, embedder_id=name, background=outside)
    built.with_odds(background()).save(aside)
    put_in_place(aside, folder)
    progress(f"{len(sections)} passages indexed with {name}")


def _embed_new(
    texts: list[str], embedder: Embedder, store: VectorStore, progress: Progress, *, batch: int = 64
) -> Vectors:
    """Vectors of all texts; only those that the store does not hold are computed.

    Records are named by their text's hash, so a build that was killed is taken up where it was.
    """
    shelf = collection_name("guidance", embedder.id)
    digests = [hashlib.sha256(t.encode()).hexdigest()[:32] for t in texts]
    known = {r.id: r.vector for r in store.read(shelf)}
    missing = list({d: i for i, d in enumerate(digests) if d not in known}.values())
    for start in range(0, len(missing), batch):
        rows = missing[start : start + batch]
        vectors = embedder.passages([texts[r] for r in rows])
        records = [Record(digests[r], texts[r], {}, v) for r, v in zip(rows, vectors, strict=True)]
        store.put(shelf, records)
        known.update((r.id, r.vector) for r in records)
        progress(f"embedded {min(start + batch, len(missing))} of {len(missing)} new texts")
    stale = sorted(known.keys() - set(digests))
    if len(stale) > len(digests):
        store.drop(shelf, stale)
    return np.asarray([known[d] for d in digests], dtype=np.float32)


def _prune(newest: Path) -> None:
    """Drops old indexes and what killed builds left behind."""
    shelf = newest.parent
    whole = [f for f in shelf.iterdir() if f != newest and is_built(f) and "." not in f.name]
    for folder in sorted(whole, key=lambda f: f.stat().st_mtime, reverse=True)[_KEPT:]:
        shutil.rmtree(folder, ignore_errors=True)
    for rest in shelf.glob("*.tmp"):
        shutil.rmtree(rest, ignore_errors=True)
