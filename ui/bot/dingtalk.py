"""DingTalk: messages to a robot, answered through the message's session webhook.

DingTalk's signature covers time and secret, not the body, and it has no key that makes a send
idempotent: an answer whose sending broke off is not sent again (at most once). A button cannot
call us: its `dtmd` link makes the client send a message in the name of whoever pressed it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import anyio.to_thread
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from ui.bot import reply_url
from ui.bot.inbox import Inbox, NotDelivered, Note, Undeliverable
from ui.bot.store import Taken
from ui.bot.words import (
    ask,
    buttons,
    headline,
    listed_table,
    need_line,
    parts_of,
    within_bytes,
)  # fmt: skip
from ui.config import ServiceSettings
from ui.http.protection import error_body
from ui.turn import Adviser
from ui.wording import Language

if TYPE_CHECKING:
    from agent import Answer

PLATFORM = "dingtalk"
FRESH_MS = 3_600_000
_STAMP = re.compile(r"[0-9]{1,15}")
_TEXT_BYTES = 16_000
"""Of Markdown and buttons; DingTalk takes messages of 20,000 bytes."""
_SEND = "dtmd://dingtalkclient/sendMessage?content="
_LONGEST_REPEATED = 300
"""Characters of a question that a link repeats."""
_MARKS: dict[Language, str] = {"zh": "[中文] ", "en": "[English] "}
"""Before a question: the language in which it is to be answered."""
_BUSY = frozenset({-1, 130101, 660026, 410100})
"""Codes of `errcode` for too many messages or a busy system."""
_BUSY_WAIT_S = 60.0


def signature(timestamp: str, app_secret: str) -> str:
    """What the `sign` header must be."""
    text = f"{timestamp}\n{app_secret}".encode()
    return base64.b64encode(hmac.new(app_secret.encode(), text, hashlib.sha256).digest()).decode()


def is_genuine(headers: Any, app_secret: str) -> bool:
    """True when the request is signed with the app's secret and within an hour of now."""
    stamp, given = headers.get("timestamp", ""), headers.get("sign", "")
    if not _STAMP.fullmatch(stamp) or abs(time.time() * 1000 - int(stamp)) > FRESH_MS:
        return False
    return hmac.compare_digest(given.encode(), signature(stamp, app_secret).encode())


def question_of(message: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Id and question of a message; None for what is not answered."""
    content = message.get("text")
    if message.get("msgtype") != "text" or not isinstance(content, dict):
        return None
    text = str(content.get("content") or "").strip()
    if not text or not message.get("msgId") or not message.get("sessionWebhook"):
        return None
    language = next((lang for lang, mark in _MARKS.items() if text.startswith(mark)), None)
    text = text.removeprefix(_MARKS[language]).strip() if language else text
    who = message.get("senderStaffId") or message.get("senderId")
    return str(message["msgId"]), {
        "text": text,
        "language": language,
        "thread": f"{message.get('conversationId')}:{who}",
        "reply_to": str(message["sessionWebhook"]),
        "until_ms": message.get("sessionWebhookExpiredTime"),
    }


def build_dingtalk(settings: ServiceSettings, advisor: Adviser, inbox: Inbox) -> APIRouter | None:
    """The route /dingtalk/events; None when no app secret is set."""
    secret = settings.secret("dingtalk_app_secret")
    if not secret:
        return None
    inbox.add(PLATFORM, DingTalkBot(advisor, settings.dingtalk_reply_origins))
    router = APIRouter(include_in_schema=False)

    @router.post("/dingtalk/events")
    async def receive(request: Request) -> JSONResponse:
        if not is_genuine(request.headers, secret):
            words = "Refused: the signature is wrong or old."
            return JSONResponse(error_body("authentication_error", words), 401)
        try:
            message = json.loads(await request.body())
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            words = "Refused: the body is not a JSON object."
            return JSONResponse(error_body("invalid_request_error", words), 400)
        found = question_of(message)
        if found is not None and not reply_url.is_of(
            found[1]["reply_to"], settings.dingtalk_reply_origins
        ):
            words = "Refused: sessionWebhook is not a URL of DingTalk's."
            return JSONResponse(error_body("invalid_request_error", words), 400)
        if found is not None:
            await anyio.to_thread.run_sync(inbox.take, PLATFORM, *found)
        return JSONResponse({})

    return router


class DingTalkBot:
    """Answers what the inbox holds, each at most once."""

    def __init__(self, advisor: Adviser, reply_origins: tuple[str, ...]) -> None:
        self._advisor = advisor
        self._origins = reply_origins

    def prepare(self, taken: Taken, note: Note) -> dict[str, Any]:
        """The answer as a card with buttons; as Markdown where there is nothing to press."""
        asked = taken.payload
        answer = ask(self._advisor, asked, thread=f"dingtalk:{asked['thread']}")
        return a_message(answer) if isinstance(answer, str) else message_of(asked["text"], answer)

    def deliver(self, taken: Taken, message: dict[str, Any]) -> None:
        """Sends it while the session lasts."""
        until = taken.payload.get("until_ms")
        if taken.in_doubt:
            raise Undeliverable("a send broke off, and DingTalk would show a second one twice")
        if isinstance(until, int | float) and until <= time.time() * 1000:
            raise Undeliverable("the session has ended")
        reply = reply_url.send(taken.payload["reply_to"], message, origins=self._origins)
        code = reply.get("errcode", 0)
        if code in _BUSY:
            raise NotDelivered(f"errcode {code}", wait_s=_BUSY_WAIT_S)
        if code != 0:
            raise Undeliverable(f"errcode {code}")


def a_message(
    text: str, *, title: str = "Xuanka", links: Sequence[tuple[str, str]] = ()
) -> dict[str, Any]:
    """A message of Markdown; with links, (label, what pressing sends), a card with buttons."""
    found = [{"title": label, "actionURL": _SEND + quote(sent, safe="")} for label, sent in links]
    limit = _TEXT_BYTES - len(json.dumps(found, ensure_ascii=False).encode())
    body = {"title": title, "text": within_bytes(text, limit)}
    if not found:
        return {"msgtype": "markdown", "markdown": body}
    return {"msgtype": "actionCard", "actionCard": {**body, "btnOrientation": "1", "btns": found}}


def message_of(question: str, answer: Answer) -> dict[str, Any]:
    """The answer with what may be asked next; a question in the other language is marked so."""
    title, text = markdown_of(answer)
    links = [
        (b.label, (_MARKS[b.language] if b.language != answer.language else "") + b.question)
        for b in buttons(question, answer)
        if len(b.question) <= _LONGEST_REPEATED
    ]
    return a_message(text, title=title, links=links)


def markdown_of(answer: Answer) -> tuple[str, str]:
    """Title and text; tables become lists, which is what DingTalk can draw."""
    parts = [p if isinstance(p, str) else listed_table(p) for p in parts_of(answer.text)]
    title = headline(answer)
    top = [f"#### {title}" if title else "", need_line(answer)]
    return title or "Xuanka", "\n\n".join(part for part in [*top, *parts] if part)
