from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.ui.bot.card_rules import slack_faults
from tests.ui.bot.platforms import (
    SECRET,
    TOKEN,
    Fault,
    Platforms,
    Post,
    slack_command,
    slack_event,
    slack_post,
    slack_press,
    until,
)
from tests.ui.fakes import FakeAdvisor, an_answer
from ui.bot.slack import question_of
from ui.bot.slack_blocks import answer_blocks, mrkdwn, sections
from ui.bot.words import buttons

pytestmark = pytest.mark.sockets
Send = Callable[[Post], Any]


def sent(platforms: Platforms, count: int = 1) -> list[dict[str, Any]]:
    until(lambda: len(platforms.messages) >= count)
    assert platforms.complaints == []
    return platforms.messages


def buttons_of(message: dict[str, Any]) -> dict[str, dict[str, Any]]:
    (actions,) = [block for block in message["blocks"] if block["type"] == "actions"]
    return {e["text"]["text"]: json.loads(e["value"]) for e in actions["elements"]}


def test_mention_is_answered_in_its_thread_with_verdict_need_table_and_buttons(
    post: Send, platforms: Platforms, advisor: FakeAdvisor
) -> None:
    advisor._make = lambda question, thread, turn: an_answer()
    assert post(slack_post(slack_event())).status_code == 200
    (message,) = sent(platforms)
    assert (message["channel"], message["thread_ts"]) == ("C1", "10.0")
    assert message["metadata"]["event_payload"] == {"event_id": "Ev1"}
    shown = json.dumps(message["blocks"])
    assert message["blocks"][0]["text"]["text"].endswith("Fits")
    assert "usable 21.9 GiB" in shown
    assert "```\\nmethod  GiB\\nfull    58.1" in shown
    asked = buttons_of(message)
    assert list(asked) == ["QLoRA instead", "Cheaper", "中文"]
    assert asked["中文"] == {"text": "hello", "language": "zh"}


def test_thread_is_the_conversation(post: Send, platforms: Platforms, advisor: FakeAdvisor) -> None:
    events = [("a", {"ts": "1.0"}), ("b", {"ts": "2.0", "thread_ts": "1.0"}), ("c", {"ts": "3.0"})]
    for answered, (event_id, event) in enumerate(events, start=1):
        post(slack_post(slack_event(event_id, **event)))
        until(lambda answered=answered: len(platforms.messages) == answered)  # type: ignore[misc]
    threads = [thread for _, thread in advisor.asked]
    assert threads[0] == threads[1] != threads[2]


def test_retries_of_an_event_are_answered_once(
    post: Send, platforms: Platforms, advisor: FakeAdvisor
) -> None:
    for number in range(4):
        request = slack_post(slack_event())
        request.headers["x-slack-retry-num"] = str(number)
        assert post(request).status_code == 200
    post(slack_post(slack_event("Ev2", ts="11.0")))
    assert len(sent(platforms, 2)) == 2
    assert len(advisor.asked) == 2


def test_taking_an_event_in_needs_nothing_of_slack(post: Send, platforms: Platforms) -> None:
    assert post(slack_post(slack_event())).status_code == 200
    sent(platforms)
    assert platforms.calls_of("auth.test") == []


def test_lost_reply_to_a_send_is_looked_up_in_the_thread_and_not_sent_again(
    post: Send, platforms: Platforms, advisor: FakeAdvisor
) -> None:
    post(slack_post(slack_event("Ev0", ts="10.1", thread_ts="10.0")))
    sent(platforms)
    platforms.faults.append(Fault("chat.postMessage", status=0, is_kept=True))
    post(slack_post(slack_event("Ev1")))
    until(lambda: len(platforms.calls_of("conversations.replies")) >= 2)
    assert len(platforms.messages) == 2
    assert len(advisor.asked) == 2


def test_send_that_never_arrived_is_sent_again_without_asking_again(
    post: Send, platforms: Platforms, advisor: FakeAdvisor
) -> None:
    platforms.faults.append(Fault("chat.postMessage", status=0))
    post(slack_post(slack_event()))
    assert len(sent(platforms)) == 1
    assert len(advisor.asked) == 1


def test_rate_limit_is_waited_for_as_long_as_slack_says(post: Send, platforms: Platforms) -> None:
    limited = {"ok": False, "error": "ratelimited"}
    fault = Fault("chat.postMessage", status=429, body=limited, headers={"Retry-After": "2"})
    platforms.faults.append(fault)
    post(slack_post(slack_event()))
    assert len(sent(platforms)) == 1
    assert len(platforms.calls_of("chat.postMessage")) == 2
    assert platforms.calls_of("conversations.replies") == []


def test_refusal_for_good_is_not_tried_again(
    client: TestClient, post: Send, platforms: Platforms
) -> None:
    gone = {"ok": False, "error": "channel_not_found"}
    platforms.faults.append(Fault("chat.postMessage", body=gone))
    post(slack_post(slack_event()))
    until(lambda: "xuanka_bot_events_open 0.0" in client.get("/metrics").text)
    assert len(platforms.calls_of("chat.postMessage")) == 1
    assert platforms.messages == []


def test_challenge_is_answered(post: Send) -> None:
    body = json.dumps({"type": "url_verification", "challenge": "abc"}).encode()
    assert "abc" in post(slack_post(body)).text


def test_assistant_thread_gets_prompts_and_a_status(post: Send, platforms: Platforms) -> None:
    thread = {"channel_id": "D1", "thread_ts": "5.0"}
    post(slack_post(slack_event("E1", type="assistant_thread_started", assistant_thread=thread)))
    until(lambda: len(platforms.calls_of("setSuggestedPrompts")) == 1)
    (call,) = platforms.calls_of("setSuggestedPrompts")
    assert (call.body["channel_id"], call.body["thread_ts"]) == ("D1", "5.0")
    assert 1 <= len(call.body["prompts"]) <= 4
    post(slack_post(slack_event("E2", type="message", channel_type="im", channel="D1", ts="6.0",
                                thread_ts="5.0", text="A10?")))  # fmt: skip
    assert sent(platforms)[0]["thread_ts"] == "5.0"
    assert platforms.calls_of("setStatus")[0].body["thread_ts"] == "5.0"


def test_command_is_acknowledged_and_answered_at_its_response_url(
    post: Send, platforms: Platforms
) -> None:
    for _ in range(2):
        assert post(slack_command(platforms.url)).status_code == 200
    (message,) = sent(platforms)
    assert "You asked: A10?" in json.dumps(message)
    assert len(platforms.calls_of("/response")) == 1


def test_response_url_of_another_origin_is_never_called(
    service: Callable[..., TestClient], platforms: Platforms
) -> None:
    urls = [
        "http://169.254.169.254/latest", "https://hooks.slack.com.evil.example/x",
        "https://hooks.slack.com@127.0.0.1/x", "http://hooks.slack.com/x",
        "https://hooks.slack.com:8443/x", "https://127.0.0.1\\@hooks.slack.com/x",
        "file:///etc/passwd", "//hooks.slack.com/x", "https://[::1", "",
        f"{platforms.url}/response",
    ]  # fmt: skip
    with service(slack_reply_origins="https://hooks.slack.com") as client:
        for number, url in enumerate(urls):
            request = slack_command(platforms.url, response_url=url, trigger_id=f"t{number}")
            client.post(request.path, content=request.body, headers=request.headers)
        until(lambda: "xuanka_bot_events_open 0.0" in client.get("/metrics").text)
    assert platforms.calls == []


def test_redirect_of_a_response_url_is_not_followed(
    client: TestClient, post: Send, platforms: Platforms
) -> None:
    target = {"Location": f"{platforms.url}/elsewhere"}
    platforms.faults.append(Fault("/response", status=302, headers=target))
    post(slack_command(platforms.url))
    until(lambda: len(platforms.calls_of("/response")) == 1)
    until(lambda: "xuanka_bot_events_open 0.0" in client.get("/metrics").text)
    assert platforms.calls_of("/elsewhere") == []


def test_pressed_button_asks_its_question_in_the_thread(
    post: Send, platforms: Platforms, advisor: FakeAdvisor
) -> None:
    value = json.dumps({"text": "What about QLoRA?", "language": "en"})
    request = slack_press({
        "trigger_id": "p1", "channel": {"id": "C1"}, "user": {"id": "U7"},
        "message": {"ts": "12.0", "thread_ts": "10.0"},
        "actions": [{"type": "button", "action_id": "ask_0", "block_id": "b", "value": value}],
    })  # fmt: skip
    for _ in range(2):
        assert post(request).status_code == 200
    (message,) = sent(platforms)
    assert (message["channel"], message["thread_ts"]) == ("C1", "10.0")
    assert "<@U7>: What about QLoRA?" in json.dumps(message["blocks"])
    assert advisor.asked == [("What about QLoRA?", "slack:C1:10.0")]


def test_button_on_a_private_answer_is_answered_at_its_response_url(
    post: Send, platforms: Platforms, advisor: FakeAdvisor
) -> None:
    value = json.dumps({"text": "What about QLoRA?", "language": "en"})
    post(slack_press({
        "trigger_id": "p2", "channel": {"id": "C"}, "user": {"id": "U"},
        "container": {"is_ephemeral": True}, "response_url": f"{platforms.url}/response",
        "actions": [{"type": "button", "action_id": "ask_0", "block_id": "b", "value": value}],
    }))  # fmt: skip
    until(lambda: len(platforms.calls_of("/response")) == 1)
    assert advisor.asked == [("What about QLoRA?", "slack:C:U")]


@pytest.mark.parametrize(
    "event",
    [
        {"type": "message", "channel_type": "channel"},
        {"bot_id": "B2"}, {"app_id": "A2"}, {"user": None}, {"edited": {"user": "U"}},
        {"type": "message", "channel_type": "im", "subtype": "message_changed"},
        {"type": "message", "channel_type": "im", "subtype": "message_deleted"},
        {"type": "message", "channel_type": "im", "bot_profile": {"id": "B"}},
        {"text": "<@UBOT>  "}, {"text": None}, {"type": "reaction_added"}, {"channel": None},
        {"type": "assistant_thread_started"},
    ],
)  # fmt: skip
def test_other_apps_bots_and_edits_are_left_alone(event: dict[str, Any]) -> None:
    assert question_of(json.loads(slack_event(**event))["event"]) is None


def test_links_and_escapes_are_read_as_they_were_typed() -> None:
    event = json.loads(slack_event(text="<@UBOT> is <http://a.io|a.io> &lt;b&gt; &amp; c"))
    found = question_of(event["event"])
    assert found is not None
    assert found["text"] == "is a.io <b> & c"


def test_failed_answer_is_told_in_words_without_its_cause(
    post: Send, platforms: Platforms, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, logger="xuanka"):
        post(slack_post(slack_event(text="<@UBOT> bug")))
        (message,) = sent(platforms)
    assert "/srv/key" not in json.dumps(message)


def test_no_secret_reaches_the_log(
    post: Send, platforms: Platforms, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        platforms.faults += [Fault("chat.postMessage", status=500), Fault("/response", status=500)]
        post(slack_post(slack_event()))
        post(slack_command(platforms.url, trigger_id="t9"))
        sent(platforms)
    shown = "\n".join(f"{record.getMessage()} {record.exc_text}" for record in caplog.records)
    shown = "\n".join(line for line in shown.splitlines() if "HTTP Request:" not in line)
    for secret in (SECRET, TOKEN, "/response"):
        assert secret not in shown


def test_long_answers_stay_within_slacks_limits_and_their_tables_whole() -> None:
    table = "| a | b |\n|---|---|\n" + "| x | <y> & **z** |\n" * 300
    text = "# T\n" + "word & <tag> " * 900 + "\n\n" + table + "\nend\n"
    blocks = answer_blocks("q" * 1600, an_answer(text=text))
    assert slack_faults({"text": "t", "blocks": blocks}) == []
    grids = [text for text in sections(table) if text.startswith("```")]
    assert len(grids) > 1
    assert all(grid.endswith("\n```") and grid.count("```") == 2 for grid in grids)


def test_answer_cannot_mention_a_channel() -> None:
    shown = json.dumps(answer_blocks("q", an_answer(text="<!channel> <@U1>\n\n|<!here>|b|\n|-|-|")))
    assert "<!" not in shown
    assert "<@" not in shown


def test_bold_within_chinese_text_stands_at_the_edge_of_a_word() -> None:
    assert mrkdwn("需**16 GiB**显存") == "需\u200b*16 GiB*\u200b显存"
    assert mrkdwn("**a** b, (**c**)") == "*a* b, (*c*)"


def test_cheaper_is_not_offered_after_the_cheapest_and_qlora_not_after_qlora() -> None:
    labels = [b.label for b in buttons("q", an_answer(intent="recommend_instance"))]
    assert labels == ["QLoRA instead", "中文"]
    labels = [b.label for b in buttons("q", an_answer(request={"method": "qlora"}))]
    assert labels == ["Cheaper", "中文"]
    assert [b.label for b in buttons("q" * 5000, an_answer(memory=None))] == []


@pytest.mark.parametrize("body", [b'"text"', b"2147483648", b"false", b"[1]"])
def test_json_that_is_no_object_is_refused(post: Any, body: bytes) -> None:
    assert post(slack_post(body)).status_code == 400


@pytest.mark.parametrize("actions", [[{"value": "{}"}], {"a": 1}, [], None])
def test_a_press_without_its_fields_is_refused_and_takes_nothing(
    post: Any, platforms: Platforms, actions: Any
) -> None:
    reply = post(slack_press({"trigger_id": "t", "actions": actions}))
    assert reply.status_code < 500
    assert platforms.messages == []


def test_another_workspace_or_app_is_refused_where_ours_is_named(
    service: Any, advisor: FakeAdvisor
) -> None:
    with service(slack_team_ids="T1,T2", slack_app_id="A9") as client:

        def status(**changes: str) -> int:
            event = {**json.loads(slack_event("Ev77")), "team_id": "T1", "api_app_id": "A9"}
            request = slack_post(json.dumps(event | changes).encode())
            reply = client.post(request.path, content=request.body, headers=request.headers)
            return int(reply.status_code)

        assert status(team_id="T3") == 403
        assert status(api_app_id="A1") == 403
        assert advisor.asked == []
        assert status() == 200


@pytest.mark.parametrize("changes", [{"user": 2}, {"channel": False}, {"user": True}])
def test_fields_of_another_kind_are_refused(post: Any, changes: dict[str, Any]) -> None:
    assert post(slack_post(slack_event("Ev78", **changes))).status_code in (200, 400)
