"""HTML from plain values: everything that is not markup is escaped here."""

from __future__ import annotations

from functools import cache
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt


def tag(name: str, /, *content: str, **attributes: str | int | float | bool | None) -> str:
    """One element; its content must be HTML already, its attributes are escaped.

    An attribute that is None or False is left out, True stands alone. `class_` is written
    `class`, and `_` within a name becomes `-`.

    >>> tag("p", text("a < b"), class_="x", data_ask='say "hi"', hidden=True)
    '<p class="x" data-ask="say &quot;hi&quot;" hidden>a &lt; b</p>'
    """
    parts = [name]
    for key, value in attributes.items():
        written = key.rstrip("_").replace("_", "-")
        if value is True:
            parts.append(written)
        elif value is not None and value is not False:
            parts.append(f'{written}="{escape(str(value), quote=True)}"')
    return f"<{' '.join(parts)}>{''.join(content)}</{name}>"


def text(value: object) -> str:
    """Any value as escaped text.

    >>> text("<script>")
    '&lt;script&gt;'
    """
    return escape(str(value), quote=False)


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # No raw HTML, and no images: an image would be fetched from another host.
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


def markdown(source: str) -> str:
    """Markdown as HTML: no raw HTML, no images, links open in a tab of their own.

    >>> markdown("**a** <img src=x onerror=y>").strip()
    '<p><strong>a</strong> &lt;img src=x onerror=y&gt;</p>'
    """
    rendered: str = _markdown().render(source)
    return (
        rendered.replace("<a href=", '<a target="_blank" rel="noopener noreferrer" href=')
        .replace("<table>", '<div class="xk-scroll" tabindex="0"><table>')
        .replace("</table>", "</table></div>")
    )
