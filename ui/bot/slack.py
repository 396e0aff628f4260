"""Slack: mentions, direct messages, assistant threads, /xuanka and buttons, answered in the thread.

Bolt checks signatures and timestamps and answers url_verification. An event is in the inbox
before Slack hears that it was taken. Its id travels in the metadata of the answer: when it is not
known whether a send arrived, the thread is searched for the id before the answer is sent again.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from ui.bot import reply_url
from ui.bot.inbox import Inbox, NotDelivered, Note, Undeliverable
from ui.bot.slack_blocks import answer_blocks, context, escaped, section
from ui.bot.slack_stream import Stream, finish
from ui.bot.store import Taken
from ui.bot.words import ask
from ui.config import ServiceSettings
from ui.http.protection import error_body
from ui.turn import Adviser
from ui.wording import examples

if TYPE_CHECKING:
    from slack_bolt import App
    from slack_sdk import WebClient
    from slack_sdk.errors import SlackApiError
    from slack_sdk.signature import SignatureVerifier

log = logging.getLogger("xuanka.slack")
PLATFORM = "slack"
METADATA = "xuanka_answer"
_MENTION = re.compile(r"<@[^>]+>")
_LINK = re.compile(r"<(?:https?://|mailto:|tel:)[^>|]*\|([^>]+)>|<(https?://[^>|]+)>")
_STAMP = re.compile(r"[0-9]{1,12}")
_FOR_GOOD = frozenset({
    "channel_not_found", "not_in_channel", "is_archived", "thread_not_found", "message_not_found",
    "cannot_reply_to_message", "restricted_action", "invalid_blocks", "invalid_blocks_format",
    "msg_blocks_too_long", "msg_too_long", "no_text", "invalid_arguments", "user_not_found",
})  # fmt: skip
_UNKNOWN = frozenset({"internal_error", "fatal_error", "request_timeout", "service_unavailable"})
_PROMPTS = 4
_OF_FORM = (KeyError, IndexError, TypeError, AttributeError, ValueError, RecursionError)
"""What Bolt raises on fields that it expects and does not find."""


def build_slack(settings: ServiceSettings, advisor: Adviser, inbox: Inbox) -> APIRouter | None:
    """Routes under /slack; None when no signing secret and token are set."""
    secret, token = settings.secret("slack_signing_secret"), settings.secret("slack_bot_token")
    if not secret or not token:
        return None
    from slack_bolt import App
    from slack_bolt.authorization import AuthorizeResult
    from slack_sdk import WebClient
    from slack_sdk.signature import SignatureVerifier

    # No retries within the client: a send that broke off may have arrived.
    client = WebClient(token, base_url=settings.slack_api_url, timeout=15, retry_handlers=[])
    # With the token told, taking an event in needs no call to Slack.
    bolt = App(
        signing_secret=secret, client=WebClient(base_url=settings.slack_api_url),
        token_verification_enabled=False,
        authorize=lambda enterprise_id, team_id: AuthorizeResult(
            enterprise_id=enterprise_id, team_id=team_id, bot_token=token
        ),
    )  # fmt: skip
    _listen(bolt, inbox, settings)
    inbox.add(PLATFORM, SlackBot(client, advisor, settings.slack_reply_origins))
    return _routes(bolt, SignatureVerifier(secret))


def _routes(bolt: App, verifier: SignatureVerifier) -> APIRouter:
    from slack_bolt import BoltRequest

    async def receive(request: Request) -> Response:
        body = await request.body()
        # Bolt parses before it verifies, and raises on what no Slack sends: those go first.
        if not _is_signed(verifier, request, body):
            words = "Refused: the signature is wrong or old."
            return JSONResponse(error_body("authentication_error", words), 401)
        is_json = "json" in request.headers.get("content-type", "")
        if not _is_form_or_object(body, is_json=is_json):
            words = "Refused: the body is neither a JSON object nor a form."
            return JSONResponse(error_body("invalid_request_error", words), 400)
        try:
            bolt_request = BoltRequest(
                body=body.decode(), query=request.url.query, headers=dict(request.headers)
            )
            # In a thread: Bolt waits for the inbox to have written the event down.
            reply = await anyio.to_thread.run_sync(bolt.dispatch, bolt_request)
        except _OF_FORM as error:
            log.warning("a request could not be read: %s", type(error).__name__)
            words = "Refused: a field that Slack always sends is missing or of another kind."
            return JSONResponse(error_body("invalid_request_error", words), 400)
        headers = {key: values[0] for key, values in reply.headers.items()}
        return Response(reply.body or "", reply.status, headers=headers)

    router = APIRouter(include_in_schema=False)
    for path in ("/slack/events", "/slack/commands", "/slack/interactive"):
        router.add_api_route(path, receive, methods=["POST"], name=path)
    return router


def _is_signed(verifier: SignatureVerifier, request: Request, body: bytes) -> bool:
    stamp = request.headers.get("x-slack-request-timestamp", "")
    given = request.headers.get("x-slack-signature", "")
    if not _STAMP.fullmatch(stamp) or not given.isascii():
        return False
    try:
        return bool(verifier.is_valid(body, stamp, given))
    except UnicodeDecodeError:
        return False


def _is_form_or_object(body: bytes, *, is_json: bool) -> bool:
    from urllib.parse import parse_qs

    text = body.decode()
    try:
        if is_json or text.lstrip()[:1] in ("{", "["):
            return isinstance(json.loads(text), dict)
        fields = parse_qs(text, keep_blank_values=True, max_num_fields=100)
        payload = fields.get("payload")
        return bool(fields) and (payload is None or isinstance(json.loads(payload[0]), dict))
    except (ValueError, RecursionError):
        return False


def is_ours(body: dict[str, Any], settings: ServiceSettings) -> bool:
    """False for another app or workspace, where the settings name ours."""
    team = body.get("team_id") or (body.get("team") or {}).get("id")
    teams, app = settings.slack_team_ids, settings.slack_app_id
    return (not teams or team in teams) and (app is None or body.get("api_app_id") == app)


def _listen(bolt: App, inbox: Inbox, settings: ServiceSettings) -> None:
    from slack_bolt import BoltResponse

    @bolt.error
    def failed(error: Exception) -> BoltResponse:
        """Bolt reads fields that a request of Slack's always has; others need not have them."""
        log.warning("a request could not be taken in: %s", type(error).__name__)
        return BoltResponse(status=400 if isinstance(error, _OF_FORM) else 503, body="")

    @bolt.use
    def take(body: dict[str, Any], next: Callable[[], Any]) -> Any:
        if not is_ours(body, settings):
            return BoltResponse(status=403, body="")
        url = body.get("response_url")
        if url is not None and not reply_url.is_of(str(url), settings.slack_reply_origins):
            words = "Refused: response_url is not a URL of Slack's."
            return BoltResponse(status=400, body=error_body("invalid_request_error", words))
        if body.get("type") != "event_callback":
            return next()
        event, event_id = body.get("event"), body.get("event_id")
        question = question_of(event) if isinstance(event, dict) else None
        if question is not None and isinstance(event_id, str) and event_id:
            inbox.take(PLATFORM, event_id, question)
        return BoltResponse(status=200, body="")

    @bolt.command(re.compile("/.*"))
    def command(ack: Callable[..., Any], body: dict[str, Any]) -> None:
        if body.get("trigger_id") and body.get("response_url"):
            inbox.take(PLATFORM, f"command:{body['trigger_id']}", {
                "text": str(body.get("text") or "").strip(), "user": body.get("user_id"),
                "channel": body.get("channel_id"), "response_url": body["response_url"],
                "is_quoted": True,
            })  # fmt: skip
        ack()

    @bolt.action(re.compile("^ask_"))
    def pressed(ack: Callable[..., Any], body: dict[str, Any]) -> None:
        question = pressed_question(body)
        if question is not None:
            inbox.take(PLATFORM, f"action:{body['trigger_id']}", question)
        ack()


def question_of(event: dict[str, Any]) -> dict[str, Any] | None:
    """What an event asks and where the answer goes; None for what is not answered.

    Other apps, bots, edits, deletions and messages of channels without a mention are left alone.
    """
    kind = event.get("type")
    if kind == "assistant_thread_started":
        thread = event.get("assistant_thread")
        if not isinstance(thread, dict) or not thread.get("channel_id"):
            return None
        return {"greet": True, "channel": thread["channel_id"], "thread": thread.get("thread_ts")}
    is_direct = kind == "message" and event.get("channel_type") == "im"
    if kind != "app_mention" and not is_direct:
        return None
    is_foreign = any(event.get(key) for key in ("bot_id", "app_id", "bot_profile"))
    if is_foreign or event.get("subtype") or event.get("edited") or not event.get("user"):
        return None
    text = _LINK.sub(lambda m: m[1] or m[2], _MENTION.sub("", str(event.get("text") or "")))
    text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").strip()
    if not text or not event.get("channel") or not event.get("ts"):
        return None
    return {"text": text, "channel": event["channel"], "is_direct": is_direct,
            "thread": event.get("thread_ts") or event["ts"], "since": event["ts"]}  # fmt: skip


def pressed_question(body: dict[str, Any]) -> dict[str, Any] | None:
    """What a pressed button asks; None for a button that is not ours."""
    actions, container = body.get("actions"), body.get("container") or {}
    action = actions[0] if isinstance(actions, list) and actions else {}
    try:
        asked = json.loads(action.get("value") or "null")
    except ValueError:
        return None
    if not isinstance(asked, dict) or not asked.get("text") or not body.get("trigger_id"):
        return None
    language = asked.get("language") if asked.get("language") in ("zh", "en") else None
    message = body.get("message") or {}
    question = {"text": str(asked["text"]), "language": language, "is_quoted": True,
                "channel": (body.get("channel") or {}).get("id"),
                "user": (body.get("user") or {}).get("id")}  # fmt: skip
    if container.get("is_ephemeral") or not message.get("ts"):
        url = body.get("response_url")
        return {**question, "response_url": url} if url else None
    return {**question, "thread": message.get("thread_ts") or message["ts"],
            "since": message["ts"]}  # fmt: skip


class SlackBot:
    """Answers what the inbox holds.

    Args:
        client: Speaks to Slack as the bot.
        advisor: Answers.
        reply_origins: Origins that a response URL may have.
    """

    def __init__(self, client: WebClient, advisor: Adviser, reply_origins: tuple[str, ...]) -> None:
        self._client = client
        self._advisor = advisor
        self._origins = reply_origins

    def prepare(self, taken: Taken, note: Note) -> dict[str, Any]:
        """Text and blocks that answer; the prompts for a new assistant thread."""
        asked = taken.payload
        if asked.get("greet"):
            prompts = [{"title": row["zh"][:70], "message": row["zh"]} for row in examples()]
            return {"prompts": prompts[:_PROMPTS]}
        self._show_working(asked)
        thread = asked.get("thread") or asked.get("user")
        is_grown = asked.get("is_direct") and not asked.get("response_url")
        stream = Stream(self._client, asked, note, taken.message) if is_grown else None
        name = f"slack:{asked['channel']}:{thread}"
        answer = ask(self._advisor, asked, thread=name, stream=stream)
        if isinstance(answer, str):
            text, blocks = answer, [section(escaped(answer))]
        else:
            text, blocks = answer.text, answer_blocks(asked["text"], answer)
        if asked.get("is_quoted"):
            user = asked.get("user")
            who = f"<@{user}>: " if user else ""
            blocks.insert(0, context(who + escaped(asked["text"][:500])))
        message = {"text": escaped(text)[:3000], "blocks": blocks}
        return message | ({"stream": stream.ts} if stream is not None and stream.ts else {})

    def deliver(self, taken: Taken, message: dict[str, Any]) -> None:
        """Sends the answer unless the thread has it already."""
        from slack_sdk.errors import SlackApiError

        if taken.payload.get("response_url"):
            if taken.in_doubt:
                raise Undeliverable("a response URL offers no way to see whether it was answered")
            reply_url.send(taken.payload["response_url"], message, origins=self._origins)
            return
        try:
            self._send(taken, message)
        except SlackApiError as error:
            raise _meant(error) from None

    def _send(self, taken: Taken, message: dict[str, Any]) -> None:
        asked = taken.payload
        if "prompts" in message:
            self._client.assistant_threads_setSuggestedPrompts(
                channel_id=asked["channel"], thread_ts=asked["thread"], prompts=message["prompts"]
            )
            return
        event_id = taken.key.event_id
        metadata = {"event_type": METADATA, "event_payload": {"event_id": event_id}}
        if "stream" in message:
            whole = {k: v for k, v in message.items() if k != "stream"} | {"metadata": metadata}
            finish(self._client, asked["channel"], message["stream"], whole)
            return
        if taken.in_doubt and self._was_sent(asked, event_id):
            return
        self._client.chat_postMessage(
            channel=asked["channel"], thread_ts=asked["thread"], **message,
            metadata=metadata, unfurl_links=False, unfurl_media=False,
        )  # fmt: skip

    def _was_sent(self, asked: dict[str, Any], event_id: str) -> bool:
        """Looks through what the thread got since the question."""
        cursor: str | None = None
        while True:
            found = self._client.conversations_replies(
                channel=asked["channel"], ts=asked["thread"], oldest=asked["since"],
                include_all_metadata=True, limit=100, cursor=cursor,
            )  # fmt: skip
            for message in found.get("messages") or []:
                payload = (message.get("metadata") or {}).get("event_payload") or {}
                if payload.get("event_id") == event_id:
                    return True
            cursor = (found.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                return False

    def _show_working(self, asked: dict[str, Any]) -> None:
        from slack_sdk.errors import SlackApiError

        if not asked.get("is_direct"):
            return
        try:
            self._client.assistant_threads_setStatus(
                channel_id=asked["channel"], thread_ts=asked["thread"], status="is working it out…"
            )
        except (SlackApiError, OSError) as error:  # no assistant thread, or no Slack: no matter
            log.debug("no status shown: %s", type(error).__name__)


def _meant(error: SlackApiError) -> Exception:
    """What a refusal of Slack's means for the event."""
    response = error.response
    if response.status_code == 429:
        header = {k.lower(): v for k, v in response.headers.items()}.get("retry-after")
        return NotDelivered("asked to wait", wait_s=reply_url.wait_of(header))
    code = str(response.get("error"))
    if code in _FOR_GOOD:
        return Undeliverable(code)
    if code in _UNKNOWN or response.status_code >= 500:
        return ConnectionError(code)
    return NotDelivered(code)
