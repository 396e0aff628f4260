from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.ui.bot.platforms import (
    DING_SECRET,
    Fault,
    Platforms,
    Post,
    ding_message,
    ding_post,
    until,
)
from tests.ui.fakes import FakeAdvisor, an_answer
from ui.bot.dingtalk import markdown_of, signature

pytestmark = pytest.mark.sockets
Send = Callable[[Post], Any]


def is_settled(client: TestClient) -> bool:
    return "xuanka_bot_events_open 0.0" in client.get("/metrics").text


def test_signature_is_that_of_the_formula() -> None:
    # printf '1\nk' | openssl dgst -sha256 -hmac k -binary | base64
    assert signature("1", "k") == "+Y/NysOI70f4DBpAAhJ12F23YD7ant6IfWD1Sviq7UI="


def test_message_is_answered_once_at_its_webhook(
    client: TestClient, post: Send, platforms: Platforms, advisor: FakeAdvisor
) -> None:
    for _ in range(3):
        assert post(ding_post(ding_message(platforms.url))).status_code == 200
    until(lambda: is_settled(client))
    (message,) = platforms.messages
    assert message["msgtype"] == "markdown"
    assert "T4 能用 bf16 吗" in message["markdown"]["text"]
    assert advisor.asked == [("T4 能用 bf16 吗", "dingtalk:c:s")]


def test_send_that_broke_off_is_not_repeated(
    client: TestClient, post: Send, platforms: Platforms
) -> None:
    platforms.faults.append(Fault("/session", status=0, is_kept=True))
    post(ding_post(ding_message(platforms.url)))
    until(lambda: is_settled(client))
    assert len(platforms.messages) == 1
    assert len(platforms.calls_of("/session")) == 1


def test_ended_session_and_refused_message_are_given_up(
    client: TestClient, post: Send, platforms: Platforms
) -> None:
    platforms.faults.append(Fault("/session", body={"errcode": 310000, "errmsg": "no"}))
    post(ding_post(ding_message(platforms.url, msgId="a")))
    post(ding_post(ding_message(platforms.url, msgId="b", sessionWebhookExpiredTime=1)))
    until(lambda: is_settled(client))
    assert len(platforms.calls_of("/session")) == 1
    assert platforms.messages == []


def test_webhook_is_not_in_the_log(
    client: TestClient, post: Send, platforms: Platforms, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="xuanka"):
        for number, status in enumerate((500, 404, 0)):
            platforms.faults.append(Fault("/session", status=status))
            post(ding_post(ding_message(platforms.url, msgId=str(number))))
        until(lambda: is_settled(client))
    shown = [f"{r.getMessage()} {r.exc_text}" for r in caplog.records if r.name == "xuanka.bot"]
    assert len(shown) >= 3
    assert not [line for line in shown if "session-secret" in line or DING_SECRET in line]


def test_tables_become_lists_and_long_answers_are_cut() -> None:
    title, text = markdown_of(an_answer())
    assert title.endswith("Fits")
    assert "- **LoRA** · GiB 17.2" in text
    assert "|" not in text


def test_settings_absent_means_no_route(service: Callable[..., TestClient]) -> None:
    off = {"dingtalk_app_secret": None, "slack_bot_token": None, "feishu_app_secret": None}
    with service(**off) as client:
        for path in ("/dingtalk/events", "/slack/events", "/slack/commands", "/feishu/events"):
            assert client.post(path, content=b"{}").status_code == 404


def test_message_of_the_past_hour_is_still_taken(post: Send, platforms: Platforms) -> None:
    body = ding_message(platforms.url)
    assert post(ding_post(body, at_ms=(time.time() - 3000) * 1000)).status_code == 200
