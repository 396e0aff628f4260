from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.ui.bot.card_rules import ding_faults, ding_sent
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
from ui.bot.dingtalk import a_message, markdown_of, message_of, signature

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
    assert message["msgtype"] == "actionCard"
    assert "T4 能用 bf16 吗" in message["actionCard"]["text"]
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


# ---- buttons


def test_button_sends_its_question_as_whoever_presses(
    post: Send, client: TestClient, platforms: Platforms, advisor: FakeAdvisor
) -> None:
    post(ding_post(ding_message(platforms.url)))
    until(lambda: len(platforms.messages) == 1)
    sent = ding_sent(platforms.messages[0], "更便宜的")
    assert sent == "租哪个实例最便宜?"
    post(ding_post(ding_message(platforms.url, msgId="m2", text={"content": sent})))
    until(lambda: is_settled(client))
    assert [asked for asked, _ in advisor.asked] == ["T4 能用 bf16 吗", sent]
    assert advisor.languages[-1] is None


def test_language_button_repeats_the_question_in_the_other_language(
    post: Send, client: TestClient, platforms: Platforms, advisor: FakeAdvisor
) -> None:
    post(ding_post(ding_message(platforms.url)))
    until(lambda: len(platforms.messages) == 1)
    sent = ding_sent(platforms.messages[0], "English")
    assert sent == "[English] T4 能用 bf16 吗"
    post(ding_post(ding_message(platforms.url, msgId="m2", text={"content": sent})))
    until(lambda: is_settled(client))
    assert advisor.asked[-1][0] == "T4 能用 bf16 吗"
    assert advisor.languages[-1] == "en"


@pytest.mark.parametrize("question", ["&content=x#y 50%", "长" * 300, "长" * 1500, "😀" * 300])
def test_message_with_buttons_is_below_twenty_kilobytes(question: str) -> None:
    message = message_of(question, an_answer(text="显存不够。\n" * 5000))
    assert ding_faults(message) == []
    labels = [button["title"] for button in message["actionCard"]["btns"]]
    assert ("中文" in labels) is (len(question) <= 300)
    if "中文" in labels:
        assert ding_sent(message, "中文") == f"[中文] {question}"


def test_without_buttons_it_is_plain_markdown() -> None:
    assert a_message("text") == {
        "msgtype": "markdown", "markdown": {"title": "Xuanka", "text": "text"}}  # fmt: skip
