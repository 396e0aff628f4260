"""The passage behind a citation, for the page's dialog."""

from __future__ import annotations

from fastapi.responses import HTMLResponse

from ui.markup import markdown, tag, text


def passage_html(passage_id: str) -> str | None:
    """A passage as HTML: text, when it was checked, its sources; None when there is no such."""
    import knowledge

    find = getattr(knowledge, "get_passage", None)
    passage = find(passage_id) if find is not None else None
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


def passage_response(id: str) -> HTMLResponse:
    """The passage with this id; 404 when the guidance has none."""
    found = passage_html(id[:300])
    return HTMLResponse(found or "", 200 if found else 404)
