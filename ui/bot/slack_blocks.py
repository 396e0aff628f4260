"""An answer in Slack's Block Kit."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from ui.bot.words import buttons, headline, need_line, parts_of, pieces, plain_table

if TYPE_CHECKING:
    from agent import Answer

_SECTION = 2900
"""Characters in a section; Slack takes 3,000."""
_MOST_CHARACTERS = 11_000
"""Characters of all sections; Slack refuses messages a little above 13,000."""
_FENCE = "```"


def escaped(text: str) -> str:
    """Text that Slack shows as it is: no mention, no link.

    >>> escaped("<!channel> & co")
    '&lt;!channel&gt; &amp; co'
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def mrkdwn(markdown: str) -> str:
    r"""Markdown as Slack's mrkdwn: one star for bold, links by angle, headings bold.

    >>> mrkdwn("# T\n**b** [x](https://e.org/a)")
    '*T*\n*b* <https://e.org/a|x>'
    """
    text = escaped(markdown)
    text = re.sub(r"\[([^\]]+)\]\((https?://[^)\s|]+)\)", r"<\2|\1>", text)
    text = re.sub(r"^#+ +(.+)$", r"*\1*", text, flags=re.MULTILINE)
    text = re.sub(r"\*\*(.+?)\*\*", _bold, text)
    return re.sub(r"^(\s*)[-*] ", r"\1• ", text, flags=re.MULTILINE)


def _bold(found: re.Match[str]) -> str:
    """Bold; Slack sees it at the edge of a word only, which Chinese text does not show."""
    start, end, text = found.start(), found.end(), found.string
    before, after = text[start - 1 : start], text[end : end + 1]
    joined = ["\u200b" if c.isalnum() or c > "\x7f" else "" for c in (before, after)]
    return f"{joined[0]}*{found[1]}*{joined[1]}"


def sections(markdown: str) -> list[str]:
    """The text in sections; a table is in a fixed font and never shares one with prose."""
    found: list[str] = []
    for part in parts_of(markdown):
        if isinstance(part, str):
            found += pieces(mrkdwn(part), _SECTION)
        else:
            grid = escaped(plain_table(part)).replace("**", "").replace(_FENCE, "'''")
            found += [f"{_FENCE}\n{piece}\n{_FENCE}" for piece in pieces(grid, _SECTION - 8)]
    return _bounded(found)


def _bounded(texts: list[str]) -> list[str]:
    kept: list[str] = []
    for text in texts:
        if sum(map(len, kept)) + len(text) > _MOST_CHARACTERS:
            return [*kept, "…"]
        kept.append(text)
    return kept


def section(text: str) -> dict[str, Any]:
    """A section block."""
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def context(text: str) -> dict[str, Any]:
    """A line in small print."""
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": text[:_SECTION]}]}


def answer_blocks(question: str, answer: Answer) -> list[dict[str, Any]]:
    """The answer: verdict, need, text, tables, buttons, why it is degraded."""
    blocks: list[dict[str, Any]] = []
    if headline(answer):
        blocks.append({"type": "header", "text": {"type": "plain_text", "text": headline(answer)}})
    if need_line(answer):
        blocks.append(context(escaped(need_line(answer))))
    blocks += [section(text) for text in sections(answer.text)]
    elements = [
        {"type": "button", "action_id": f"ask_{i}",
         "value": json.dumps({"text": button.question, "language": button.language},
                             ensure_ascii=False),
         "text": {"type": "plain_text", "text": button.label}}
        for i, button in enumerate(buttons(question, answer))
    ]  # fmt: skip
    if elements:
        blocks.append({"type": "actions", "elements": elements})
    if answer.degraded:
        blocks.append(context(escaped(answer.degraded[:300])))
    return blocks
