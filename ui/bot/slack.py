"""Slack: mentions, direct messages, /xuanka and buttons, answered in their thread.

Bolt checks signatures and timestamps and answers url_verification. An event is in the inbox
before Slack hears that it was taken, so its retries are dropped and a kill loses none. The event's
id travels in the metadata of the answer: after a restart the thread is searched for it before
the answer is sent again.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio.to_thread
from fastapi import APIRouter, Request, Response
from slack_bolt import App, BoltRequest, BoltResponse
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_handlers import RateLimitErrorRetryHandler
from slack_sdk.webhook import WebhookClient

from ui.bot.inbox import Inbox, Taken
from ui.bot.words import buttons, headline, pieces, slack_text
from ui.config import ServiceSettings
from ui.turn import Adviser, words_for
from ui.wording import Language

if TYPE_CHECKING:
    from agent import Answer

log = logging.getLogger("xuanka.slack")
PLATFORM = "slack"
METADATA = "xuanka_answer"
_MENTION = re.compile(r"<@[^>]+>")
_SECTION = 2900
_PROMPTS = ("7B 微调能在 A10 上跑吗?", "Does Llama 3 70B fit on 2x A100 80G at 8k context?",
            "Qwen2.5-14B LoRA 需要多大显存?")  # fmt: skip


def build_slack(settings: ServiceSettings, advisor: Adviser, inbox: Inbox) -> APIRouter | None:
    """Routes under /slack; None when no signing secret and token are set."""
    secret, token = settings.secret("slack_signing_secret"), settings.secret("slack_bot_token")
    if not secret or not token:
        return None
    client = WebClient(token, base_url=settings.slack_api_url, timeout=15)
    client.retry_handlers.append(RateLimitErrorRetryHandler(max_retry_count=3))
    bolt = App(signing_secret=secret, client=client, token_verification_enabled=False)
    _listen(bolt, inbox)
    inbox.handle(PLATFORM, Replier(client, advisor, settings.reply_hosts))
    router = APIRouter(include_in_schema=False)

    async def receive(request: Request) -> Response:
        stamp = request.headers.get("x-slack-request-timestamp", "")
        try:
            body = (await request.body()).decode()
        except UnicodeDecodeError:
            stamp = ""
        if not stamp.isdecimal():  # Bolt raises on these in place of refusing them
            return Response('{"error": "invalid request"}', 401, media_type="application/json")
        bolt_request = BoltRequest(
            body=body, query=request.url.query, headers=dict(request.headers)
        )
        # In a thread: Bolt writes to the inbox and may ask Slack who this bot is.
        reply = await anyio.to_thread.run_sync(bolt.dispatch, bolt_request)
        headers = {key: values[0] for key, values in reply.headers.items()}
        return Response(reply.body or "", reply.status, headers=headers)

    for path in ("/slack/events", "/slack/commands", "/slack/interactive"):
        router.add_api_route(path, receive, methods=["POST"], name=path)
    return router


def _listen(bolt: Any, inbox: Inbox) -> None:
    @bolt.use  # type: ignore[untyped-decorator]  # Bolt's decorators are untyped
    def take(body: dict[str, Any], next: Callable[[], Any]) -> Any:
        if body.get("type") != "event_callback":
            return next()
        question = question_of(body.get("event") or {})
        if question is not None and body.get("event_id"):
            inbox.take(PLATFORM, str(body["event_id"]), question)
        return BoltResponse(status=200, body="")

    @bolt.command(re.compile("/.*"))  # type: ignore[untyped-decorator]
    def command(ack: Callable[..., Any], body: dict[str, Any]) -> None:
        asked = str(body.get("text") or "").strip()
        inbox.take(PLATFORM, f"command:{body.get('trigger_id')}", {
            "text": asked, "channel": body.get("channel_id"), "thread": None,
            "response_url": body.get("response_url"), "user": body.get("user_id"),
        })  # fmt: skip
        ack()

    @bolt.action(re.compile("^ask_"))  # type: ignore[untyped-decorator]
    def pressed(ack: Callable[..., Any], body: dict[str, Any]) -> None:
        action, message = body["actions"][0], body.get("message") or {}
        inbox.take(PLATFORM, f"action:{body.get('trigger_id')}", {
            "text": action.get("value", ""), "channel": (body.get("channel") or {}).get("id"),
            "thread": message.get("thread_ts") or message.get("ts"),
        })  # fmt: skip
        ack()


def question_of(event: dict[str, Any]) -> dict[str, Any] | None:
    """What an event asks and where the answer goes; None for what is not answered.

    Other apps, bots, edits, deletions and messages of channels without a mention are left alone.
    """
    kind = event.get("type")
    if kind == "assistant_thread_started":
        thread = event.get("assistant_thread") or {}
        return {"greet": True, "channel": thread.get("channel_id"),
                "thread": thread.get("thread_ts")}  # fmt: skip
    is_direct = kind == "message" and event.get("channel_type") == "im"
    if kind != "app_mention" and not is_direct:
        return None
    if event.get("bot_id") or event.get("app_id") or event.get("subtype") or event.get("edited"):
        return None
    text = _MENTION.sub("", str(event.get("text") or "")).strip()
    text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    if not text or not event.get("channel"):
        return None
    return {"text": text, "channel": event["channel"], "is_direct": is_direct,
            "thread": event.get("thread_ts") or event.get("ts")}  # fmt: skip


class Replier:
    """Answers what the inbox holds."""

    def __init__(self, client: WebClient, advisor: Adviser, reply_hosts: tuple[str, ...]) -> None:
        self._client = client
        self._advisor = advisor
        self._hosts = set(reply_hosts)

    def __call__(self, taken: Taken) -> None:
        """Sends the answer unless the thread has it already."""
        asked = taken.payload
        if asked.get("greet"):
            self._client.assistant_threads_setSuggestedPrompts(
                channel_id=asked["channel"], thread_ts=asked["thread"],
                prompts=[{"title": prompt[:70], "message": prompt} for prompt in _PROMPTS],
            )  # fmt: skip
            return
        if asked.get("response_url"):
            self._respond(asked)
            return
        if taken.attempt > 1 and self._was_sent(asked, taken.event_id):
            return
        self._show_working(asked)
        text, blocks = self._message(asked, f"slack:{asked['channel']}:{asked['thread']}")
        payload = {"event_id": taken.event_id}
        self._client.chat_postMessage(
            channel=asked["channel"], thread_ts=asked["thread"], text=text, blocks=blocks,
            metadata={"event_type": METADATA, "event_payload": payload},
            unfurl_links=False, unfurl_media=False,
        )  # fmt: skip

    def _message(self, asked: dict[str, Any], thread: str) -> tuple[str, list[dict[str, Any]]]:
        try:
            answer = self._advisor.ask(asked["text"], thread=thread)
        except Exception as error:
            said = words_for(error, _language(asked["text"]))
            return said, [_section(said)]
        return slack_text(answer)[:3000], answer_blocks(answer)

    def _respond(self, asked: dict[str, Any]) -> None:
        url = str(asked["response_url"])
        if (urlsplit(url).hostname or "") not in self._hosts:
            log.warning("a response URL names a host that is not Slack's; it is not called")
            return
        thread = f"slack:{asked['channel']}:{asked.get('user')}"
        text, blocks = self._message(asked, thread)
        reply = WebhookClient(url, timeout=15).send(text=text, blocks=blocks)
        if reply.status_code >= 500:
            raise ConnectionError(f"Slack answered {reply.status_code}")

    def _was_sent(self, asked: dict[str, Any], event_id: str) -> bool:
        found = self._client.conversations_replies(
            channel=asked["channel"], ts=asked["thread"], include_all_metadata=True, limit=200
        )
        return any(
            (message.get("metadata") or {}).get("event_payload", {}).get("event_id") == event_id
            for message in found.get("messages") or []
        )

    def _show_working(self, asked: dict[str, Any]) -> None:
        if not asked.get("is_direct"):
            return
        try:
            self._client.assistant_threads_setStatus(
                channel_id=asked["channel"], thread_ts=asked["thread"], status="is working it out…"
            )
        except SlackApiError as error:  # not an assistant thread
            log.debug("no status shown: %s", error.response.get("error"))


def _language(text: str) -> Language:
    return "zh" if any("\u4e00" <= c <= "\u9fff" for c in text) else "en"


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def answer_blocks(answer: Answer) -> list[dict[str, Any]]:
    """The answer as Block Kit: verdict, text, buttons, who answered."""
    blocks: list[dict[str, Any]] = []
    if headline(answer):
        blocks.append({"type": "header", "text": {"type": "plain_text", "text": headline(answer)}})
    blocks += [_section(piece) for piece in pieces(slack_text(answer), _SECTION)[:40]]
    elements = [
        {"type": "button", "action_id": f"ask_{i}", "value": button.question,
         "text": {"type": "plain_text", "text": button.label}}
        for i, button in enumerate(buttons(answer))
    ]  # fmt: skip
    if elements:
        blocks.append({"type": "actions", "elements": elements})
    if answer.degraded:
        note = {"type": "mrkdwn", "text": answer.degraded[:300]}
        blocks.append({"type": "context", "elements": [note]})
    return blocks
