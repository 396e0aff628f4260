"""A running service with a fake advisor, and a browser that notes every complaint."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import ROOT
from tests.ui.fakes import FakeAdvisor, an_app, collect

CHROMIUM = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
AXE = ROOT / "build" / "browser" / "node_modules" / "axe-core" / "axe.min.js"
SHOTS = ROOT / "build" / "screenshots"


class Server:
    """The service in a thread; it can be stopped and started again on its port."""

    def __init__(self, advisor: Any, port: int | None = None) -> None:
        self.advisor = advisor
        with socket.socket() as found:
            found.bind(("127.0.0.1", port or 0))
            self.port = found.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        self.start()

    def start(self) -> None:
        import uvicorn

        app = an_app(self.advisor)
        config = uvicorn.Config(app, port=self.port, log_level="error",
                                timeout_graceful_shutdown=1)  # fmt: skip
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.05)
            assert self._thread.is_alive(), "the service did not start"

    def stop(self) -> None:
        self._server.should_exit = True
        self._server.force_exit = True
        self._thread.join(10)
        collect()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Debian's chromium, or a skip that says what is missing."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright: make test-browser")
    found = [path for path in CHROMIUM if Path(path).exists()]
    if not found:
        pytest.skip("chromium is not installed: make test-browser")
    with api.sync_playwright() as playwright:
        yield playwright.chromium.launch(
            executable_path=found[0],
            args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
        )


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """One service for a file of tests."""
    running = Server(FakeAdvisor(delay_s=0.1))
    yield running
    running.stop()


class Watched:
    """Pages that are watched for console errors and requests to other hosts."""

    def __init__(self, browser: Any, url: str) -> None:
        self._browser = browser
        self.url = url
        self.complaints: list[str] = []
        self.contexts: list[Any] = []

    def context(self, *, locale: str = "en-US", dark: bool = False, phone: bool = False) -> Any:
        size = {"width": 390, "height": 844} if phone else {"width": 1280, "height": 860}
        made = self._browser.new_context(
            locale=locale, color_scheme="dark" if dark else "light", viewport=size,
            permissions=["clipboard-read", "clipboard-write"],
        )  # fmt: skip
        made.set_default_timeout(15_000)
        self.contexts.append(made)
        return made

    def open(self, path: str = "", *, context: Any = None, **options: Any) -> Any:
        page = (context or self.context(**options)).new_page()
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(f"page error: {error}"))
        page.on("request", self._request)
        page.goto(self.url + path)
        page.wait_for_selector("#xk-history li", state="attached")
        return page

    def forget_leaving(self) -> None:
        """Drops what the library says when a page is left while its stream is open."""
        said = (
            "BodyStreamBuffer was aborted",
            "signal is aborted without reason",
            "Connection errored out",
        )
        self.complaints[:] = [c for c in self.complaints if not any(s in c for s in said)]

    def _console(self, message: Any) -> None:
        if message.type == "error":
            self.complaints.append(f"console: {message.text}")

    def _request(self, request: Any) -> None:
        if not request.url.startswith((self.url, "data:", "blob:")):
            self.complaints.append(f"request off the host: {request.url}")


@pytest.fixture
def pages(browser: Any, server: Server) -> Iterator[Watched]:
    """Opens pages; the test fails on any console error or request to another host."""
    watched = Watched(browser, server.url)
    yield watched
    for context in watched.contexts:
        context.close()
    assert watched.complaints == []


@pytest.fixture
def shoot() -> Callable[[Any, str], None]:
    """Keeps a screenshot under build/screenshots."""
    SHOTS.mkdir(parents=True, exist_ok=True)

    def keep(page: Any, name: str) -> None:
        page.wait_for_timeout(400)
        page.screenshot(path=str(SHOTS / f"{name}.png"), full_page=True)

    return keep


@pytest.fixture
def accessible() -> Callable[[Any], None]:
    """Fails on a serious or critical violation that axe-core finds."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed: make test-browser")
    source = AXE.read_text(encoding="utf-8")

    def check(page: Any) -> None:
        page.evaluate(source)
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        serious = [
            (v["id"], [n["target"] for n in v["nodes"]][:5])
            for v in found
            if v["impact"] in ("serious", "critical")
        ]
        assert serious == []

    return check
