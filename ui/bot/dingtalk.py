"""DingTalk: messages to an outgoing robot, answered through the message's session webhook.

DingTalk has no key that makes a send idempotent, so an answer whose sending was cut short is not
sent again: at most once.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import time
from typing import Any
from urllib.parse import urlsplit

import anyio.to_thread
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from ui.bot.inbox import Inbox, Taken
from ui.bot.words import headline
from ui.config import ServiceSettings
from ui.http.protection import error_body
from ui.turn import Adviser, words_for
from ui.wording import language_of

log = logging.getLogger("xuanka.dingtalk")
PLATFORM = "dingtalk"
FRESH_MS = 3_600_000


def signature(timestamp: str, app_secret: str) -> str:
    """What the `sign` header must be."""
    text = f"{timestamp}\n{app_secret}".encode()
    return base64.b64encode(hmac.new(app_secret.encode(), text, hashlib.sha256).digest()).decode()


def is_genuine(headers: Any, app_secret: str) -> bool:
    """True when the request is signed with the app's secret and not older than an hour."""
    stamp, given = headers.get("timestamp", ""), headers.get("sign", "")
    if not stamp.isdigit() or abs(time.time() * 1000 - int(stamp)) > FRESH_MS:
        return False
    return hmac.compare_digest(given.encode(), signature(stamp, app_secret).encode())


def question_of(body: bytes) -> tuple[str, dict[str, Any]] | None:
    """Id and question of a message; None for what is not answered."""
    try:
        message = json.loads(body)
    except ValueError:
        return None
    if not isinstance(message, dict) or message.get("msgtype") != "text":
        return None
    content = message.get("text")
    text = str(content.get("content") or "").strip() if isinstance(content, dict) else ""
    if not text or not message.get("msgId") or not message.get("sessionWebhook"):
        return None
    return str(message["msgId"]), {
        "text": text,
        "chat": f"{message.get('conversationId')}:{message.get('senderStaffId')}",
        "reply_to": str(message["sessionWebhook"]),
        "until_ms": message.get("sessionWebhookExpiredTime"),
    }


def build_dingtalk(settings: ServiceSettings, advisor: Adviser, inbox: Inbox) -> APIRouter | None:
    """The route /dingtalk/events; None when no app secret is set."""
    secret = settings.secret("dingtalk_app_secret")
    if not secret:
        return None
    inbox.handle(PLATFORM, Replier(advisor, settings.reply_hosts))
    router = APIRouter(include_in_schema=False)

    @router.post("/dingtalk/events")
    async def receive(request: Request) -> JSONResponse:
        if not is_genuine(request.headers, secret):
            body = error_body("authentication_error", "Refused: the signature is wrong or old.")
            return JSONResponse(body, 401)
        found = question_of(await request.body())
        if found is not None:
            await anyio.to_thread.run_sync(inbox.take, PLATFORM, *found)
        return JSONResponse({})

    return router


class Replier:
    """Answers what the inbox holds, each at most once."""

    def __init__(self, advisor: Adviser, reply_hosts: tuple[str, ...]) -> None:
        self._advisor = advisor
        self._hosts = set(reply_hosts)

    def __call__(self, taken: Taken) -> None:
        """Sends the answer as Markdown."""
        import httpx

        asked = taken.payload
        if taken.attempt > 1 or not self._may_call(asked):
            return
        try:
            answer = self._advisor.ask(asked["text"], thread=f"dingtalk:{asked['chat']}")
            title, text = headline(answer) or "Xuanka", answer.text
        except Exception as error:
            title, text = "Xuanka", words_for(error, language_of("zh"))
        markdown = {"title": title, "text": f"#### {title}\n\n{text}"[:18_000]}
        httpx.post(asked["reply_to"], json={"msgtype": "markdown", "markdown": markdown},
                   timeout=15).raise_for_status()  # fmt: skip

    def _may_call(self, asked: dict[str, Any]) -> bool:
        if (urlsplit(asked["reply_to"]).hostname or "") not in self._hosts:
            log.warning("a reply URL names a host that is not DingTalk's; it is not called")
            return False
        until = asked.get("until_ms")
        return not isinstance(until, int | float) or until > time.time() * 1000
