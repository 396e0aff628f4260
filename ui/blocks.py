"""What all tabs share: the library's theme, the strings on the browser side, plain HTML."""

from __future__ import annotations

import os
from functools import cache

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import gradio as gr

from ui.markup import tag, text
from ui.wording import say, strings

_FONTS = ["system-ui", "-apple-system", "Segoe UI", "Noto Sans", "Noto Sans CJK SC",
          "PingFang SC", "Microsoft YaHei", "sans-serif"]  # fmt: skip
_MONO = ["ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "monospace"]


@cache
def i18n() -> gr.I18n:
    """The page's strings for the browser side."""
    by_language = {
        language: {key: row[language] for key, row in strings().items()}
        for language in ("en", "zh")
    }
    return gr.I18n(en=by_language["en"], zh=by_language["zh"], **{"zh-CN": by_language["zh"]})


def theme() -> gr.Theme:
    """System fonts only: nothing is fetched from another host."""
    return gr.themes.Base(
        primary_hue="teal", neutral_hue="slate", radius_size="md", font=_FONTS, font_mono=_MONO
    )


def both(key: str) -> str:
    """A string in both languages; the page shows the one that it is set to."""
    return "".join(
        tag("span", text(say(key, language)), data_l=language) for language in ("en", "zh")
    )


def html_block(value: str = "", *, elem_id: str) -> gr.HTML:
    """A block of our own HTML, without the library's styles for prose."""
    return gr.HTML(value, elem_id=elem_id, apply_default_css=False, js_on_load=None)
