"""What nobody of the platforms sends is refused, each with the right status and no answer asked."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.testclient import TestClient

from agent import Settings
from tests.ui.bot.platforms import (
    Platforms,
    Post,
    ding_message,
    ding_post,
    feishu_event,
    feishu_post,
    sealed,
    slack_command,
    slack_event,
    slack_post,
    slack_press,
)
from tests.ui.fakes import FakeAdvisor
from ui.config import ServiceSettings
from ui.service import create_app

pytestmark = pytest.mark.sockets
NOW = time.time
API_TOKEN = "a" * 24
LIMIT = 4096
DEEP = b"[" * 2000
EVENT = json.dumps(feishu_event()).encode()
URL = "http://127.0.0.1:1"


def changed(post: Post, **headers: str | None) -> Post:
    """The request with headers replaced, or dropped where None."""
    kept = {
        k: v for k, v in post.headers.items() if k not in {h.replace("_", "-") for h in headers}
    }
    new = {k.replace("_", "-"): v for k, v in headers.items() if v is not None}
    return Post(post.path, post.body, {**kept, **new})


def api(body: bytes, path: str = "/v1/ask", token: str | None = API_TOKEN, **headers: str) -> Post:
    bearer = {"authorization": f"Bearer {token}"} if token is not None else {}
    return Post(path, body, {"content-type": "application/json", **bearer, **headers})


def unreadable_utf8() -> Post:
    """Bytes that are no text, under a signature that some key made."""
    post = slack_post(b"{}")
    return Post(post.path, b'{"type": "\xff"}', post.headers)


def tampered(post: Post) -> Post:
    """One byte of the body differs from what was signed."""
    return Post(post.path, post.body.replace(b"o", b"0", 1), post.headers)


CASES: Mapping[str, tuple[Callable[[], Post], int]] = {
    # Slack
    "slack forged": (lambda: slack_post(slack_event(), secret="w" * 32), 401),
    "slack stale": (lambda: slack_post(slack_event(), at=NOW() - 301), 401),
    "slack from the future": (lambda: slack_post(slack_event(), at=NOW() + 400), 401),
    "slack tampered": (lambda: tampered(slack_post(slack_event())), 401),
    "slack unsigned": (lambda: Post("/slack/events", slack_event(), {}), 401),
    "slack no time": (
        lambda: changed(slack_post(slack_event()), x_slack_request_timestamp=None), 401),
    "slack no signature": (lambda: changed(slack_post(slack_event()), x_slack_signature=None), 401),
    "slack time not a number": (
        lambda: changed(slack_post(slack_event()), x_slack_request_timestamp="now"), 401),
    "slack time of superscripts": (
        lambda: changed(slack_post(slack_event()), x_slack_request_timestamp="\xb2\xb2"), 401),
    "slack time of many digits": (
        lambda: changed(slack_post(slack_event()), x_slack_request_timestamp="9" * 5000), 401),
    "slack negative time": (
        lambda: changed(slack_post(slack_event()), x_slack_request_timestamp="-1"), 401),
    "slack later time under an old signature": (
        lambda: changed(slack_post(slack_event(), at=NOW() - 900),
                        x_slack_request_timestamp=str(int(NOW()))), 401),
    "slack signature not ascii": (
        lambda: changed(slack_post(slack_event()), x_slack_signature="v0=\xe9"), 401),
    "slack signature of another version": (
        lambda: changed(slack_post(slack_event()), x_slack_signature="v1=" + "0" * 64), 401),
    "slack bytes that are no text": (unreadable_utf8, 401),
    "slack unsigned challenge": (
        lambda: Post("/slack/events", b'{"type": "url_verification", "challenge": "x"}', {}), 401),
    "slack unsigned certificate check": (
        lambda: Post("/slack/commands", b"ssl_check=1", {}), 401),
    "slack forged command": (
        lambda: changed(slack_command(URL), x_slack_signature="v0=" + "0" * 64), 401),
    "slack malformed": (lambda: slack_post(b'{"type": '), 400),
    "slack list": (lambda: slack_post(b"[1]"), 400),
    "slack deep": (lambda: slack_post(DEEP), 400),
    "slack empty": (lambda: slack_post(b""), 400),
    "slack payload malformed": (
        lambda: slack_post(b"payload=%7B", path="/slack/interactive",
                           kind="application/x-www-form-urlencoded"), 400),
    "slack payload a list": (
        lambda: slack_post(b"payload=%5B1%5D", path="/slack/interactive",
                           kind="application/x-www-form-urlencoded"), 400),
    "slack form of many fields": (
        lambda: slack_post(b"&".join(b"a=1" for _ in range(200)), path="/slack/commands",
                           kind="application/x-www-form-urlencoded"), 400),
    "slack oversized": (lambda: slack_post(slack_event(text="x" * LIMIT)), 413),
    "slack read": (lambda: Post("GET /slack/events", b"", {}), 405),
    # Feishu
    "feishu forged": (lambda: feishu_post(sealed(EVENT), key="other"), 401),
    "feishu stale": (lambda: feishu_post(sealed(EVENT), at=NOW() - 3700), 401),
    "feishu from the future": (lambda: feishu_post(sealed(EVENT), at=NOW() + 3700), 401),
    "feishu tampered": (lambda: tampered(feishu_post(sealed(EVENT) + b" o")), 401),
    "feishu unsigned": (lambda: Post("/feishu/events", sealed(EVENT), {}), 401),
    "feishu nonce changed": (
        lambda: changed(feishu_post(sealed(EVENT)), x_lark_request_nonce="m"), 401),
    "feishu later time under an old signature": (
        lambda: changed(feishu_post(sealed(EVENT), at=NOW() - 9000),
                        x_lark_request_timestamp=str(int(NOW()))), 401),
    "feishu signature not ascii": (
        lambda: changed(feishu_post(sealed(EVENT)), x_lark_signature="\xe9"), 401),
    "feishu plain where sealed is set": (lambda: feishu_post(EVENT), 401),
    "feishu plain and unsigned": (lambda: Post("/feishu/events", EVENT, {}), 401),
    "feishu wrong token": (
        lambda: feishu_post(sealed(json.dumps(feishu_event(token="no")).encode())), 401),
    "feishu token not a text": (
        lambda: feishu_post(sealed(json.dumps(feishu_event(token=["x"])).encode())), 401),
    "feishu sealed with another key": (lambda: feishu_post(sealed(EVENT, key="other")), 401),
    "feishu half a block": (
        lambda: feishu_post(json.dumps(
            {"encrypt": base64.b64encode(b"0" * 40).decode()}).encode()), 401),
    "feishu encrypt not base64": (lambda: feishu_post(b'{"encrypt": "***"}'), 401),
    "feishu encrypt not a text": (lambda: feishu_post(b'{"encrypt": 1}'), 401),
    "feishu unsigned challenge with a wrong token": (
        lambda: Post("/feishu/events", sealed(
            b'{"type": "url_verification", "challenge": "c", "token": "no"}'), {}), 401),
    "feishu malformed": (lambda: feishu_post(b"\xff{"), 400),
    "feishu list": (lambda: feishu_post(b"[]"), 400),
    "feishu deep": (lambda: feishu_post(DEEP), 400),
    "feishu sealed text that is no JSON": (lambda: feishu_post(sealed(b"hello")), 400),
    "feishu content malformed": (
        lambda: feishu_post(sealed(json.dumps(feishu_event(content="{")).encode())), 400),
    "feishu oversized": (lambda: feishu_post(sealed(b"x" * LIMIT)), 413),
    # DingTalk
    "dingtalk forged": (lambda: ding_post(ding_message(URL), secret="other"), 401),
    "dingtalk stale": (lambda: ding_post(ding_message(URL), at_ms=(NOW() - 3700) * 1000), 401),
    "dingtalk future": (lambda: ding_post(ding_message(URL), at_ms=(NOW() + 3700) * 1000), 401),
    "dingtalk unsigned": (lambda: Post("/dingtalk/events", ding_message(URL), {}), 401),
    "dingtalk no time": (lambda: changed(ding_post(ding_message(URL)), timestamp=None), 401),
    "dingtalk empty sign": (lambda: changed(ding_post(ding_message(URL)), sign=""), 401),
    "dingtalk time of superscripts": (
        lambda: changed(ding_post(ding_message(URL)), timestamp="\xb2"), 401),
    "dingtalk time in seconds": (
        lambda: ding_post(ding_message(URL), at_ms=NOW()), 401),
    "dingtalk malformed": (lambda: ding_post(b"{"), 400),
    "dingtalk list": (lambda: ding_post(b"[]"), 400),
    "dingtalk deep": (lambda: ding_post(DEEP), 400),
    "dingtalk webhook of the cloud's metadata": (
        lambda: ding_post(ding_message("http://169.254.169.254")), 400),
    "dingtalk webhook of a look-alike": (
        lambda: ding_post(ding_message("https://oapi.dingtalk.com.evil.example")), 400),
    "dingtalk webhook behind a user name": (
        lambda: ding_post(ding_message("https://oapi.dingtalk.com@10.0.0.1")), 400),
    "dingtalk webhook without TLS": (
        lambda: ding_post(ding_message("http://oapi.dingtalk.com")), 400),
    "dingtalk oversized": (
        lambda: ding_post(ding_message(URL, text={"content": "x" * LIMIT})), 413),
    # the API
    "api no token": (lambda: api(b'{"question": "q"}', token=None), 401),
    "api wrong token": (lambda: api(b'{"question": "q"}', token="b" * 24), 401),
    "api token cut short": (lambda: api(b'{"question": "q"}', token=API_TOKEN[:-1]), 401),
    "api malformed": (lambda: api(b"{"), 422),
    "api unknown field": (lambda: api(b'{"question": "q", "x": 1}'), 422),
    "api thread of a path": (lambda: api(b'{"question": "q", "thread": "../x"}'), 422),
    "api question not a text": (lambda: api(b'{"question": ["q"]}'), 422),
    "api unknown tool": (lambda: api(b"{}", path="/v1/tools/nothing"), 404),
    "api oversized": (lambda: api(b'{"question": "' + b"x" * LIMIT + b'"}'), 413),
    "api foreign host": (lambda: api(b'{"question": "q"}', host="evil.example"), 421),
    "api host behind a port that is none": (
        lambda: api(b'{"question": "q"}', host="127.0.0.1:80@evil.example"), 421),
    "api host of a number without end": (
        lambda: api(b'{"question": "q"}', host="127.0.0.1:" + "9" * 400), 421),
    "api text that a foreign page may post": (
        lambda: api(b'{"question": "q"}', **{"content-type": "text/plain"}), 422),
    "api path written in percents": (
        lambda: api(b'{"question": "q"}', path="/%76%31/ask", token=None), 401),
    "api chat malformed": (lambda: api(b'{"messages": 1}', path="/v1/chat/completions"), 400),
    "api length that is no number": (lambda: api(b"{}", **{"content-length": "x"}), 413),
}  # fmt: skip


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One service for the whole table."""
    advisor, platforms = FakeAdvisor(), Platforms()
    values = platforms.settings() | {"dingtalk_reply_origins": "https://oapi.dingtalk.com"}
    state: Path = tmp_path_factory.mktemp("state")
    config = ServiceSettings(**values, state_dir=state, max_body_bytes=LIMIT,
                             api_tokens=f"a:{API_TOKEN}")  # fmt: skip
    app = create_app(Settings(), config=config, advisor=advisor, page=False)
    with TestClient(app, raise_server_exceptions=False) as client:
        yield SimpleNamespace(client=client, advisor=advisor, platforms=platforms)
    platforms.close()


@pytest.mark.parametrize("name", CASES)
def test_refused(served: Any, name: str) -> None:
    make, status = CASES[name]
    post = make()
    method, _, path = post.path.rpartition(" ")
    headers = {key: value.encode("latin-1") for key, value in post.headers.items()}
    reply = served.client.request(method or "POST", path, content=post.body, headers=headers)
    assert reply.status_code == status, reply.text
    assert reply.json()["error"]["message"]
    token = {"authorization": f"Bearer {API_TOKEN}"}
    assert "xuanka_bot_events_open 0.0" in served.client.get("/metrics", headers=token).text
    assert served.advisor.asked == []
    assert served.platforms.calls == []


def test_table_is_as_long_as_promised() -> None:
    for face in ("slack", "feishu", "dingtalk", "api"):
        assert sum(name.startswith(face) for name in CASES) >= 10


def test_a_button_of_deep_json_and_a_foreign_reply_url_are_refused_at_once(
    post: Callable[[Post], Any], advisor: FakeAdvisor
) -> None:
    for refused in (
        slack_press({"actions": [{"action_id": "ask_1", "value": "[" * 50_000}],
                     "trigger_id": "t", "user": {"id": "U"}}),
        slack_command(URL, response_url="https://evil.example/collect"),
    ):  # fmt: skip
        assert post(refused).status_code == 400
    assert advisor.asked == []


@pytest.mark.parametrize("path", ["/slack/events", "/feishu/events", "/dingtalk/events"])
def test_a_bots_refusal_carries_the_requests_id(post: Callable[[Post], Any], path: str) -> None:
    reply = post(Post(path, b"{}", {}))
    assert reply.status_code == 401
    assert reply.json()["error"]["request_id"] == reply.headers["x-request-id"]
