"""What the platforms' messages have in common: the asking, the verdict, buttons, tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from ui.charts import gib
from ui.turn import Adviser, words_for
from ui.wording import Language, say

if TYPE_CHECKING:
    from agent import Answer
    from ui.bot.slack_stream import Stream

_TABLE = re.compile(r"((?:^[ \t]*\|.*\|[ \t]*(?:\n|\Z))+)", re.MULTILINE)
_MARK = {"fits": "🟢", "tight": "🟡", "does_not_fit": "🔴", "depends": "🔵"}
_LONGEST_REPEATED = 1500
"""Characters of a question that a button may carry."""
_NEXT: dict[Language, tuple[tuple[str, str], ...]] = {
    "en": (
        ("QLoRA instead", "What about QLoRA?"),
        ("Cheaper", "Which instance is the cheapest for this?"),
    ),
    "zh": (("换成 QLoRA", "换成 QLoRA 呢?"), ("更便宜的", "租哪个实例最便宜?")),
}
_OTHER: dict[Language, tuple[str, Language]] = {"en": ("中文", "zh"), "zh": ("English", "en")}
_TRAINED = ("full", "lora")
"""Methods in whose place QLoRA may be asked about."""


class Button(NamedTuple):
    """A label, the question that pressing it asks, and the language of its answer."""

    label: str
    question: str
    language: Language


def language_of_text(text: str) -> Language:
    """The language of a question, for words that are not the advisor's.

    >>> language_of_text("A10 够吗"), language_of_text("A10?")
    ('zh', 'en')
    """
    return "zh" if any("\u4e00" <= c <= "\u9fff" for c in text) else "en"


def ask(
    advisor: Adviser, asked: dict[str, Any], *, thread: str, stream: Stream | None = None
) -> Answer | str:
    """The answer to a question of an event, or in words why there is none."""
    question = str(asked.get("text") or "").encode(errors="replace").decode()
    language = asked.get("language")
    try:
        if stream is not None:
            return stream.ask(advisor, question, thread, language)
        return advisor.ask(question, thread=thread, language=language)
    except Exception as error:  # the outer face: the asker hears of it, the log has the trace
        return words_for(error, language or language_of_text(question))


def headline(answer: Answer) -> str:
    """The verdict with a sign and a word; empty when the answer has none."""
    if answer.verdict not in _MARK:
        return ""
    return f"{_MARK[answer.verdict]} {say(f'verdict_{answer.verdict}', answer.language)}"


def need_line(answer: Answer) -> str:
    """What is needed and what is usable, in one line; empty when no memory was estimated."""
    memory = answer.memory
    if memory is None:
        return ""
    low, high = gib(memory.low_bytes), gib(memory.high_bytes)
    line = say("needs", answer.language, range=low if low == high else f"{low}–{high}",
               scope=say(f"scope_{memory.scope}", answer.language))  # fmt: skip
    if memory.usable_bytes is not None:
        line += " · " + say("usable", answer.language, size=gib(memory.usable_bytes))
    return line


def buttons(question: str, answer: Answer) -> tuple[Button, ...]:
    """What may be asked with one press; the last asks the same in the other language."""
    lang = answer.language
    rows: list[Button] = []
    if answer.memory is not None:
        qlora, cheaper = (Button(*row, lang) for row in _NEXT[lang])
        rows += [qlora] if answer.request.get("method") in _TRAINED else []
        rows += [cheaper] if answer.intent != "recommend_instance" else []
    label, other = _OTHER[lang]
    if 0 < len(question) <= _LONGEST_REPEATED:
        rows.append(Button(label, question, other))
    return tuple(rows)


def parts_of(markdown: str) -> list[str | list[list[str]]]:
    """The text cut at its tables: prose as text, a table as its rows of cells."""
    found: list[str | list[list[str]]] = []
    for part in _TABLE.split(markdown):
        if _TABLE.fullmatch(part):
            found.append(_rows(part))
        elif part.strip():
            found.append(part.strip())
    return found


def _rows(source: str) -> list[list[str]]:
    lines = [line.strip().removeprefix("|").removesuffix("|") for line in source.splitlines()]
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)] for line in lines if line]
    return [row for row in rows if not all(set(cell) <= set("-: ") for cell in row)]


def plain_table(rows: list[list[str]]) -> str:
    """Rows in columns of a fixed font; Chinese characters count as two.

    >>> print(plain_table([["方法", "GiB"], ["LoRA", "17.2"]]))
    方法  GiB
    LoRA  17.2
    """
    columns = max((len(row) for row in rows), default=0)
    widths = [max(_width(row[i]) for row in rows if i < len(row)) for i in range(columns)]
    return "\n".join(
        "  ".join(cell + " " * (widths[i] - _width(cell)) for i, cell in enumerate(row)).rstrip()
        for row in rows
    )


def _width(text: str) -> int:
    return sum(2 if ord(c) > 0x2E7F else 1 for c in text)


def listed_table(rows: list[list[str]]) -> str:
    """Rows as lines of a list, for platforms that draw no tables.

    >>> listed_table([["method", "GiB"], ["LoRA", "17.2"]])
    '- **LoRA** · GiB 17.2'
    """
    heads = rows[0] if rows else []
    lines = []
    for first, *others in rows[1:]:
        told = [f"{head} {cell}" for head, cell in zip(heads[1:], others, strict=False)]
        lines.append(" · ".join([f"- **{first}**", *told]))
    return "\n".join(lines)


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


def within_bytes(text: str, limit: int) -> str:
    """The text, cut at a line end to at most `limit` bytes of UTF-8; a mark tells of the cut."""
    if len(text.encode()) <= limit:
        return text
    kept = text.encode()[: limit - 8].decode(errors="ignore")
    return kept[: kept.rfind("\n") if "\n" in kept else None] + "\n\n…"
