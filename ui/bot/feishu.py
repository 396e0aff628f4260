"""Feishu: messages to the bot, answered as a card in reply to the message.

The send call carries the event's id as `uuid`: Feishu itself drops a second send of the same
event within an hour, so a kill between sending and writing down does not answer twice.
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

import anyio.to_thread
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from ui.bot.inbox import Inbox, Taken
from ui.bot.words import headline
from ui.config import ServiceSettings
from ui.http.protection import error_body
from ui.turn import Adviser, words_for
from ui.wording import language_of

if TYPE_CHECKING:
    from agent import Answer

log = logging.getLogger("xuanka.feishu")
PLATFORM = "feishu"
FRESH_S = 3600
_AT = re.compile(r"@_user_\d+\s*")
_COLOUR = {"fits": "green", "tight": "orange", "does_not_fit": "red"}


class Refused(Exception):
    """A request that did not come from the platform, or is not one."""


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
    if encrypt_key is not None and "x-lark-signature" in headers:
        stamp = headers.get("x-lark-request-timestamp", "")
        given = headers["x-lark-signature"]
        wanted = signature(stamp, headers.get("x-lark-request-nonce", ""), encrypt_key, body)
        if not hmac.compare_digest(given.encode(), wanted.encode()):
            raise Refused("the signature is wrong")
        if not stamp.isdigit() or abs(time.time() - int(stamp)) > FRESH_S:
            raise Refused("the request is too old")
    event = _parsed(body)
    if encrypt_key is not None:
        if not isinstance(event.get("encrypt"), str):
            raise Refused("the body is not encrypted")
        event = _parsed(decrypt(event["encrypt"], encrypt_key))
        if event.get("type") != "url_verification" and "x-lark-signature" not in headers:
            raise Refused("the signature is missing")
    _check_token(event, settings)
    return event


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        event = json.loads(body)
    except ValueError as error:
        raise Refused("the body is not JSON") from error
    if not isinstance(event, dict):
        raise Refused("the body is not an object")
    return event


def _check_token(event: dict[str, Any], settings: ServiceSettings) -> None:
    wanted = settings.secret("feishu_verification_token")
    if wanted is None:
        return
    header = event.get("header")
    given = header.get("token") if isinstance(header, dict) else event.get("token")
    if not hmac.compare_digest(str(given or "").encode(), wanted.encode()):
        raise Refused("the token is wrong")


def question_of(event: dict[str, Any]) -> dict[str, Any] | None:
    """What a message asks; None for what is not answered."""
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
    content = _parsed(str(message.get("content") or "{}").encode())
    text = _AT.sub("", str(content.get("text") or "")).strip()
    return {"text": text, "message_id": message["message_id"],
            "chat": message.get("chat_id")} if text else None  # fmt: skip


def build_feishu(settings: ServiceSettings, advisor: Adviser, inbox: Inbox) -> APIRouter | None:
    """The route /feishu/events; None when the app is not configured.

    A verification token or an encrypt key is needed: without one anybody could post events.
    """
    app_secret = settings.secret("feishu_app_secret")
    guarded = settings.secret("feishu_verification_token") or settings.secret("feishu_encrypt_key")
    if not settings.feishu_app_id or not app_secret or not guarded:
        return None
    sender = Sender(settings.feishu_api_url, settings.feishu_app_id, app_secret)
    inbox.handle(PLATFORM, Replier(sender, advisor))
    router = APIRouter(include_in_schema=False)

    @router.post("/feishu/events")
    async def receive(request: Request) -> JSONResponse:
        try:
            event = opened(await request.body(), request.headers, settings)
            if event.get("type") == "url_verification":
                return JSONResponse({"challenge": str(event.get("challenge", ""))})
            question = question_of(event)
        except Refused as error:
            body = error_body("invalid_request_error", f"Refused: {error}.")
            return JSONResponse(body, 401)
        event_id = str((event.get("header") or {}).get("event_id") or "")
        if question is not None and event_id:
            await anyio.to_thread.run_sync(inbox.take, PLATFORM, event_id, question)
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
                    raise ConnectionError(f"Feishu gave no token: code {body.get('code')}")
                self._token = body["tenant_access_token"]
                self._ends_at = time.monotonic() + max(60, int(body.get("expire", 7200)) - 300)
            return self._token

    def reply(self, message_id: str, card: dict[str, Any], *, uuid: str) -> None:
        """Sends a card in reply to a message; a second call with the same uuid sends nothing."""
        body = {"msg_type": "interactive", "content": json.dumps(card), "uuid": uuid[:50]}
        headers = {"Authorization": f"Bearer {self._bearer()}"}
        reply = self._http.post(f"im/v1/messages/{message_id}/reply", json=body, headers=headers)
        answer = reply.raise_for_status().json()
        if answer.get("code") != 0:
            raise ConnectionError(f"Feishu refused the card: code {answer.get('code')}")


class Replier:
    """Answers what the inbox holds."""

    def __init__(self, sender: Sender, advisor: Adviser) -> None:
        self._sender = sender
        self._advisor = advisor

    def __call__(self, taken: Taken) -> None:
        """Sends the answer as a card."""
        asked = taken.payload
        try:
            card = card_of(self._advisor.ask(asked["text"], thread=f"feishu:{asked['chat']}"))
        except Exception as error:
            said = words_for(error, language_of("zh"))
            card = {"elements": [{"tag": "markdown", "content": said}]}
        self._sender.reply(asked["message_id"], card, uuid=taken.event_id)


def card_of(answer: Answer) -> dict[str, Any]:
    """The answer as an interactive card."""
    card: dict[str, Any] = {
        "config": {"wide_screen_mode": True},
        "elements": [{"tag": "markdown", "content": answer.text[:20_000]}],
    }
    if headline(answer):
        title = {"tag": "plain_text", "content": headline(answer)}
        card["header"] = {"title": title, "template": _COLOUR.get(answer.verdict, "blue")}
    return card
