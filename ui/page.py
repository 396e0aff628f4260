"""The page: Gradio blocks, tab by tab. Everything drawn comes from the modules beside it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import gradio as gr

from ui.markup import tag, text
from ui.turn import Adviser, draw_turn
from ui.wording import examples, language_of, say, strings

if TYPE_CHECKING:
    from agent import Settings

_FONTS = ["system-ui", "-apple-system", "Segoe UI", "Noto Sans", "Noto Sans CJK SC",
          "PingFang SC", "Microsoft YaHei", "sans-serif"]  # fmt: skip
_MONO = ["ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "monospace"]
SIMULTANEOUS_CHATS = 64


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


def _html(value: str, *, elem_id: str) -> gr.HTML:
    """A block of our own HTML, without the library's styles for prose."""
    return gr.HTML(value, elem_id=elem_id, apply_default_css=False, js_on_load=None)


def build_page(advisor: Adviser, settings: Settings) -> gr.Blocks:
    """All tabs on one page."""
    page: gr.Blocks
    with gr.Blocks(title=say("app_name", "en"), analytics_enabled=False, fill_width=True) as page:
        _html(_top(), elem_id="xk-top")
        with gr.Tabs(elem_id="xk-tabs"):
            with gr.Tab(i18n()("tab_chat"), id="chat"):
                _chat_tab(advisor)
    return page


def _top() -> str:
    return tag(
        "header",
        tag("a", both("skip"), href="#xk-box", class_="xk-skip"),
        tag("h1", both("app_name"), tag("small", both("app_tagline"))),
        tag(
            "div",
            tag("button", both("theme_switch"), type="button", data_do="theme"),
            tag("button", both("language_switch"), type="button", data_do="language"),
            class_="xk-switches",
        ),
        class_="xk-topbar",
    )


def _sidebar() -> str:
    return tag(
        "nav",
        tag("button", both("history_new"), type="button", data_do="new", class_="xk-new"),
        tag("h2", both("history_title")),
        tag("ul", id="xk-history"),
        tag("p", both("history_note"), " ",
            tag("button", both("history_clear"), type="button", data_do="clear"),
            class_="xk-dim"),
        class_="xk-side",
        aria_label="Conversations / 对话",
    )  # fmt: skip


def _welcome() -> str:
    buttons = "".join(
        tag(
            "li",
            *(
                tag("button", text(row[language]), type="button", data_ask=row[language],
                    data_l=language, lang=language)
                for language in ("en", "zh")
            ),
            data_intent=row["intent"],
        )
        for row in examples()
    )  # fmt: skip
    return tag(
        "section",
        tag("h2", both("welcome_title")),
        tag("p", both("welcome_text")),
        tag("h3", both("examples_title")),
        tag("ul", buttons, class_="xk-examples"),
        id="xk-welcome",
    )


def _chat_tab(advisor: Adviser) -> None:
    with gr.Row(elem_id="xk-chat"):
        _html(_sidebar(), elem_id="xk-side-box")
        with gr.Column(elem_id="xk-main"):
            log = tag("div", id="xk-log", role="log", aria_live="off", aria_label="对话 / Chat")
            _html(_welcome() + log, elem_id="xk-log-box")
            live = _html("", elem_id="xk-live")
            _html(tag("p", id="xk-status", role="status"), elem_id="xk-status-box")
            with gr.Row(elem_id="xk-ask-row"):
                box = gr.Textbox(
                    label=i18n()("ask_label"), placeholder=i18n()("ask_placeholder"),
                    lines=1, max_lines=8, elem_id="xk-box", scale=8, max_length=120_000,
                )  # fmt: skip
                send = gr.Button(i18n()("send"), variant="primary", elem_id="xk-send")
                stop = gr.Button(i18n()("stop"), elem_id="xk-stop")
    _wire_chat(advisor, box, send, stop, live)


def _wire_chat(
    advisor: Adviser, box: gr.Textbox, send: gr.Button, stop: gr.Button, live: gr.HTML
) -> None:
    thread = gr.Textbox(visible=False)
    language = gr.Textbox(visible=False)

    def answer(question: str, thread_id: str, tag_: str) -> Iterator[str]:
        if question.strip():
            yield from draw_turn(advisor, question, thread=thread_id, language=language_of(tag_))

    asking = gr.on(
        [box.submit, send.click],
        answer,
        inputs=[box, thread, language],
        outputs=[live],
        js="(question) => window.xuanka.begin(question)",
        show_progress="hidden",
        trigger_mode="once",
        concurrency_limit=SIMULTANEOUS_CHATS,
        api_name="ask",
    )
    asking.then(None, js="() => window.xuanka.finish()")
    stop.click(None, cancels=[asking], js="() => window.xuanka.stopped()", queue=False)


def mount_options() -> dict[str, Any]:
    """How the page is mounted: local theme, own style and script, no footer, no recording."""
    return {
        "theme": theme(),
        "head": (
            '<link rel="stylesheet" href="/static-xuanka/xuanka.css">'
            '<script src="/static-xuanka/xuanka.js"></script>'
        ),
        "i18n": i18n(),
        "footer_links": [],
        "run_history": False,
        "ssr_mode": False,
        "show_error": False,
        "enable_monitoring": False,
        "mcp_server": False,
        "max_file_size": "1kb",
    }
