"""Answers as Feishu's interactive cards (JSON 2.0), and what pressing their buttons asks.

A button of such a card stands in the body by itself, and its `behaviors` name what happens: a
callback `card.action.trigger` that carries our value back. Cards can be pressed for 30 days.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ui.bot.words import Button, buttons, headline, need_line, within_bytes
from ui.wording import say

if TYPE_CHECKING:
    from agent import Answer

_CARD_BYTES = 24_000
"""Of text and buttons; Feishu takes cards of 30 KB."""
_LONGEST_QUOTE = 300
"""Characters of a pressed question that are shown above its answer."""
_COLOUR = {"fits": "green", "tight": "orange", "does_not_fit": "red"}


def a_card(text: str, *, asked: str = "", rows: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    """A card of Markdown; in cards of schema 2.0 it may hold tables.

    Args:
        text: Markdown.
        asked: A question that nobody wrote into the chat: it is shown above, as plain text.
        rows: Elements below the text.
    """
    top = [_quoted(asked)] if asked else []
    used = len(json.dumps([*top, *rows], ensure_ascii=False).encode())
    body = {"tag": "markdown", "content": within_bytes(text, _CARD_BYTES - used)}
    return {"schema": "2.0", "config": {"update_multi": True},
            "body": {"elements": [*top, body, *rows]}}  # fmt: skip


def card_of(answer: Answer, asked: dict[str, Any]) -> dict[str, Any]:
    """The answer as an interactive card: the verdict as its heading in its colour, and buttons."""
    pressed = str(asked["text"]) if asked.get("is_quoted") else ""
    found = buttons(str(asked["text"]), answer)
    card = a_card(answer.text, asked=pressed, rows=_row(found, str(asked["thread"])))
    if headline(answer):
        card["header"] = {"title": {"tag": "plain_text", "content": headline(answer)},
                          "template": _COLOUR.get(answer.verdict, "blue")}  # fmt: skip
        if need_line(answer):
            card["header"]["subtitle"] = {"tag": "plain_text", "content": need_line(answer)}
    return card


def _quoted(asked: str) -> dict[str, Any]:
    return {"tag": "div", "text": {"tag": "plain_text", "content": asked[:_LONGEST_QUOTE],
                                   "text_color": "grey"}}  # fmt: skip


def _row(found: tuple[Button, ...], thread: str) -> tuple[dict[str, Any], ...]:
    """The buttons side by side; on a narrow screen they wrap."""
    if not found:
        return ()
    columns = [
        {"tag": "column", "width": "auto", "elements": [{
            "tag": "button", "text": {"tag": "plain_text", "content": button.label},
            "behaviors": [{"type": "callback", "value": {
                "text": button.question, "language": button.language, "thread": thread}}],
        }]}
        for button in found
    ]  # fmt: skip
    return ({"tag": "column_set", "flex_mode": "flow", "columns": columns},)


def pressed_question(event: dict[str, Any]) -> dict[str, Any] | None:
    """What a pressed button asks; None for one that is not ours, or of another chat's card."""
    header, body = event.get("header"), event.get("event")
    if not isinstance(header, dict) or not isinstance(body, dict) or not is_press(event):
        return None
    action, context = body.get("action"), body.get("context")
    if not isinstance(action, dict) or not isinstance(context, dict):
        return None
    asked, card, chat = (
        action.get("value"),
        context.get("open_message_id"),
        context.get("open_chat_id"),
    )
    if not isinstance(asked, dict) or not isinstance(card, str) or not isinstance(chat, str):
        return None
    text, thread = asked.get("text"), asked.get("thread")
    if not isinstance(text, str) or not isinstance(thread, str) or not text or not card:
        return None
    if thread.partition(":")[0] != chat:  # a card that was forwarded into another chat
        return None
    language = asked.get("language") if asked.get("language") in ("zh", "en") else None
    return {"text": text, "language": language, "thread": thread, "message_id": card,
            "is_quoted": True}  # fmt: skip


def is_press(event: dict[str, Any]) -> bool:
    """True for a pressed button, of whatever card."""
    header = event.get("header")
    return isinstance(header, dict) and header.get("event_type") == "card.action.trigger"


def press_reply(*, is_taken: bool) -> dict[str, Any]:
    """What the client shows to whoever pressed, until the answer is there."""
    key = "pressed" if is_taken else "pressed_other"
    shown = {"zh_cn": say(key, "zh"), "en_us": say(key, "en")}
    return {"toast": {"type": "info", "content": shown["zh_cn"], "i18n": shown}}
