"""An answer as chat platforms can show it, and the buttons that go with it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ui.wording import Language, say

if TYPE_CHECKING:
    from agent import Answer

_TABLE = re.compile(r"(?:^\|.*\|[ \t]*\n?)+", re.MULTILINE)
_MARK = {"fits": "🟢", "tight": "🟡", "does_not_fit": "🔴", "depends": "🔵"}
_NEXT: dict[Language, tuple[tuple[str, str], ...]] = {
    "en": (
        ("QLoRA instead", "What about QLoRA?"),
        ("Cheaper", "Is there a cheaper option?"),
        ("中文", "请用中文再说一遍"),
    ),
    "zh": (
        ("换成 QLoRA", "换成 QLoRA 呢?"),
        ("更便宜的", "有更便宜的吗?"),
        ("English", "Please say that again in English"),
    ),
}


class Button(NamedTuple):
    """A label, and the question that pressing it asks."""

    label: str
    question: str


def headline(answer: Answer) -> str:
    """The verdict with a sign and a word; empty when the answer has none."""
    if answer.verdict not in _MARK:
        return ""
    return f"{_MARK[answer.verdict]} {say(f'verdict_{answer.verdict}', answer.language)}"


def buttons(answer: Answer) -> tuple[Button, ...]:
    """What may be asked next with one press."""
    has_memory = answer.memory is not None
    rows = [Button(*row) for row in _NEXT[answer.language]]
    return tuple(rows if has_memory else rows[2:])


def slack_text(answer: Answer) -> str:
    """Markdown as Slack's mrkdwn: bold with one star, tables in a fixed font, links by angle."""
    text = _TABLE.sub(lambda found: "```\n" + _plain_table(found[0]) + "\n```\n", answer.text)
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"\[([^\]]+)\]\((https?://[^)\s]+)\)", r"<\2|\1>", text)
    text = re.sub(r"^#+ (.+)$", r"*\1*", text, flags=re.MULTILINE)
    return re.sub(r"\*\*(.+?)\*\*", r"*\1*", text)


def _plain_table(source: str) -> str:
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")]
            for line in source.strip().splitlines()]  # fmt: skip
    rows = [row for row in rows if not all(set(cell) <= set("-: ") for cell in row)]
    columns = max(len(row) for row in rows)
    widths = [max((_width(row[i]) for row in rows if i < len(row)), default=0)
              for i in range(columns)]  # fmt: skip
    return "\n".join(
        "  ".join(cell + " " * (widths[i] - _width(cell)) for i, cell in enumerate(row)).rstrip()
        for row in rows
    )


def _width(text: str) -> int:
    return sum(2 if ord(c) > 0x2E7F else 1 for c in text)


def pieces(text: str, limit: int) -> list[str]:
    r"""The text in pieces of at most `limit` characters, cut at line ends where that is possible.

    >>> pieces("ab\ncd", 4)
    ['ab', 'cd']
    """
    found: list[str] = []
    rest = text.strip()
    while len(rest) > limit:
        cut = rest.rfind("\n", 1, limit)
        cut = cut if cut > 0 else limit
        found.append(rest[:cut])
        rest = rest[cut:].lstrip("\n")
    return [*found, rest] if rest else found
