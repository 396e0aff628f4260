"""A reader's own documents: what is kept, and how it is changed so that nothing is half there.

Pieces of a document carry its version (a hash of its bytes). The manifest says which version
counts. A document is written pieces first, manifest last, and reported only then: a process
killed at any point leaves either the old version or the new one, and pieces that no manifest
entry names are swept up later.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import numpy as np

from knowledge.chunker import Piece, pieces
from knowledge.embedders import Embedder, embedder_id, make_embedder
from knowledge.locks import file_lock, put_in_place, write_atomically
from knowledge.manifest import (
    LEADS_OUT,
    Entry,
    FileResult,
    entry_key,
    files_below,
    leads_out,
    owner_of,
    section_of,
)
from knowledge.parsers import UnreadableDocumentError, read_bytes
from knowledge.reading import Limits, Reader
from knowledge.settings import KnowledgeSettings
from knowledge.snapshot import Snapshot
from knowledge.store import (
    NO_VECTOR,
    MemoryStore,
    Record,
    Vectors,
    VectorStore,
    collection_name,
    open_store,
)

_ORPHAN_AGE_S = 3600.0
"""On a shared store, pieces younger than this may belong to a writer that is still at work."""


_BATCH = 256
Progress = Callable[[str], None]
"""Called with a line of text while a large document is being embedded."""
Report = Callable[[FileResult], None]


class Library:
    """The documents of one state folder or server."""

    def __init__(
        self,
        settings: KnowledgeSettings,
        *,
        progress: Progress | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._settings = settings
        self._limits = limits
        self._progress = progress or (lambda _: None)
        self.folder = settings.state_dir / "documents"
        self._manifest = collection_name("manifest", "documents")
        self._embedder_id = embedder_id(settings)
        self._pieces = collection_name("pieces", self._embedder_id)
        self._guard = threading.RLock()
        self._held: VectorStore | None = None
        self._depth = 0

    @contextmanager
    def _opened(self) -> Iterator[VectorStore]:
        """The store, open for as long as something is done with it.

        An embedded Chroma is closed in between: it serves one process at a time, and an open one
        does not see what another process writes.
        """
        with self._guard:
            if self._held is None:
                self._held = open_store(self._settings, folder=self.folder / "chroma")
            self._depth += 1
            try:
                yield self._held
            finally:
                self._depth -= 1
                if not self._depth and self._settings.store == "chroma":
                    self._held.close()
                    self._held = None

    @property
    def _store(self) -> VectorStore:
        if self._held is None:
            raise RuntimeError("the store is used outside of _opened()")
        return self._held

    @cached_property
    def _embedder(self) -> Embedder | None:
        return make_embedder(self._settings)

    # -- reading -----------------------------------------------------------------------------

    def entries(self) -> list[Entry]:
        """Documents that count, by collection and path."""
        with self._opened() as store:
            found = [Entry(r.id, **json.loads(r.text)) for r in store.read(self._manifest)]
        return sorted(found, key=lambda e: (e.collection, e.path))

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever written here; found out without opening the store."""
        if self._settings.store == "memory" or "://" in self._settings.store:
            return False
        return not (self.folder / "chroma").exists()

    def stamp(self) -> Hashable:
        """A value that changes when the documents do; cheap for a local store."""
        if self._settings.store == "chroma":
            pointer = self.folder / "current.json"
            return pointer.stat().st_mtime_ns if pointer.exists() else self.is_empty
        with self._opened() as store:
            if isinstance(store, MemoryStore):
                return store.writes
        return tuple(self.entries())

    def snapshot(self) -> Snapshot | None:
        """The form to search; brought up to date first where a writer was killed."""
        if self.is_empty:
            return None
        if self._settings.store != "chroma":
            with self._opened():
                return self._compose()
        current = self._current()
        if current is None or self._dirty.exists():
            with file_lock(self.folder / "lock", wait=current is None) as is_ours:
                if is_ours:
                    self._publish()
            current = self._current()
        return Snapshot.load(current) if current else None

    def _current(self) -> Path | None:
        pointer = self.folder / "current.json"
        if not pointer.exists():
            return None
        held = json.loads(pointer.read_text(encoding="utf-8"))
        folder = self.folder / str(held["folder"])
        is_ours = held["pieces_in"] == self._pieces
        return folder if is_ours and (folder / "snapshot.json").exists() else None

    @property
    def _dirty(self) -> Path:
        return self.folder / "dirty"

    # -- writing -----------------------------------------------------------------------------

    def ingest(
        self,
        paths: Sequence[Path],
        *,
        collection: str = "documents",
        prune: bool = False,
        report: Report = lambda _: None,
    ) -> list[FileResult]:
        """Adds files, and those inside folders; each is reported once it is safe.

        Args:
            paths: Files and folders.
            collection: Name that groups documents; a reader's own choice.
            prune: Also remove documents below the given folders whose files are gone.
            report: Called with the result of each file, in order.

        Raises:
            UserInputError: If a path does not exist.
        """
        files = list(files_below(paths))
        results: list[FileResult] = []

        def note(result: FileResult) -> None:
            results.append(result)
            report(result)

        with self._writing(), self._opened(), Reader(self._limits) as reader:
            known = {e.key: e for e in self.entries()}
            for path in files:
                if leads_out(path, paths):
                    note(FileResult(str(path.absolute()), "rejected", LEADS_OUT))
                else:
                    note(self._ingest_one(path, collection, known, reader))
            if prune:
                there = {str(f.absolute()) for f in files}
                for entry in known.values():
                    below = any(Path(entry.path).is_relative_to(p.absolute()) for p in paths)
                    if entry.collection == collection and below and entry.path not in there:
                        self._remove(entry)
                        note(FileResult(entry.path, "removed"))
        return results

    def remove(self, paths: Iterable[Path], *, collection: str = "documents") -> list[FileResult]:
        """Takes documents out, by the paths they came from; a folder stands for all below it."""
        wanted = [p.absolute() for p in paths]
        results = []
        with self._writing(), self._opened():
            for entry in self.entries():
                hit = any(Path(entry.path).is_relative_to(w) for w in wanted)
                if entry.collection == collection and hit:
                    self._remove(entry)
                    results.append(FileResult(entry.path, "removed", "", entry.piece_count))
        return results

    def _writing(self) -> _Writing:
        return _Writing(self)

    def _ingest_one(
        self, path: Path, collection: str, known: dict[str, Entry], reader: Reader
    ) -> FileResult:
        name = str(path.absolute())
        key = entry_key(collection, name)
        old = known.get(key)
        try:
            data = read_bytes(path)
            version = hashlib.sha256(data).hexdigest()[:24]
            if old and old.version == version and old.pieces_in == self._pieces:
                return FileResult(name, "unchanged", "", old.piece_count)
            parts = list(pieces(reader.read(data, path)))
        except UnreadableDocumentError as error:
            return FileResult(name, "rejected", error.reason)
        added_on = datetime.now(UTC).isoformat(timespec="seconds")
        entry = Entry(key, collection, name, version, self._pieces, len(parts), added_on)
        self._write(entry, parts)
        if old and (old.version, old.pieces_in) != (version, self._pieces):
            self._drop_pieces(old)
        known[key] = entry
        return FileResult(name, "updated" if old else "added", "", len(parts))

    def _write(self, entry: Entry, parts: Sequence[Piece]) -> None:
        texts = [f"{p.heading}\n{p.text}" for p in parts]
        vectors = self._vectors(texts, entry.path)
        written_at = time.time()
        records = [
            Record(
                f"{entry.key}-{entry.version}-{n:05}",
                part.text,
                {
                    "document": entry.key,
                    "version": entry.version,
                    "heading": part.heading,
                    "locator": part.locator,
                    "written_at": written_at,
                },
                np.asarray(vector, dtype=np.float32),
            )
            for n, (part, vector) in enumerate(zip(parts, vectors, strict=True))
        ]
        self._store.put(self._pieces, records)
        fields = entry._asdict()
        del fields["key"]
        text = json.dumps(fields, ensure_ascii=False)
        self._store.put(self._manifest, [Record(entry.key, text, {}, NO_VECTOR)])

    def _vectors(self, texts: Sequence[str], path: str) -> Sequence[Vectors]:
        if self._embedder is None:
            return [NO_VECTOR] * len(texts)
        found: list[Vectors] = []
        for start in range(0, len(texts), _BATCH):
            if start:
                self._progress(f"{path}: {start} of {len(texts)} passages embedded")
            found.extend(self._embedder.passages(texts[start : start + _BATCH]))
        return found

    def _remove(self, entry: Entry) -> None:
        self._store.drop(self._manifest, [entry.key])
        self._drop_pieces(entry)

    def _drop_pieces(self, entry: Entry) -> None:
        ids = [f"{entry.key}-{entry.version}-{n:05}" for n in range(entry.piece_count)]
        self._store.drop(entry.pieces_in, ids)

    # -- the form that is read ---------------------------------------------------------------

    def _compose(self) -> Snapshot | None:
        """Index of every piece that the manifest names."""
        if not self._store.is_shared:
            self._adopt_other_embedders()
        live = {(e.key, e.version): e for e in self.entries()}
        others = {e.pieces_in for e in live.values()} - {self._pieces}
        records = self._store.read(self._pieces)
        for other in sorted(others):  # another replica's embedder: compared by wording only
            records.extend(self._store.read(other))
        kept = [r for r in records if (r.metadata["document"], r.metadata["version"]) in live]
        self._sweep(records, kept)
        if not kept:
            return None
        kept.sort(key=lambda r: r.id)
        sections = [section_of(r, live[owner_of(r)]) for r in kept]
        vectors = None
        if self._embedder is not None and not others:
            vectors = np.asarray([r.vector for r in kept], dtype=np.float32)
        name = "lexical" if vectors is None else self._embedder_id
        return Snapshot.build(sections, vectors, embedder_id=name)

    def _sweep(self, records: Sequence[Record], kept: Sequence[Record]) -> None:
        held = {r.id for r in kept}
        oldest = time.time() - (_ORPHAN_AGE_S if self._store.is_shared else 0.0)
        orphans = [
            r.id for r in records if r.id not in held and float(r.metadata["written_at"]) < oldest
        ]
        if orphans:
            self._store.drop(self._pieces, orphans)

    def _adopt_other_embedders(self) -> None:
        """Embeds anew what another embedder indexed, document by document."""
        for entry in self.entries():
            if entry.pieces_in == self._pieces:
                continue
            ids = [f"{entry.key}-{entry.version}-{n:05}" for n in range(entry.piece_count)]
            held = self._store.read(entry.pieces_in, ids=ids)
            parts = [
                Piece(str(r.metadata["heading"]), r.text, str(r.metadata["locator"]))
                for r in sorted(held, key=lambda r: r.id)
            ]
            self._write(entry._replace(pieces_in=self._pieces, piece_count=len(parts)), parts)
            self._drop_pieces(entry)

    def _publish(self) -> None:
        """Writes the snapshot aside and switches to it."""
        with self._opened():
            composed = self._compose()
        name = f"snapshot-{time.time_ns()}"
        if composed is None:
            (self.folder / "current.json").unlink(missing_ok=True)
        else:
            aside = self.folder / f"{name}.tmp"
            aside.mkdir(parents=True)
            composed.save(aside)
            put_in_place(aside, self.folder / name)
            pointer = {"folder": name, "pieces_in": self._pieces}
            write_atomically(self.folder / "current.json", json.dumps(pointer))
        self._dirty.unlink(missing_ok=True)
        for old in self.folder.glob("snapshot-*"):
            if old.name != name:
                shutil.rmtree(old, ignore_errors=True)


class _Writing:
    """The writers' turn: locked, marked as under way, and published at the end."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._is_local = library._settings.store == "chroma"

    def __enter__(self) -> None:
        if self._is_local:
            self._lock = file_lock(self._library.folder / "lock")
            self._lock.__enter__()
            write_atomically(self._library._dirty, "a writer is at work, or was killed\n")

    def __exit__(self, *reason: object) -> None:
        if self._is_local:
            try:
                self._library._publish()
            finally:
                self._lock.__exit__(None, None, None)
