"""The passage behind a citation, for the page's dialog."""

from __future__ import annotations

from ui.markup import markdown, tag, text


def passage_html(passage_id: str) -> str | None:
    """A passage as HTML: text, when it was checked, its sources; None when there is no such."""
    import knowledge

    passage = knowledge.get_passage(passage_id)
    if passage is None:
        return None
    sources = "".join(tag("li", text(s.locator)) for s in passage.sources)
    checked = f" · {passage.checked_on}" if passage.checked_on else ""
    return "".join(
        [
            tag("p", text(f"{passage.title} · {passage.locator}{checked}"), class_="xk-dim"),
            markdown(passage.text),
            tag("ul", sources, class_="xk-dim") if sources else "",
        ]
    )
