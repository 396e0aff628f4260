"""The service with all three bots, before a fake of their platforms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from agent import Settings
from tests.ui.bot.platforms import Platforms, Post
from tests.ui.fakes import FakeAdvisor
from ui.config import ServiceSettings
from ui.service import create_app


@pytest.fixture
def platforms() -> Iterator[Platforms]:
    served = Platforms()
    yield served
    served.close()
    assert served.complaints == []


@pytest.fixture
def advisor() -> FakeAdvisor:
    return FakeAdvisor()


@pytest.fixture
def service(
    platforms: Platforms, advisor: FakeAdvisor, tmp_path: Path
) -> Callable[..., TestClient]:
    """Makes a client of the service; settings may be changed."""

    def make(**changes: Any) -> TestClient:
        config = ServiceSettings(**({"state_dir": tmp_path, **platforms.settings()} | changes))
        app = create_app(Settings(), config=config, advisor=advisor, page=False)
        return TestClient(app, raise_server_exceptions=False)

    return make


@pytest.fixture
def client(service: Callable[..., TestClient]) -> Iterator[TestClient]:
    with service() as opened:
        yield opened


@pytest.fixture
def post(client: TestClient) -> Callable[[Post], Any]:
    """Sends a request to the service."""

    def send(request: Post) -> Any:
        return client.post(request.path, content=request.body, headers=request.headers)

    return send
