"""An OpenAI-compatible embeddings endpoint as embedder: ``POST <url>/embeddings``."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knowledge.settings import KnowledgeSettings
from tools.errors import BackendError, BadQuantityError, EndpointRejected, EndpointTimeout

Vectors = NDArray[np.float32]
BATCH = 64
ATTEMPTS = 4
_RETRIED = frozenset({408, 409, 429, 500, 502, 503, 504})


class EndpointEmbedder:
    """Vectors from a service; every failure ends in one clear BackendError."""

    def __init__(
        self,
        url: str,
        *,
        model: str,
        api_key: str = "",
        client: Any = None,
        timeout_s: float = 30.0,
        pause_s: float = 0.5,
    ) -> None:
        import httpx2

        self._httpx = httpx2
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = client or httpx2.Client(timeout=timeout_s, headers=headers)
        self._url = f"{url.rstrip('/')}/embeddings"
        self._model = model
        self._pause_s = pause_s
        self._dimensions: int | None = None
        self.id = f"endpoint-{model}"

    @classmethod
    def from_settings(cls, settings: KnowledgeSettings) -> EndpointEmbedder:
        """The endpoint that the settings name.

        Raises:
            BadQuantityError: If the URL or the model is missing.
        """
        for field, value in (
            ("XUANKA_EMBEDDINGS_URL", settings.embeddings_url),
            ("XUANKA_EMBEDDINGS_MODEL", settings.embeddings_model),
        ):
            if not value:
                raise BadQuantityError(field=field, given=value, allowed="a value, for an endpoint")
        return cls(
            settings.embeddings_url,
            model=settings.embeddings_model,
            api_key=settings.embeddings_api_key,
        )

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts, in batches."""
        rows: list[Vectors] = []
        for start in range(0, len(texts), BATCH):
            rows.extend(self._embed(list(texts[start : start + BATCH])))
        return np.asarray(rows, dtype=np.float32)

    def query(self, text: str) -> Vectors:
        """Vector of one query."""
        return self._embed([text])[0]

    def _embed(self, texts: list[str]) -> list[Vectors]:
        answer = self._post({"model": self._model, "input": texts})
        try:
            data = sorted(answer["data"], key=lambda row: row["index"])
            vectors = [np.asarray(row["embedding"], dtype=np.float32) for row in data]
        except (KeyError, TypeError, ValueError) as error:
            raise EndpointRejected(f"{self._url} answered in another form: {error!r}.") from error
        if len(vectors) != len(texts):
            raise EndpointRejected(
                f"{self._url} gave {len(vectors)} vectors for {len(texts)} texts."
            )
        return [self._checked(v) for v in vectors]

    def _checked(self, vector: Vectors) -> Vectors:
        if self._dimensions is None:
            self._dimensions = len(vector)
        length = float(np.linalg.norm(vector))
        if len(vector) != self._dimensions or not np.isfinite(length) or length == 0:
            raise EndpointRejected(
                f"{self._url} gave a vector of {len(vector)} dimensions and length {length:.3g}; "
                f"{self._dimensions} dimensions and a finite length are expected."
            )
        return vector / length

    def _post(self, body: dict[str, Any]) -> Any:
        failure: BackendError = EndpointTimeout(f"{self._url} was not tried.")
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(self._pause_s * 2 ** (attempt - 1))
            try:
                answer = self._client.post(self._url, json=body)
            except self._httpx.TransportError as error:
                failure = EndpointTimeout(f"{self._url} did not answer: {error}.")
                continue
            if answer.status_code == 200:
                try:
                    return answer.json()
                except ValueError as error:
                    raise EndpointRejected(f"{self._url} did not answer in JSON.") from error
            failure = EndpointRejected(f"{self._url} answered {answer.status_code}.")
            if answer.status_code not in _RETRIED:
                break
        raise failure
