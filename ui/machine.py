"""The tab about the machine that the service runs on: what the probe finds, what fits now."""

from __future__ import annotations

from ui.markup import tag, text
from ui.wording import Language, say


def machine_html(language: Language, *, is_allowed: bool) -> str:
    """Findings of the probe as tables; refused unless the machine is the asker's own."""
    if not is_allowed:
        return tag("p", text(say("machine_refused", language)), class_="xk-dim", lang=language)
    return tag("p", text(say("machine_none", language)), lang=language)
