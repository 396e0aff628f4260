"""Fixtures for all tests: a clean environment and no network."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No setting of the developer's shell reaches a test; state goes to a fresh folder.

    Nothing is simulated for an answer: where torch is installed that would take seconds a question.
    """
    for name in list(os.environ):
        if name.startswith(("XUANKA_", "OPENAI_", "LANGSMITH_", "LANGCHAIN_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XUANKA_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("XUANKA_SIMULATION", "false")


@pytest.fixture(autouse=True)
def _no_network(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections are refused, also to loopback unless the test is marked `sockets`."""
    allowed = request.node.get_closest_marker("sockets") is not None
    real = socket.socket.connect

    def connect(self: socket.socket, address: Any) -> None:
        is_local = self.family == socket.AF_UNIX or (allowed and address[0] in _LOOPBACK)
        if not is_local:
            raise RuntimeError(f"a test tried to connect to {address}")
        real(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)
