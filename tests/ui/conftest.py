"""The page's library leaves event loops unclosed; they are no fault of the test that runs then."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.ui.fakes import collect
from tests.ui.postgres import PostgresServer

_LEFT_BEHIND = "ignore:Exception ignored in. <(function BaseEventLoop|socket.socket)"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith("tests/ui/"):
            mark = f"{_LEFT_BEHIND}:pytest.PytestUnraisableExceptionWarning"
            item.add_marker(pytest.mark.filterwarnings(mark))


@pytest.fixture(scope="module", autouse=True)
def _nothing_is_left_for_others() -> Iterator[None]:
    yield
    collect()


@pytest.fixture
def postgres_server() -> Iterator[PostgresServer]:
    """A fresh Postgres."""
    server = PostgresServer()
    yield server
    server.remove()
