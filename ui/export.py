"""An answer to take along: Markdown, JSON, CSV of its offers."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

from ui.markup import text
from ui.reask import slot_rows, value_text
from ui.sources import source_lines
from ui.wording import say, say_or

if TYPE_CHECKING:
    from agent import Answer

OFFER_COLUMNS = (
    "provider", "instance_type", "gpu_name", "gpu_count", "region", "price", "currency",
    "priced_on", "billing",
)  # fmt: skip


def to_json(answer: Answer) -> str:
    """The whole answer, as the API gives it."""
    return json.dumps(answer.model_dump(mode="json"), ensure_ascii=False, indent=2)


def offers_csv(answer: Answer) -> str:
    """The offers as CSV with a heading; an unknown value is an empty cell.

    A cell that a spreadsheet would run as a formula is given a leading apostrophe.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(OFFER_COLUMNS)
    for offer in answer.offers:
        row = offer.model_dump(mode="json")
        writer.writerow([_cell(row[column]) for column in OFFER_COLUMNS])
    return out.getvalue()


def _cell(value: object) -> str:
    shown = "" if value is None else str(value)
    return f"'{shown}" if shown.startswith(("=", "+", "-", "@", "\t", "\r")) else shown


def to_markdown(question: str, answer: Answer) -> str:
    """Question, answer, corrections, assumptions and sources as one Markdown text."""
    lang = answer.language
    quoted = "\n".join(f"> {_plain(line)}" for line in question.splitlines()) or "> "
    blocks = [quoted, answer.text.strip()]
    if answer.corrections:
        rows = [f"- {c.premise} → {c.fact} ({c.source})" for c in answer.corrections]
        blocks.append(_section(say("corrections_title", lang), rows))
    if answer.assumptions:
        rows = []
        for item in answer.assumptions:
            row = slot_rows().get(item.name)
            label = row["label"][lang] if row else say_or(f"slot_{item.name}", lang, item.name)
            rows.append(f"- {label}: {value_text(item.value, item.unit, lang)} ({item.why})")
        blocks.append(_section(say("assumptions_title", lang), rows))
    if answer.citations:
        rows = [f"- [{line.id}] {line.title} ({line.locator})" for line in source_lines(answer)]
        blocks.append(_section(say("sources_title", lang), rows))
    blocks.append(f"_Xuanka {answer.version} · {answer.backend}_")
    return "\n\n".join(blocks) + "\n"


def _plain(line: str) -> str:
    r"""What a visitor wrote, for a Markdown reader that takes HTML and fetches images.

    >>> _plain("<img src=x> ![a](http://b)")
    '&lt;img src=x&gt; !\\[a](http://b)'
    """
    return text(line).replace("![", "!\\[")


def _section(title: str, rows: list[str]) -> str:
    return "\n".join([f"## {title}", "", *rows])
