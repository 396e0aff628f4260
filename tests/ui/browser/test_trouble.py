"""Stopping, a lost connection, a slow answer: in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.ui.browser.conftest import Server, Watched
from tests.ui.fakes import FakeAdvisor

pytestmark = [pytest.mark.browser, pytest.mark.sockets]
BOX = "#xk-box textarea"


@pytest.fixture
def slow() -> Iterator[Server]:
    running = Server(FakeAdvisor(delay_s=2.0))
    yield running
    running.stop()


def test_stop_ends_the_answer_and_retry_asks_again(browser: Any, slow: Server) -> None:
    watched = Watched(browser, slow.url)
    page = watched.open()
    page.fill(BOX, "stop me")
    page.keyboard.press("Enter")
    page.wait_for_selector("#xk-live .xk-steps")
    page.click("#xk-stop")
    turn = page.locator("#xk-log .xk-turn").last
    turn.locator("text=Stopped").wait_for()
    assert page.locator("#xk-send").is_visible()
    turn.locator("button", has_text="Try again").click()
    page.wait_for_selector("#xk-log .xk-answer[data-final]", timeout=30_000)
    assert len(slow.advisor.asked) == 2
    assert watched.complaints == []


def test_lost_connection_is_said_and_recovers(browser: Any, slow: Server) -> None:
    watched = Watched(browser, slow.url)
    page = watched.open()
    page.fill(BOX, "lose me")
    page.keyboard.press("Enter")
    page.wait_for_selector("#xk-live .xk-steps")
    slow.stop()
    page.locator("#xk-log .xk-error").wait_for(timeout=30_000)
    slow.advisor.delay_s = 0.05
    with page.expect_navigation(timeout=30_000):
        slow.start()
    page.wait_for_selector("#xk-history li")
    page.locator("#xk-log button", has_text="Try again").last.click()
    page.wait_for_selector("#xk-log .xk-answer[data-final]", timeout=30_000)
    assert "lose me" in page.locator("#xk-log").inner_text()
