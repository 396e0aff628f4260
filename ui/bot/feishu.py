"""Feishu: messages to the bot and pressed buttons, answered as a card in reply to the message.

The send call carries the event's id as `uuid`: Feishu itself drops a second send of the same
event within an hour, so a kill between sending and writing down does not answer twice. Requests
are read in the order signature, time, body, so that nothing unsigned is decrypted but the
challenge.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import re
import threading
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import anyio.to_thread
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from ui.bot import reply_url
from ui.bot.feishu_card import a_card, card_of, is_press, press_reply, pressed_question
from ui.bot.inbox import Inbox, NotDelivered, Note, Undeliverable
from ui.bot.store import Taken
from ui.bot.words import ask
from ui.config import ServiceSettings
from ui.http.protection import error_body
from ui.turn import Adviser

if TYPE_CHECKING:
    import httpx

log = logging.getLogger("xuanka.feishu")
PLATFORM = "feishu"
FRESH_S = 3600
_FRESH_UNSIGNED_S = 8 * 3600
"""Without a signature only the event's own time is known, and Feishu repeats for six hours."""
_AT = re.compile(r"@_user_\d+\s*")
_STAMP = re.compile(r"[0-9]{1,17}")
_WAIT = frozenset({99991400, 230020, 11232})
_BAD_TOKEN = frozenset({99991661, 99991663, 99991664, 99991665, 99991668})
_FOR_GOOD = frozenset({230001, 230002, 230006, 230011, 230013, 230025, 230027, 230028, 230050,
                       230099, 230110})  # fmt: skip


class Refused(Exception):
    """A request that did not come from the platform (401), or cannot be read (400)."""

    def __init__(self, reason: str, *, status: int = 401) -> None:
        super().__init__(reason)
        self.status = status


def signature(timestamp: str, nonce: str, encrypt_key: str, body: bytes) -> str:
    """What X-Lark-Signature must be."""
    return hashlib.sha256((timestamp + nonce + encrypt_key).encode() + body).hexdigest()


def decrypt(encrypted: str, encrypt_key: str) -> bytes:
    """The body within `encrypt`: AES-256-CBC, key = sha256 of the encrypt key, iv in front.

    Raises:
        Refused: If it cannot be decrypted.
    """
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    from cryptography.hazmat.primitives.padding import PKCS7

    try:
        raw = base64.b64decode(encrypted, validate=True)
        key = hashlib.sha256(encrypt_key.encode()).digest()
        opener = Cipher(algorithms.AES(key), modes.CBC(raw[:16])).decryptor()
        padded = opener.update(raw[16:]) + opener.finalize()
        unpadder = PKCS7(128).unpadder()
        return unpadder.update(padded) + unpadder.finalize()
    except ValueError as error:
        raise Refused("the encrypted body cannot be read") from error


def opened(body: bytes, headers: Any, settings: ServiceSettings) -> dict[str, Any]:
    """The event within a request, checked.

    Raises:
        Refused: If signature, token, time or form are not those of the platform.
    """
    encrypt_key = settings.secret("feishu_encrypt_key")
    is_signed = encrypt_key is not None and "x-lark-signature" in headers
    if encrypt_key is not None and is_signed:
        _check_signature(body, headers, encrypt_key)
    event = _parsed(body)
    if encrypt_key is not None:
        event = _unsealed(event, encrypt_key, is_signed=is_signed)
    _check_token(event, settings)
    if not is_signed and event.get("type") != "url_verification":
        _check_event_time(event)
    return event


def _check_signature(body: bytes, headers: Any, encrypt_key: str) -> None:
    stamp = headers.get("x-lark-request-timestamp", "")
    wanted = signature(stamp, headers.get("x-lark-request-nonce", ""), encrypt_key, body)
    if not hmac.compare_digest(headers["x-lark-signature"].encode(), wanted.encode()):
        raise Refused("the signature is wrong")
    if not _STAMP.fullmatch(stamp) or abs(time.time() - int(stamp)) > FRESH_S:
        raise Refused("the request is too old")


def _unsealed(outer: dict[str, Any], encrypt_key: str, *, is_signed: bool) -> dict[str, Any]:
    """The event within `encrypt`; of what is not signed only a challenge, else one refusal."""
    if not isinstance(outer.get("encrypt"), str):
        raise Refused("the body is not encrypted")
    if is_signed:
        return _parsed(decrypt(outer["encrypt"], encrypt_key))
    try:
        event = _parsed(decrypt(outer["encrypt"], encrypt_key))
    except Refused:
        event = {}
    if event.get("type") != "url_verification":  # why is not said: it would help to decrypt
        raise Refused("the signature is missing")
    return event


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        event = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refused("the body is not JSON", status=400) from error
    if not isinstance(event, dict):
        raise Refused("the body is not an object", status=400)
    return event


def _check_token(event: dict[str, Any], settings: ServiceSettings) -> None:
    wanted = settings.secret("feishu_verification_token")
    if wanted is None:
        return
    header = event.get("header")
    given = header.get("token") if isinstance(header, dict) else event.get("token")
    if not isinstance(given, str) or not hmac.compare_digest(
        given.encode(errors="replace"), wanted.encode()
    ):
        raise Refused("the token is wrong")


def _check_event_time(event: dict[str, Any]) -> None:
    header = event.get("header")
    made = str(header.get("create_time") or "") if isinstance(header, dict) else ""
    seconds = int(made) / (1e6 if len(made) > 14 else 1e3) if _STAMP.fullmatch(made) else 0.0
    if abs(time.time() - seconds) > _FRESH_UNSIGNED_S:
        raise Refused("the event is too old")


def question_of(event: dict[str, Any]) -> dict[str, Any] | None:
    """What a message asks; None for what is not answered: apps, files, groups without a mention.

    Raises:
        Refused: If a text message's content cannot be read.
    """
    header, body = event.get("header"), event.get("event")
    if not isinstance(header, dict) or not isinstance(body, dict):
        return None
    message, sender = body.get("message"), body.get("sender")
    if header.get("event_type") != "im.message.receive_v1" or not isinstance(message, dict):
        return None
    if not isinstance(sender, dict) or sender.get("sender_type") != "user":
        return None
    if message.get("message_type") != "text" or not message.get("message_id"):
        return None
    is_group = message.get("chat_type") == "group"
    if is_group and not message.get("mentions"):
        return None
    content = _parsed(str(message.get("content") or "{}").encode(errors="replace"))
    text = _AT.sub("", str(content.get("text") or "")).strip()
    if not text:
        return None
    root = message.get("root_id") or (message["message_id"] if is_group else None)
    thread = ":".join(str(part) for part in (message.get("chat_id"), root) if part)
    return {"text": text, "message_id": str(message["message_id"]), "thread": thread}


def build_feishu(settings: ServiceSettings, advisor: Adviser, inbox: Inbox) -> APIRouter | None:
    """The route /feishu/events; None when the app is not configured.

    A verification token or an encrypt key is needed: without one anybody could post events.
    """
    app_secret = settings.secret("feishu_app_secret")
    guarded = settings.secret("feishu_verification_token") or settings.secret("feishu_encrypt_key")
    if not settings.feishu_app_id or not app_secret or not guarded:
        return None
    sender = Sender(settings.feishu_api_url, settings.feishu_app_id, app_secret)
    inbox.add(PLATFORM, FeishuBot(sender, advisor))
    router = APIRouter(include_in_schema=False)

    @router.post("/feishu/events")
    async def receive(request: Request) -> JSONResponse:
        try:
            event = opened(await request.body(), request.headers, settings)
            if event.get("type") == "url_verification":
                return JSONResponse({"challenge": str(event.get("challenge", ""))})
            question = pressed_question(event) if is_press(event) else question_of(event)
        except Refused as error:
            kind = "authentication_error" if error.status == 401 else "invalid_request_error"
            return JSONResponse(error_body(kind, f"Refused: {error}."), error.status)
        event_id = (event.get("header") or {}).get("event_id")
        if question is not None and isinstance(event_id, str) and event_id:
            await anyio.to_thread.run_sync(inbox.take, PLATFORM, event_id, question)
        if is_press(event):
            return JSONResponse(press_reply(is_taken=question is not None))
        return JSONResponse({"code": 0})

    return router


class Sender:
    """Calls Feishu's API with a tenant token that is renewed before it ends."""

    def __init__(self, api_url: str, app_id: str, app_secret: str) -> None:
        import httpx

        self._http = httpx.Client(base_url=api_url.rstrip("/") + "/", timeout=15)
        self._app = {"app_id": app_id, "app_secret": app_secret}
        self._token, self._ends_at = "", 0.0
        self._lock = threading.Lock()

    def _bearer(self) -> str:
        with self._lock:
            if time.monotonic() >= self._ends_at:
                reply = self._http.post("auth/v3/tenant_access_token/internal", json=self._app)
                body = reply.raise_for_status().json()
                if body.get("code") != 0:
                    raise NotDelivered(f"no tenant token: code {body.get('code')}")
                self._token = body["tenant_access_token"]
                self._ends_at = time.monotonic() + max(60, int(body.get("expire", 7200)) - 300)
            return self._token

    def reply(self, message_id: str, card: dict[str, Any], *, uuid: str) -> None:
        """Sends a card in reply to a message; a second call with the same uuid sends nothing.

        Raises:
            NotDelivered: If Feishu did not take it.
            Undeliverable: If it never will.
        """
        body = {"msg_type": "interactive", "content": json.dumps(card, ensure_ascii=False),
                "uuid": hashlib.sha256(uuid.encode()).hexdigest()[:48]}  # fmt: skip
        headers = {"Authorization": f"Bearer {self._bearer()}"}
        path = f"im/v1/messages/{quote(message_id, safe='')}/reply"
        self._judge(self._http.post(path, json=body, headers=headers))

    def _judge(self, reply: httpx.Response) -> None:
        """Feishu tells in `code` what went wrong, with whatever HTTP status."""
        try:
            code = reply.json().get("code")
        except (ValueError, AttributeError):
            code = None
        if code == 0 and reply.is_success:
            return
        if reply.status_code == 429 or code in _WAIT:
            header = reply.headers.get("x-ogw-ratelimit-reset") or reply.headers.get("retry-after")
            raise NotDelivered("asked to wait", wait_s=reply_url.wait_of(header))
        if code in _BAD_TOKEN:
            with self._lock:
                self._ends_at = 0.0
        if code in _FOR_GOOD:
            raise Undeliverable(f"code {code}")
        raise NotDelivered(f"HTTP {reply.status_code}, code {code}")


class FeishuBot:
    """Answers what the inbox holds."""

    def __init__(self, sender: Sender, advisor: Adviser) -> None:
        self._sender = sender
        self._advisor = advisor

    def prepare(self, taken: Taken, note: Note) -> dict[str, Any]:
        """The card that answers."""
        asked = taken.payload
        answer = ask(self._advisor, asked, thread=f"feishu:{asked['thread']}")
        return a_card(answer) if isinstance(answer, str) else card_of(answer, asked)

    def deliver(self, taken: Taken, message: dict[str, Any]) -> None:
        """Sends the card; the uuid makes a repeated send harmless."""
        self._sender.reply(taken.payload["message_id"], message, uuid=taken.key.event_id)
