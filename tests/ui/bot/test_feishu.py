from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.ui.bot.card_rules import feishu_buttons, feishu_faults
from tests.ui.bot.platforms import (
    VERIFICATION,
    Fault,
    Platforms,
    Post,
    feishu_event,
    feishu_post,
    feishu_press,
    sealed,
    until,
)
from tests.ui.fakes import FakeAdvisor, an_answer
from ui.bot.feishu import question_of
from ui.bot.feishu_card import card_of, pressed_question

pytestmark = pytest.mark.sockets
Send = Callable[[Post], Any]


def a_post(event: dict[str, Any]) -> Post:
    return feishu_post(sealed(json.dumps(event).encode()))


def test_message_is_answered_once_as_a_card_in_reply(
    post: Send, platforms: Platforms, advisor: FakeAdvisor
) -> None:
    for _ in range(3):
        assert post(a_post(feishu_event())).json() == {"code": 0}
    until(lambda: len(platforms.messages) == 1)
    (call,) = platforms.calls_of("im/v1/messages/om_1/reply")
    card = json.loads(call.body["content"])
    assert call.body["msg_type"] == "interactive"
    assert card["header"]["template"] == "green"
    assert card["header"]["title"]["content"].startswith("🟢")
    assert "A10 够吗" in card["body"]["elements"][0]["content"]
    assert len(advisor.asked) == 1


@pytest.mark.parametrize("is_kept", [True, False], ids=["reply-lost", "never-arrived"])
def test_broken_send_is_repeated_and_shown_once(
    client: TestClient, post: Send, platforms: Platforms, advisor: FakeAdvisor, is_kept: bool
) -> None:
    platforms.faults.append(Fault("/reply", status=0, is_kept=is_kept))
    post(a_post(feishu_event()))
    until(lambda: len(platforms.calls_of("/reply")) == 2)
    until(lambda: "xuanka_bot_events_open 0.0" in client.get("/metrics").text)
    first, second = (call.body["uuid"] for call in platforms.calls_of("/reply"))
    assert first == second
    assert len(platforms.messages) == 1
    assert len(advisor.asked) == 1


def test_ended_tenant_token_is_renewed(post: Send, platforms: Platforms) -> None:
    platforms.faults.append(Fault("/reply", status=400, body={"code": 99991663}))
    post(a_post(feishu_event()))
    until(lambda: len(platforms.messages) == 1)
    assert len(platforms.calls_of("tenant_access_token/internal")) == 2


def test_withdrawn_question_is_not_answered_again_and_again(
    client: TestClient, post: Send, platforms: Platforms
) -> None:
    platforms.faults.append(Fault("/reply", status=400, body={"code": 230011}))
    post(a_post(feishu_event()))
    until(lambda: "xuanka_bot_events_open 0.0" in client.get("/metrics").text)
    assert len(platforms.calls_of("/reply")) == 1


def test_rate_limit_is_waited_for(post: Send, platforms: Platforms) -> None:
    platforms.faults.append(
        Fault("/reply", status=400, body={"code": 99991400}, headers={"x-ogw-ratelimit-reset": "1"})
    )
    post(a_post(feishu_event()))
    until(lambda: len(platforms.messages) == 1)


def test_encrypted_challenge_is_answered_without_a_signature(post: Send) -> None:
    challenge = {"type": "url_verification", "challenge": "c1", "token": VERIFICATION}
    request = Post("/feishu/events", sealed(json.dumps(challenge).encode()), {})
    assert post(request).json() == {"challenge": "c1"}


def test_with_a_verification_token_alone_bodies_are_plain_and_their_own_time_counts(
    service: Callable[..., TestClient], platforms: Platforms
) -> None:
    with service(feishu_encrypt_key=None) as client:
        old = str(int((time.time() - 24 * 3600) * 1000))
        for change, status in (({"create_time": old}, 401), ({"create_time": ""}, 401),
                               ({"token": "no"}, 401), ({}, 200)):  # fmt: skip
            body = json.dumps(feishu_event(**change)).encode()
            assert client.post("/feishu/events", content=body).status_code == status
        until(lambda: len(platforms.messages) == 1)


@pytest.mark.parametrize(
    "change",
    [
        {"sender_type": "app"}, {"message_type": "image"}, {"content": '{"text": " "}'},
        {"chat_type": "group"}, {"message_id": ""},
    ],
)  # fmt: skip
def test_apps_files_and_groups_without_a_mention_are_left_alone(change: dict[str, Any]) -> None:
    assert question_of(feishu_event(**change)) is None


def test_conversation_is_the_thread_in_groups_and_the_chat_between_two() -> None:
    mention: dict[str, Any] = {"chat_type": "group", "mentions": [{"key": "@_user_1"}]}
    first = question_of(feishu_event(content='{"text": "@_user_1 a"}', **mention))
    reply = question_of(feishu_event(message_id="om_2", root_id="om_1", **mention))
    other = question_of(feishu_event(message_id="om_3", **mention))
    assert first is not None
    assert reply is not None
    assert other is not None
    assert first["text"] == "a"
    assert first["thread"] == reply["thread"] != other["thread"]
    direct = [question_of(feishu_event(message_id=f"om_{i}")) for i in range(2)]
    assert len({asked["thread"] for asked in direct if asked}) == 1


LONG = "显存不够。\n" * 5000
ASKED = {"text": "A10 够吗", "thread": "oc_1", "message_id": "om_1"}


@pytest.mark.parametrize("question", ["A10 够吗", "长" * 1500, '"' * 1500])
def test_card_of_a_long_chinese_answer_is_below_thirty_kilobytes(question: str) -> None:
    asked = {**ASKED, "text": question, "is_quoted": True}
    card = card_of(an_answer(text=LONG, language="zh"), asked)
    assert len(json.dumps(card, ensure_ascii=False).encode()) < 28_000
    assert feishu_faults(card) == []
    assert len(feishu_buttons(card)) >= 2


# ---- buttons


def pressed(platforms: Platforms, label: str) -> Any:
    """What the card's button of this label carries."""
    card = json.loads(platforms.messages[-1]["content"])
    found = {b["text"]["content"]: b["behaviors"][0]["value"] for b in feishu_buttons(card)}
    return found[label]


def test_pressed_button_asks_on_in_the_same_conversation_once(
    post: Send, platforms: Platforms, advisor: FakeAdvisor
) -> None:
    post(a_post(feishu_event(chat_type="group", mentions=[{"key": "@_user_1"}])))
    until(lambda: len(platforms.messages) == 1)
    value = pressed(platforms, "更便宜的")
    for _ in range(3):
        reply = post(a_post(feishu_press(value)))
        assert reply.status_code == 200
        assert reply.json()["toast"]["i18n"]["zh_cn"]
    until(lambda: len(platforms.messages) == 2)
    (call,) = platforms.calls_of("im/v1/messages/om_card/reply")
    card = json.loads(call.body["content"])
    question = "租哪个实例最便宜?"
    assert card["body"]["elements"][0]["text"] == {
        "tag": "plain_text", "content": question, "text_color": "grey"}  # fmt: skip
    assert advisor.asked == [("A10 够吗", "feishu:oc_1:om_1"), (question, "feishu:oc_1:om_1")]


def test_language_button_repeats_the_question_in_the_other_language(
    post: Send, platforms: Platforms, advisor: FakeAdvisor
) -> None:
    post(a_post(feishu_event()))
    until(lambda: len(platforms.messages) == 1)
    value = pressed(platforms, "English")
    assert (value["text"], value["language"]) == ("A10 够吗", "en")
    post(a_post(feishu_press(value)))
    until(lambda: len(platforms.messages) == 2)
    assert advisor.asked[-1][0] == "A10 够吗"
    assert advisor.languages[-1] == "en"


@pytest.mark.parametrize(
    ("value", "change"),
    [
        (None, {}), ("text", {}), ({"text": "q"}, {}), ({"text": 1, "thread": "oc_1"}, {}),
        ({"text": "", "thread": "oc_1"}, {}), ({"text": "q", "thread": ["oc_1"]}, {}),
        ({"text": "q", "thread": "oc_2:om_1"}, {}), ({"text": "q", "thread": "oc_1"},
                                                     {"open_chat_id": None}),
        ({"text": "q", "thread": "oc_1"}, {"open_message_id": ""}),
    ],
)  # fmt: skip
def test_buttons_of_others_ask_nothing_and_are_told(
    post: Send, advisor: FakeAdvisor, value: object, change: dict[str, Any]
) -> None:
    event = feishu_press(value, **change)
    assert pressed_question(event) is None
    reply = post(a_post(event))
    assert reply.status_code == 200
    assert "nothing" in reply.json()["toast"]["i18n"]["en_us"]
    assert advisor.asked == []


def test_press_is_checked_like_an_event(post: Send, advisor: FakeAdvisor) -> None:
    value = {"text": "q", "thread": "oc_1"}
    body = json.dumps(feishu_press(value)).encode()
    forged = feishu_post(sealed(body), key="other")
    stale = feishu_post(sealed(body), at=time.time() - 3700)
    wrong = a_post(feishu_press(value, token="no"))
    unsigned = Post("/feishu/events", sealed(body), {})
    assert [post(request).status_code for request in (forged, stale, wrong, unsigned)] == [401] * 4
    assert advisor.asked == []


def test_old_press_is_refused_where_only_its_own_time_is_known(
    service: Callable[..., TestClient], advisor: FakeAdvisor
) -> None:
    with service(feishu_encrypt_key=None) as client:
        event = feishu_press({"text": "q", "thread": "oc_1"})
        event["header"]["create_time"] = str(int((time.time() - 24 * 3600) * 1e6))
        assert client.post("/feishu/events", content=json.dumps(event)).status_code == 401
    assert advisor.asked == []
