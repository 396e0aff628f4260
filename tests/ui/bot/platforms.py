"""Slack, Feishu and DingTalk as one loopback server that checks what it gets; signed requests."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode

from tests.ui.bot.card_rules import ding_faults, feishu_faults, slack_faults

SECRET, TOKEN = "s" * 32, "xoxb-fake-token-1"
KEY, VERIFICATION = "feishu-encrypt-key", "feishu-verification"
APP_ID, APP_SECRET, TENANT = "cli_1", "feishu-app-secret", "t-tenant-1"
DING_SECRET = "d" * 32


@dataclass
class Call:
    """One request as it arrived."""

    path: str
    body: dict[str, Any]
    reply: tuple[int, dict[str, Any]] = (200, {})


@dataclass
class Fault:
    """How the next call of a name fails: a status and body, or a connection that breaks."""

    name: str
    status: int = 200
    body: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    is_kept: bool = False
    """True: the platform took the message and only its reply is lost."""


class Platforms:
    """The server. `messages` are those that a user would see."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.messages: list[dict[str, Any]] = []
        self.faults: list[Fault] = []
        self.complaints: list[str] = []
        self.delay_s = 0.0
        """How long a call takes before and after it has its effect."""
        self._uuids: dict[str, str] = {}
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers.get("content-length") or 0))
                status, body, headers = outer._serve(self.path, dict(self.headers), raw)
                if status == 0:
                    self.close_connection = True
                    self.connection.close()
                    return
                data = json.dumps(body).encode()
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def handle(self) -> None:
                try:
                    super().handle()
                except (OSError, ValueError):  # the connection broke, as some tests want
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def close(self) -> None:
        """Stops serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def calls_of(self, name: str) -> list[Call]:
        """All calls whose path ends so."""
        with self._lock:
            return [call for call in self.calls if call.path.endswith(name)]

    def settings(self) -> dict[str, Any]:
        """Service settings that lead here, all three platforms on."""
        return {
            "slack_signing_secret": SECRET, "slack_bot_token": TOKEN,
            "slack_api_url": f"{self.url}/api/", "slack_reply_origins": self.url,
            "feishu_app_id": APP_ID, "feishu_app_secret": APP_SECRET,
            "feishu_encrypt_key": KEY, "feishu_verification_token": VERIFICATION,
            "feishu_api_url": f"{self.url}/feishu/",
            "dingtalk_app_secret": DING_SECRET, "dingtalk_reply_origins": self.url,
        }  # fmt: skip

    def _serve(
        self, path: str, headers: dict[str, str], raw: bytes
    ) -> tuple[int, dict[str, Any], dict[str, str]]:
        headers = {key.lower(): value for key, value in headers.items()}
        is_json = "json" in headers.get("content-type", "")
        body = json.loads(raw) if is_json else {k: v[0] for k, v in parse_qs(raw.decode()).items()}
        path = path.split("?")[0]
        time.sleep(self.delay_s)
        with self._lock:
            fault = next((f for f in self.faults if path.endswith(f.name)), None)
            if fault is not None:
                self.faults.remove(fault)
            if fault is None or fault.is_kept:
                reply = self._answer(path, headers, body)
            if fault is not None:
                reply = (fault.status, fault.body)
            self.calls.append(Call(path, body, reply))
        time.sleep(self.delay_s)
        return *reply, (fault.headers if fault is not None else {})

    def _answer(
        self, path: str, headers: dict[str, str], body: dict[str, Any]
    ) -> tuple[int, dict[str, Any]]:
        if path.startswith("/api/"):
            if headers.get("authorization") != f"Bearer {TOKEN}":
                return 200, {"ok": False, "error": "invalid_auth"}
            return self._slack(path.removeprefix("/api/"), body)
        if path.startswith("/feishu/"):
            return self._feishu(path.removeprefix("/feishu/"), headers, body)
        self.messages.append(body)
        if path == "/response":
            return 200, {"ok": True}
        self.complaints += ding_faults(body)
        return 200, {"errcode": 0, "errmsg": "ok"}

    def _slack(self, method: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if method == "chat.postMessage":
            self.complaints += slack_faults(body)
            self.messages.append(body)
            return 200, {"ok": True, "ts": f"{1000 + len(self.messages)}.0"}
        if method in ("chat.startStream", "chat.appendStream", "chat.stopStream", "chat.update"):
            return 200, self._slack_stream(method, body)
        if method == "conversations.replies":
            found = [m for m in self.messages if m.get("thread_ts") == body["ts"]
                     and m.get("channel") == body["channel"]]  # fmt: skip
            start = int(body.get("cursor") or 0)  # one a page, so that pages must be turned
            more = {"next_cursor": str(start + 1)} if start + 1 < len(found) else {}
            page = [{"ts": m.get("ts", "0"), "bot_id": "B1", "metadata": m.get("metadata")}
                    for m in found[start : start + 1]]  # fmt: skip
            return 200, {"ok": True, "messages": page, "response_metadata": more}
        if method.startswith("assistant.threads."):
            return 200, {"ok": True}
        return 200, {"ok": False, "error": "unknown_method"}

    def _slack_stream(self, method: str, body: dict[str, Any]) -> dict[str, Any]:
        """Streamed messages: they grow until they are stopped; an update replaces all of one."""
        if len(body.get("markdown_text") or "") > 12_000:
            self.complaints.append("too much text in a stream")
        if method == "chat.startStream":
            ts = f"{2000 + len(self.messages)}.0"
            self.messages.append({**body, "ts": ts, "text": body["markdown_text"], "grows": True})
            return {"ok": True, "ts": ts}
        found = next((m for m in self.messages if m.get("ts") == body["ts"]), None)
        if found is None:
            return {"ok": False, "error": "message_not_found"}
        if method == "chat.update":
            self.complaints += ["an update of what still grows"] if found.get("grows") else []
            self.complaints += slack_faults(body)
            found.update(body)
            return {"ok": True, "ts": body["ts"]}
        if not found.get("grows"):
            return {"ok": False, "error": "message_not_in_streaming_state"}
        found["text"] += body.get("markdown_text") or ""
        found["grows"] = method == "chat.appendStream"
        return {"ok": True}

    def _feishu(
        self, path: str, headers: dict[str, str], body: dict[str, Any]
    ) -> tuple[int, dict[str, Any]]:
        if path == "auth/v3/tenant_access_token/internal":
            if body != {"app_id": APP_ID, "app_secret": APP_SECRET}:
                return 200, {"code": 10014}
            return 200, {"code": 0, "tenant_access_token": TENANT, "expire": 7200}
        if headers.get("authorization") != f"Bearer {TENANT}":
            return 400, {"code": 99991663}
        if len(json.dumps(body, ensure_ascii=False).encode()) > 30_000 or len(body["uuid"]) > 50:
            return 400, {"code": 230025}
        self.complaints += feishu_faults(json.loads(body["content"]))
        if body["uuid"] not in self._uuids:
            self._uuids[body["uuid"]] = path
            self.messages.append({**body, "path": path})
        return 200, {"code": 0, "data": {}}


# ---- requests as the platforms make them


@dataclass
class Post:
    """A request to the service."""

    path: str
    body: bytes
    headers: dict[str, str]


def slack_post(
    body: bytes, *, path: str = "/slack/events", at: float | None = None, secret: str = SECRET,
    kind: str = "application/json",
) -> Post:  # fmt: skip
    """A request signed as Slack signs."""
    stamp = str(int(time.time() if at is None else at))
    digest = hmac.new(secret.encode(), b"v0:" + stamp.encode() + b":" + body, hashlib.sha256)
    return Post(path, body, {
        "x-slack-request-timestamp": stamp, "x-slack-signature": "v0=" + digest.hexdigest(),
        "content-type": kind,
    })  # fmt: skip


def slack_event(event_id: str = "Ev1", **event: Any) -> bytes:
    """A mention, or what the changes make of it."""
    inner = {"type": "app_mention", "user": "U1", "text": "<@UBOT> hello", "channel": "C1",
             "ts": "10.0"} | event  # fmt: skip
    return json.dumps({"type": "event_callback", "event_id": event_id, "team_id": "T",
                       "api_app_id": "A", "event": inner}).encode()  # fmt: skip


def slack_command(platform_url: str, **changes: str) -> Post:
    """/xuanka as Slack sends it."""
    form = {"command": "/xuanka", "text": "A10?", "trigger_id": "t1", "channel_id": "C",
            "user_id": "U", "team_id": "T", "response_url": f"{platform_url}/response"}  # fmt: skip
    body = urlencode(form | changes).encode()
    return slack_post(body, path="/slack/commands", kind="application/x-www-form-urlencoded")


def slack_press(payload: dict[str, Any]) -> Post:
    """A pressed button as Slack sends it."""
    body = urlencode({"payload": json.dumps({"type": "block_actions", **payload})}).encode()
    return slack_post(body, path="/slack/interactive", kind="application/x-www-form-urlencoded")


def sealed(plain: bytes, *, key: str = KEY) -> bytes:
    """A body as Feishu encrypts it, by the formula of its documentation."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    from cryptography.hazmat.primitives.padding import PKCS7

    padder = PKCS7(128).padder()
    padded = padder.update(plain) + padder.finalize()
    iv = b"0123456789abcdef"
    locker = Cipher(algorithms.AES(hashlib.sha256(key.encode()).digest()), modes.CBC(iv))
    sealer = locker.encryptor()
    raw = iv + sealer.update(padded) + sealer.finalize()
    return json.dumps({"encrypt": base64.b64encode(raw).decode()}).encode()


def feishu_event(event_id: str = "fe1", **changes: Any) -> dict[str, Any]:
    """A direct message; changes go to `message` but for token, sender_type, create_time."""
    header = {"event_id": event_id, "event_type": "im.message.receive_v1",
              "token": changes.pop("token", VERIFICATION),
              "create_time": changes.pop("create_time", str(int(time.time() * 1000)))}  # fmt: skip
    sender = {"sender_type": changes.pop("sender_type", "user")}
    message = {"message_id": "om_1", "chat_id": "oc_1", "chat_type": "p2p",
               "message_type": "text", "content": '{"text": "A10 够吗"}'} | changes  # fmt: skip
    return {"schema": "2.0", "header": header, "event": {"sender": sender, "message": message}}


def feishu_press(value: object, event_id: str = "press1", **changes: Any) -> dict[str, Any]:
    """A pressed button as Feishu reports it; changes go to `context` but for token."""
    header = {"event_id": event_id, "event_type": "card.action.trigger",
              "token": changes.pop("token", VERIFICATION), "tenant_key": "k", "app_id": APP_ID,
              "create_time": str(int(time.time() * 1e6))}  # fmt: skip
    context = {"open_message_id": "om_card", "open_chat_id": "oc_1"} | changes
    return {"schema": "2.0", "header": header, "event": {
        "operator": {"tenant_key": "k", "open_id": "ou_1"}, "token": "c-update-token",
        "action": {"value": value, "tag": "button"}, "host": "im_message", "context": context,
    }}  # fmt: skip


def feishu_post(
    body: bytes, *, at: float | None = None, key: str = KEY, nonce: str = "n"
) -> Post:  # fmt: skip
    """A request signed as Feishu signs."""
    stamp = str(int(time.time() if at is None else at))
    digest = hashlib.sha256((stamp + nonce + key).encode() + body).hexdigest()
    return Post("/feishu/events", body, {
        "x-lark-request-timestamp": stamp, "x-lark-request-nonce": nonce,
        "x-lark-signature": digest, "content-type": "application/json",
    })  # fmt: skip


def ding_post(
    body: bytes, *, at_ms: float | None = None, secret: str = DING_SECRET
) -> Post:  # fmt: skip
    """A request signed as DingTalk signs."""
    stamp = str(int(time.time() * 1000 if at_ms is None else at_ms))
    digest = hmac.new(secret.encode(), f"{stamp}\n{secret}".encode(), hashlib.sha256).digest()
    return Post("/dingtalk/events", body, {
        "timestamp": stamp, "sign": base64.b64encode(digest).decode(),
        "content-type": "application/json",
    })  # fmt: skip


def ding_message(platform_url: str, **changes: Any) -> bytes:
    """A message to the robot."""
    return json.dumps({
        "msgtype": "text", "msgId": "msg1==", "text": {"content": " T4 能用 bf16 吗 "},
        "conversationId": "c", "senderStaffId": "s",
        "sessionWebhook": f"{platform_url}/session?session=session-secret",
        "sessionWebhookExpiredTime": (time.time() + 600) * 1000,
    } | changes).encode()  # fmt: skip


def until(condition: Callable[[], bool], *, limit_s: float = 20.0) -> None:
    """Waits for something to become true."""
    ends = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < ends, "it did not happen"
        time.sleep(0.02)
