"""An embeddings endpoint: batches, retries, and one clear error for every kind of failure."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import httpx2
import numpy as np
import pytest

from knowledge import KnowledgeSettings
from knowledge.embedders import embedder_id, make_embedder
from knowledge.endpoint import BATCH, EndpointEmbedder
from tools.errors import BadQuantityError, EndpointRejected, EndpointTimeout

Handler = Callable[[httpx2.Request], httpx2.Response]


def an_embedder(handler: Handler) -> EndpointEmbedder:
    client = httpx2.Client(transport=httpx2.MockTransport(handler))
    return EndpointEmbedder("http://e/v1", model="m", client=client, pause_s=0)


def answer(request: httpx2.Request, *, dims: int = 3) -> httpx2.Response:
    texts = json.loads(request.content)["input"]
    rows = [{"index": i, "embedding": [len(t), 1, *[0] * (dims - 2)]} for i, t in enumerate(texts)]
    return httpx2.Response(200, json={"data": rows[::-1]})


def test_vectors_come_in_the_order_asked_and_have_length_one() -> None:
    vectors = an_embedder(answer).passages(["a", "bbbb"])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1])
    assert vectors[1][0] > vectors[0][0]


def test_many_texts_go_in_batches() -> None:
    sizes: list[int] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        sizes.append(len(json.loads(request.content)["input"]))
        return answer(request)

    an_embedder(handler).passages(["x"] * (BATCH + 3))
    assert sizes == [BATCH, 3]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_passing_failure_is_tried_again(status: int) -> None:
    replies = iter([status, status, 200])

    def handler(request: httpx2.Request) -> httpx2.Response:
        code = next(replies)
        return answer(request) if code == 200 else httpx2.Response(code)

    assert an_embedder(handler).query("a").shape == (3,)


def test_a_refusal_is_final() -> None:
    calls: list[int] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        calls.append(1)
        return httpx2.Response(401)

    with pytest.raises(EndpointRejected, match="401"):
        an_embedder(handler).query("a")
    assert len(calls) == 1


def test_an_endpoint_that_does_not_answer_is_a_timeout() -> None:
    def handler(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused")

    with pytest.raises(EndpointTimeout, match="refused"):
        an_embedder(handler).query("a")


@pytest.mark.parametrize(
    "reply",
    [
        httpx2.Response(200, text="not json"),
        httpx2.Response(200, json={"vectors": []}),
        httpx2.Response(200, json={"data": []}),
        httpx2.Response(200, json={"data": [{"index": 0, "embedding": [0, 0]}]}),
        httpx2.Response(200, json={"data": [{"index": 0, "embedding": ["x"]}]}),
    ],
    ids=["text", "other form", "too few", "zero", "no numbers"],
)
def test_an_answer_of_another_form_is_rejected(reply: httpx2.Response) -> None:
    with pytest.raises(EndpointRejected):
        an_embedder(lambda _: reply).query("a")


def test_a_change_of_dimensions_is_rejected() -> None:
    dims = iter([3, 4])
    embedder = an_embedder(lambda r: answer(r, dims=next(dims)))
    embedder.query("a")
    with pytest.raises(EndpointRejected, match="3 dimensions"):
        embedder.query("a")


def test_the_settings_choose_the_embedder(tmp_path: Path) -> None:
    def chosen(**changed: str) -> str:
        return embedder_id(KnowledgeSettings(tmp_path, tmp_path, **changed))

    assert chosen(embedder="none") == "lexical"
    url = "http://e/v1"
    assert chosen(embeddings_url=url, embeddings_model="bge") == "endpoint-bge"
    assert make_embedder(KnowledgeSettings(tmp_path, tmp_path, embedder="none")) is None


def test_an_endpoint_without_a_model_is_said() -> None:
    settings = KnowledgeSettings(Path("s"), Path("c"), embeddings_url="http://e/v1")
    with pytest.raises(BadQuantityError, match="XUANKA_EMBEDDINGS_MODEL"):
        make_embedder(settings)


def test_an_unknown_embedder_is_said() -> None:
    with pytest.raises(BadQuantityError, match="XUANKA_EMBEDDER"):
        make_embedder(KnowledgeSettings(Path("s"), Path("c"), embedder="word2vec"))
