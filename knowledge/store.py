"""Where vectors are kept: embedded Chroma, a Chroma server, or memory.

The store keeps records (id, text, metadata, vector) and is what writers use. Readers use
snapshots of it (snapshot.py): chromadb takes more than a second to import, and its embedded
form is for one process at a time.

Vectors are always given; Chroma's own embedding function, which would fetch a model from the
network, is never attached.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from knowledge.settings import KnowledgeSettings
from tools.errors import BackendError, BadQuantityError

if TYPE_CHECKING:
    from chromadb.api import ClientAPI

Vectors = NDArray[np.float32]
Metadata = dict[str, str | int | float]
_PAGE = 2000
NO_VECTOR = np.zeros(1, dtype=np.float32)
"""What a record without a vector gets: Chroma wants one."""


class Record(NamedTuple):
    """One thing kept."""

    id: str
    text: str
    metadata: Metadata
    vector: Vectors


class VectorStore(Protocol):
    """What the room needs of a store. A write that has returned survives a killed process."""

    is_shared: bool
    """Whether other machines may write to it at the same time."""

    def put(self, collection: str, records: Sequence[Record]) -> None:
        """Adds records or replaces those of the same id."""

    def drop(self, collection: str, ids: Sequence[str]) -> None:
        """Removes records; ids that are not there do not matter."""

    def read(self, collection: str, *, ids: Sequence[str] | None = None) -> list[Record]:
        """Records of a collection, all or those of some ids; none where it does not exist."""

    def close(self) -> None:
        """Lets go of files and connections; the store is not used after that."""


class MemoryStore:
    """A store that ends with the process; for tests and for trying things out."""

    is_shared = False

    def __init__(self) -> None:
        self._collections: dict[str, dict[str, Record]] = {}
        self._lock = threading.Lock()
        self.writes = 0
        """How often something was changed; a reader's sign that its copy is old."""

    def put(self, collection: str, records: Sequence[Record]) -> None:
        """Adds records or replaces those of the same id."""
        with self._lock:
            self.writes += 1
            self._collections.setdefault(collection, {}).update((r.id, r) for r in records)

    def drop(self, collection: str, ids: Sequence[str]) -> None:
        """Removes records."""
        with self._lock:
            self.writes += 1
            held = self._collections.get(collection, {})
            for i in ids:
                held.pop(i, None)

    def read(self, collection: str, *, ids: Sequence[str] | None = None) -> list[Record]:
        """Records of a collection."""
        with self._lock:
            held = self._collections.get(collection, {})
            return list(held.values()) if ids is None else [held[i] for i in ids if i in held]

    def close(self) -> None:
        """Nothing to let go of."""


class ChromaStore:
    """A store in Chroma, embedded or served."""

    def __init__(self, client: ClientAPI, *, is_shared: bool) -> None:
        self._client = client
        self.is_shared = is_shared

    @classmethod
    def embedded(cls, folder: Path) -> ChromaStore:
        """Chroma in a folder, inside this process."""
        import chromadb
        from chromadb.config import Settings

        folder.mkdir(parents=True, exist_ok=True)
        quiet = Settings(anonymized_telemetry=False)
        return cls(chromadb.PersistentClient(path=str(folder), settings=quiet), is_shared=False)

    @classmethod
    def served(cls, url: str) -> ChromaStore:
        """A Chroma server (`chroma run`).

        Raises:
            BackendError: If no server answers there.
        """
        import chromadb
        from chromadb.config import Settings

        parts = urlsplit(url)
        secure = parts.scheme == "https"
        try:
            client = chromadb.HttpClient(
                host=parts.hostname or "localhost",
                port=parts.port or (443 if secure else 8000),
                ssl=secure,
                settings=Settings(anonymized_telemetry=False),
            )
        except ValueError as error:
            raise BackendError(
                f"No Chroma server answers at {url}. Start one (chroma run --path DIR), or unset "
                "XUANKA_STORE."
            ) from error
        return cls(client, is_shared=True)

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Turns what Chroma and its connection raise into one clear error."""
        import httpx
        from chromadb.errors import ChromaError

        try:
            yield
        except (ChromaError, httpx.HTTPError) as error:
            place = "The Chroma server" if self.is_shared else "The Chroma store"
            raise BackendError(f"{place} failed: {error or type(error).__name__}.") from error

    def _collection(self, name: str) -> Any:
        return self._client.get_or_create_collection(name, embedding_function=None)

    def put(self, collection: str, records: Sequence[Record]) -> None:
        """Adds records or replaces those of the same id."""
        with self._asking():
            self._put(collection, records)

    def _put(self, collection: str, records: Sequence[Record]) -> None:
        held = self._collection(collection)
        limit = min(_PAGE, self._client.get_max_batch_size())
        for start in range(0, len(records), limit):
            page = records[start : start + limit]
            held.upsert(
                ids=[r.id for r in page],
                documents=[r.text for r in page],
                metadatas=[r.metadata or {"_": 0} for r in page],
                embeddings=[r.vector for r in page],
            )

    def drop(self, collection: str, ids: Sequence[str]) -> None:
        """Removes records."""
        with self._asking():
            held = self._collection(collection)
            for start in range(0, len(ids), _PAGE):
                held.delete(ids=list(ids[start : start + _PAGE]))

    def read(self, collection: str, *, ids: Sequence[str] | None = None) -> list[Record]:
        """Records of a collection."""
        with self._asking():
            return self._read(collection, ids)

    def _read(self, collection: str, ids: Sequence[str] | None) -> list[Record]:
        held = self._collection(collection)
        wanted = ["documents", "metadatas", "embeddings"]
        if ids is not None:
            pages: Iterable[Any] = (
                held.get(ids=list(ids[start : start + _PAGE]), include=wanted)
                for start in range(0, len(ids), _PAGE)
            )
        else:
            pages = (
                held.get(limit=_PAGE, offset=start, include=wanted)
                for start in range(0, held.count(), _PAGE)
            )
        return [
            Record(i, text or "", dict(meta or {}), np.asarray(vector, dtype=np.float32))
            for page in pages
            for i, text, meta, vector in zip(
                page["ids"], page["documents"], page["metadatas"], page["embeddings"], strict=True
            )
        ]

    def close(self) -> None:
        """Closes the client; an embedded one would not see what another process writes later."""
        close = getattr(self._client, "close", None)  # not in chromadb's declared interface
        if close is not None:
            close()


@cache
def _memory(_: Path) -> MemoryStore:
    return MemoryStore()


def open_store(settings: KnowledgeSettings, *, folder: Path) -> VectorStore:
    """The store that the settings name.

    Args:
        settings: `store` is chroma, memory, or the URL of a server.
        folder: Where an embedded store keeps its files.

    Raises:
        BadQuantityError: If the setting is none of these.
        BackendError: If the server does not answer.
    """
    if settings.store == "chroma":
        return ChromaStore.embedded(folder)
    if settings.store == "memory":
        return _memory(folder)
    if settings.store.startswith(("http://", "https://")):
        return ChromaStore.served(settings.store)
    raise BadQuantityError(
        field="XUANKA_STORE", given=settings.store, allowed="chroma, memory, or http(s)://host:port"
    )


def collection_name(kind: str, *parts: str) -> str:
    """A name that Chroma takes: readable at the front, a hash of the parts at the end."""
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
    readable = re.sub(r"[^a-z0-9]+", "-", parts[0].lower()).strip("-")[:40]
    return f"xuanka-{kind}-{readable or 'x'}-{digest}"
