"""The chat platforms against fakes that check what is really sent."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from pytest_httpserver import HTTPServer
from starlette.testclient import TestClient
from werkzeug import Request, Response

from agent import Settings
from tests.ui.fakes import FakeAdvisor, an_answer
from ui.bot import dingtalk, feishu
from ui.bot.inbox import Inbox, Taken
from ui.bot.slack import question_of
from ui.bot.words import pieces, slack_text
from ui.config import ServiceSettings
from ui.service import create_app

pytestmark = pytest.mark.sockets
SECRET, TOKEN, KEY = "s" * 32, "xoxb-fake", "feishu-key"


class Platform:
    """All three platforms on one fake server, noting each call."""

    def __init__(self, server: HTTPServer) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.replies: list[dict[str, Any]] = []
        self.failures = 0
        self.url = server.url_for("")
        server.expect_request("/api/auth.test").respond_with_json(
            {"ok": True, "user_id": "UBOT", "bot_id": "BBOT", "team_id": "T"}
        )
        for name in ("chat.postMessage", "assistant.threads.setStatus", "conversations.replies",
                     "assistant.threads.setSuggestedPrompts"):  # fmt: skip
            server.expect_request(f"/api/{name}").respond_with_handler(self._slack)
        server.expect_request("/response").respond_with_handler(self._plain)
        server.expect_request("/session").respond_with_handler(self._plain)
        server.expect_request("/feishu/auth/v3/tenant_access_token/internal").respond_with_json(
            {"code": 0, "tenant_access_token": "t-1", "expire": 7200}
        )
        server.expect_request("/feishu/im/v1/messages/om_1/reply").respond_with_handler(self._plain)

    def _note(self, request: Request) -> dict[str, Any]:
        body = request.get_json(silent=True) or request.form.to_dict()
        body["_auth"] = request.headers.get("Authorization", "")
        self.calls.append((request.path.rsplit("/", 1)[-1], body))
        return dict(body)

    def _slack(self, request: Request) -> Response:
        body = self._note(request)
        if self.failures > 0 and request.path.endswith("chat.postMessage"):
            self.failures -= 1
            return Response('{"ok": false, "error": "internal_error"}', 200,
                            content_type="application/json")  # fmt: skip
        if request.path.endswith("chat.postMessage"):
            self.replies.append(body)
        messages = [{"metadata": json.loads(r["metadata"]) if isinstance(r["metadata"], str)
                     else r["metadata"]} for r in self.replies]  # fmt: skip
        return Response(json.dumps({"ok": True, "ts": "2.0", "messages": messages}), 200,
                        content_type="application/json")  # fmt: skip

    def _plain(self, request: Request) -> Response:
        self._note(request)
        return Response('{"code": 0, "errcode": 0}', 200, content_type="application/json")

    def sent(self, name: str) -> list[dict[str, Any]]:
        return [body for called, body in self.calls if called == name]

    def wait_for(self, name: str, count: int = 1) -> list[dict[str, Any]]:
        until = time.monotonic() + 10
        while len(self.sent(name)) < count and time.monotonic() < until:
            time.sleep(0.02)
        return self.sent(name)


@pytest.fixture
def platform(httpserver: HTTPServer) -> Platform:
    return Platform(httpserver)


@pytest.fixture
def advisor() -> FakeAdvisor:
    return FakeAdvisor()


@pytest.fixture
def client(platform: Platform, advisor: FakeAdvisor, tmp_path: Any) -> Iterator[TestClient]:
    config = ServiceSettings(
        state_dir=tmp_path, slack_signing_secret=SECRET, slack_bot_token=TOKEN,
        slack_api_url=platform.url + "api/", feishu_app_id="cli_1", feishu_app_secret="x",
        feishu_encrypt_key=KEY, feishu_verification_token="vt",
        feishu_api_url=platform.url + "feishu/", dingtalk_app_secret=SECRET,
        reply_hosts=("localhost", "127.0.0.1"),
    )  # fmt: skip
    app = create_app(Settings(), config=config, advisor=advisor, page=False)
    with TestClient(app, raise_server_exceptions=False) as opened:
        yield opened


# ---- Slack


def slack_headers(body: bytes, *, at: float | None = None, secret: str = SECRET) -> dict[str, str]:
    stamp = str(int(time.time() if at is None else at))
    digest = hmac.new(secret.encode(), b"v0:" + stamp.encode() + b":" + body, hashlib.sha256)
    return {"x-slack-request-timestamp": stamp, "x-slack-signature": "v0=" + digest.hexdigest(),
            "content-type": "application/json"}  # fmt: skip


def an_event(event_id: str = "Ev1", **event: Any) -> bytes:
    inner = {"type": "app_mention", "user": "U1", "text": "<@UBOT> hello", "channel": "C1",
             "ts": "1.0"} | event  # fmt: skip
    return json.dumps({"type": "event_callback", "event_id": event_id, "team_id": "T",
                       "api_app_id": "A", "event": inner}).encode()  # fmt: skip


def post_slack(client: TestClient, body: bytes, **headers: Any) -> Any:
    return client.post("/slack/events", content=body, headers=slack_headers(body, **headers))


def test_slack_mention_is_answered_in_its_thread_with_blocks(
    client: TestClient, platform: Platform
) -> None:
    assert post_slack(client, an_event()).status_code == 200
    (sent,) = platform.wait_for("chat.postMessage")
    assert sent["_auth"] == f"Bearer {TOKEN}"
    assert (sent["channel"], sent["thread_ts"]) == ("C1", "1.0")
    blocks = sent["blocks"] if isinstance(sent["blocks"], list) else json.loads(sent["blocks"])
    assert blocks[0]["text"]["text"].endswith("Fits")
    assert "You asked: hello" in blocks[1]["text"]["text"]
    labels = [e["text"]["text"] for e in blocks[-1]["elements"]]
    assert labels == ["QLoRA instead", "Cheaper", "中文"]


def test_slack_retry_of_an_event_is_answered_once(
    client: TestClient, platform: Platform, advisor: FakeAdvisor
) -> None:
    for _ in range(3):
        assert post_slack(client, an_event()).status_code == 200
    platform.wait_for("chat.postMessage")
    time.sleep(0.2)
    assert len(platform.sent("chat.postMessage")) == 1
    assert len(advisor.asked) == 1


def test_slack_failed_send_is_tried_again_and_found_in_the_thread(
    client: TestClient, platform: Platform
) -> None:
    platform.failures = 1
    post_slack(client, an_event())
    platform.wait_for("chat.postMessage", 2)
    assert len(platform.replies) == 1
    assert platform.sent("conversations.replies")


def test_slack_challenge_is_answered(client: TestClient) -> None:
    body = json.dumps({"type": "url_verification", "challenge": "abc"}).encode()
    assert "abc" in post_slack(client, body).text


@pytest.mark.parametrize(
    "change",
    [
        {"secret": "w" * 32},
        {"at": time.time() - 600},
        {"at": time.time() + 600},
    ],
    ids=["forged", "stale", "from-the-future"],
)
def test_slack_refuses_what_slack_did_not_sign(
    client: TestClient, advisor: FakeAdvisor, change: dict[str, Any]
) -> None:
    assert post_slack(client, an_event(), **change).status_code == 401
    assert advisor.asked == []


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-slack-signature": "v0=00"},
        {"x-slack-request-timestamp": "now", "x-slack-signature": "v0=00"},
    ],
)
def test_slack_refuses_missing_and_malformed_headers(
    client: TestClient, headers: dict[str, str]
) -> None:
    reply = client.post("/slack/events", content=an_event(), headers=headers)
    assert reply.status_code == 401


@pytest.mark.parametrize(
    "event",
    [
        {"type": "message", "channel": "C1", "channel_type": "channel", "text": "x"},
        {"type": "app_mention", "channel": "C1", "text": "x", "bot_id": "B2"},
        {"type": "app_mention", "channel": "C1", "text": "x", "app_id": "A2"},
        {"type": "message", "channel_type": "im", "channel": "D", "text": "x",
         "subtype": "message_changed"},
        {"type": "message", "channel_type": "im", "channel": "D", "text": "x", "edited": {}},
        {"type": "app_mention", "channel": "C1", "text": "<@UBOT>  "},
        {"type": "reaction_added"},
        {},
    ],
)  # fmt: skip
def test_slack_leaves_other_events_alone(event: dict[str, Any]) -> None:
    if event.get("edited") == {}:
        event = {**event, "edited": {"user": "U"}}
    assert question_of(event) is None


def test_slack_command_is_acknowledged_and_answered_at_its_response_url(
    client: TestClient, platform: Platform
) -> None:
    form = {"command": "/xuanka", "text": "A10?", "trigger_id": "t1", "channel_id": "C",
            "user_id": "U", "team_id": "T", "response_url": platform.url + "response"}  # fmt: skip
    body = urlencode(form).encode()
    headers = slack_headers(body) | {"content-type": "application/x-www-form-urlencoded"}
    assert client.post("/slack/commands", content=body, headers=headers).status_code == 200
    (sent,) = platform.wait_for("response")
    assert "You asked: A10?" in json.dumps(sent)


def test_slack_response_url_of_another_host_is_not_called(
    client: TestClient, platform: Platform, advisor: FakeAdvisor
) -> None:
    form = {"command": "/xuanka", "text": "A10?", "trigger_id": "t2", "channel_id": "C",
            "user_id": "U", "team_id": "T", "response_url": "http://169.254.169.254/x"}  # fmt: skip
    body = urlencode(form).encode()
    headers = slack_headers(body) | {"content-type": "application/x-www-form-urlencoded"}
    client.post("/slack/commands", content=body, headers=headers)
    time.sleep(0.3)
    assert advisor.asked == []


# ---- Feishu


def encrypted(event: dict[str, Any]) -> bytes:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    from cryptography.hazmat.primitives.padding import PKCS7

    padder = PKCS7(128).padder()
    plain = padder.update(json.dumps(event).encode()) + padder.finalize()
    iv = b"0123456789abcdef"
    locker = Cipher(algorithms.AES(hashlib.sha256(KEY.encode()).digest()), modes.CBC(iv))
    sealed = locker.encryptor()
    raw = iv + sealed.update(plain) + sealed.finalize()
    return json.dumps({"encrypt": base64.b64encode(raw).decode()}).encode()


def feishu_headers(body: bytes, *, at: float | None = None, key: str = KEY) -> dict[str, str]:
    stamp = str(int(time.time() if at is None else at))
    return {"x-lark-request-timestamp": stamp, "x-lark-request-nonce": "n",
            "x-lark-signature": feishu.signature(stamp, "n", key, body)}  # fmt: skip


def a_message(token: str = "vt", sender: str = "user") -> dict[str, Any]:
    return {
        "schema": "2.0",
        "header": {"event_id": "fe1", "event_type": "im.message.receive_v1", "token": token},
        "event": {
            "sender": {"sender_type": sender},
            "message": {"message_id": "om_1", "chat_id": "oc_1", "message_type": "text",
                        "content": '{"text": "@_user_1 A10 够吗"}'},
        },
    }  # fmt: skip


def test_feishu_signature_is_that_of_the_documented_formula() -> None:
    expected = hashlib.sha256(b"1" + b"n" + b"k" + b"{}").hexdigest()
    assert feishu.signature("1", "n", "k", b"{}") == expected


def test_feishu_message_is_answered_once_as_a_card(client: TestClient, platform: Platform) -> None:
    body = encrypted(a_message())
    for _ in range(2):
        reply = client.post("/feishu/events", content=body, headers=feishu_headers(body))
        assert reply.status_code == 200
    (sent,) = platform.wait_for("reply")
    assert sent["_auth"] == "Bearer t-1"
    assert sent["uuid"] == "fe1"
    card = json.loads(sent["content"])
    assert "A10 够吗" in card["elements"][0]["content"]
    assert card["header"]["template"] == "green"


def test_feishu_challenge_is_answered(client: TestClient) -> None:
    body = encrypted({"type": "url_verification", "challenge": "c1", "token": "vt"})
    assert client.post("/feishu/events", content=body).json() == {"challenge": "c1"}


FeishuCase = Callable[[], tuple[bytes, dict[str, str]]]


def _plain_body() -> tuple[bytes, dict[str, str]]:
    body = json.dumps(a_message()).encode()
    return body, feishu_headers(body)


def _wrong_key() -> tuple[bytes, dict[str, str]]:
    body = encrypted(a_message())
    return body, feishu_headers(body, key="other")


def _stale() -> tuple[bytes, dict[str, str]]:
    body = encrypted(a_message())
    return body, feishu_headers(body, at=time.time() - 7200)


def _wrong_token() -> tuple[bytes, dict[str, str]]:
    body = encrypted(a_message(token="no"))
    return body, feishu_headers(body)


def _unsigned() -> tuple[bytes, dict[str, str]]:
    return encrypted(a_message()), {}


def _garbage() -> tuple[bytes, dict[str, str]]:
    body = b'{"encrypt": "AAAA"}'
    return body, feishu_headers(body)


def _not_json() -> tuple[bytes, dict[str, str]]:
    return b"\xff", feishu_headers(b"\xff")


def _list() -> tuple[bytes, dict[str, str]]:
    return b"[]", feishu_headers(b"[]")


@pytest.mark.parametrize(
    "case",
    [_plain_body, _wrong_key, _stale, _wrong_token, _unsigned, _garbage, _not_json, _list],
)
def test_feishu_refuses_what_feishu_did_not_send(
    client: TestClient, advisor: FakeAdvisor, case: FeishuCase
) -> None:
    body, headers = case()
    assert client.post("/feishu/events", content=body, headers=headers).status_code == 401
    assert advisor.asked == []


def test_feishu_ignores_messages_of_apps() -> None:
    assert feishu.question_of(a_message(sender="app")) is None


# ---- DingTalk


def ding_headers(*, at_ms: float | None = None, secret: str = SECRET) -> dict[str, str]:
    stamp = str(int(time.time() * 1000 if at_ms is None else at_ms))
    return {"timestamp": stamp, "sign": dingtalk.signature(stamp, secret)}


def a_ding(platform_url: str, **changes: Any) -> bytes:
    return json.dumps({
        "msgtype": "text", "msgId": "m1", "text": {"content": " T4 能用 bf16 吗 "},
        "conversationId": "c", "senderStaffId": "s", "sessionWebhook": platform_url + "session",
        "sessionWebhookExpiredTime": (time.time() + 600) * 1000,
    } | changes).encode()  # fmt: skip


def test_dingtalk_message_is_answered_once_at_its_webhook(
    client: TestClient, platform: Platform
) -> None:
    body = a_ding(platform.url)
    for _ in range(2):
        reply = client.post("/dingtalk/events", content=body, headers=ding_headers())
        assert reply.status_code == 200
    (sent,) = platform.wait_for("session")
    assert "T4 能用 bf16 吗" in sent["markdown"]["text"]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"timestamp": "x", "sign": "y"},
        ding_headers(secret="other"),
        ding_headers(at_ms=(time.time() - 7200) * 1000),
        {**ding_headers(), "sign": ""},
    ],
    ids=["none", "malformed", "forged", "stale", "empty"],
)
def test_dingtalk_refuses_what_dingtalk_did_not_sign(
    client: TestClient, platform: Platform, headers: dict[str, str]
) -> None:
    reply = client.post("/dingtalk/events", content=a_ding(platform.url), headers=headers)
    assert reply.status_code == 401


@pytest.mark.parametrize(
    "changes",
    [
        {"sessionWebhook": "http://169.254.169.254/latest"},
        {"sessionWebhookExpiredTime": 1},
    ],
)
def test_dingtalk_does_not_call_foreign_or_expired_webhooks(
    client: TestClient, platform: Platform, advisor: FakeAdvisor, changes: dict[str, Any]
) -> None:
    body = a_ding(platform.url, **changes)
    client.post("/dingtalk/events", content=body, headers=ding_headers())
    time.sleep(0.3)
    assert platform.sent("session") == []
    assert advisor.asked == []


# ---- inbox and words


def test_inbox_answers_what_a_dead_process_left(tmp_path: Any) -> None:
    first = Inbox(tmp_path / "inbox.sqlite")
    first._closing.set()  # the process dies before any work is done
    assert first.take("p", "e1", {"text": "q"})
    done: list[Taken] = []
    second = Inbox(tmp_path / "inbox.sqlite")
    second.handle("p", done.append)
    until = time.monotonic() + 5
    while second.open_count() and time.monotonic() < until:
        time.sleep(0.02)
    assert [(t.event_id, t.payload) for t in done] == [("e1", {"text": "q"})]
    assert not second.take("p", "e1", {"text": "q"})
    second.close()


def test_slack_text_escapes_and_turns_tables_into_fixed_columns() -> None:
    text = slack_text(an_answer(text="# T\n**b** a<b\n\n| x | yy |\n|---|---|\n| 1 | 2 |\n"))
    assert "*T*" in text
    assert "*b* a&lt;b" in text
    assert "x  yy\n1  2" in text


def test_pieces_never_exceed_the_limit() -> None:
    text = "\n".join("x" * n for n in range(1, 60))
    found = pieces(text, 50)
    assert max(map(len, found)) <= 50
    assert "".join(found).replace("\n", "") == text.replace("\n", "")
