"""What the platforms would refuse about a message, by their documentation."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

FEISHU_TAGS = {"markdown", "div", "column_set", "column", "button"}
"""Of cards of JSON 2.0, those that we use; `action`, the row of 1.0, is refused there."""


def slack_faults(body: dict[str, Any]) -> list[str]:
    """What Slack would refuse about a message."""
    wrong = [] if body.get("text") else ["no text"]
    blocks = body.get("blocks", [])
    wrong += ["too many blocks"] if len(blocks) > 50 else []
    limits = {"section": 3000, "header": 150}
    for block in blocks:
        kind = block["type"]
        if kind in limits and not 1 <= len(block["text"]["text"]) <= limits[kind]:
            wrong.append(f"{kind} of {len(block['text']['text'])}")
        for element in block.get("elements", []) if kind == "actions" else []:
            if len(element["value"]) > 2000 or len(element["text"]["text"]) > 75:
                wrong.append("button too long")
    return wrong


def feishu_buttons(card: dict[str, Any]) -> list[dict[str, Any]]:
    """The buttons of a card, wherever they stand."""
    return [element for element in _elements(card) if element["tag"] == "button"]


def feishu_faults(card: dict[str, Any]) -> list[str]:
    """What Feishu would refuse about a card, or draw otherwise than meant."""
    wrong = [] if card.get("schema") == "2.0" else ["not a card of JSON 2.0"]
    wrong += ["elements at the root"] if "elements" in card else []
    for element in _elements(card):
        if element["tag"] not in FEISHU_TAGS:
            wrong.append(f"unknown tag {element['tag']}")
    for button in feishu_buttons(card):
        behaviors = button.get("behaviors") or [{}]
        if button["text"]["tag"] != "plain_text" or not 1 <= len(button["text"]["content"]) <= 100:
            wrong.append("label of a button")
        if behaviors[0].get("type") != "callback" or not isinstance(behaviors[0]["value"], dict):
            wrong.append("button that calls nobody")
    return wrong


def _elements(card: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    rest = list(card["body"]["elements"])
    while rest:
        element = rest.pop(0)
        found.append(element)
        rest += [*element.get("elements", ()), *element.get("columns", ())]
    return found


def ding_faults(body: dict[str, Any]) -> list[str]:
    """What DingTalk would refuse about a message."""
    wrong = ["too long"] if len(json.dumps(body, ensure_ascii=False).encode()) > 20_000 else []
    kind = body.get("msgtype")
    if kind not in ("markdown", "actionCard"):
        return [*wrong, f"msgtype {kind}"]
    part = body[kind]
    wrong += [name for name in ("title", "text") if not part.get(name)]
    if kind == "actionCard":
        wrong += ["a card without buttons"] if not part.get("btns") else []
        wrong += ["btnOrientation"] if part.get("btnOrientation") not in ("0", "1") else []
        wrong += [b["title"] for b in part.get("btns", ()) if not _sent_by(b["actionURL"])]
    return wrong


def ding_sent(message: dict[str, Any], label: str) -> str:
    """The text that pressing a button makes the client send."""
    buttons = {b["title"]: b["actionURL"] for b in message["actionCard"]["btns"]}
    return _sent_by(buttons[label])


def _sent_by(url: str) -> str:
    scheme = "dtmd://dingtalkclient/sendMessage?content="
    return unquote(url.removeprefix(scheme)) if url.startswith(scheme) and url.isascii() else ""
