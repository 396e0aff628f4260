"""The page: its tabs, and the chat."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import gradio as gr

from agent import MAX_QUESTION_BYTES
from ui.blocks import both, html_block, i18n, theme
from ui.markup import tag, text
from ui.tabs import accuracy_tab, calculator_tab, catalog_tab, machine_tab
from ui.visitors import Visitors
from ui.wording import examples, language_of, say

SIMULTANEOUS_CHATS = 64


def build_page(visitors: Visitors) -> gr.Blocks:
    """All tabs on one page."""
    page: gr.Blocks
    with gr.Blocks(title=say("app_name", "en"), analytics_enabled=False, fill_width=True) as page:
        html_block(_top(), elem_id="xk-top")
        with gr.Tabs(elem_id="xk-tabs"):
            with gr.Tab(i18n()("tab_chat"), id="chat"):
                _chat_tab(visitors)
            with gr.Tab(i18n()("tab_calculator"), id="calculator"):
                calculator_tab(page)
            with gr.Tab(i18n()("tab_catalog"), id="catalog"):
                catalog_tab(page)
            with gr.Tab(i18n()("tab_machine"), id="machine"):
                machine_tab()
            with gr.Tab(i18n()("tab_accuracy"), id="accuracy"):
                accuracy_tab()
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
        tag("button", both("history_title"), type="button", data_do="history", class_="xk-phone"),
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


def _chat_tab(visitors: Visitors) -> None:
    with gr.Row(elem_id="xk-chat"):
        html_block(_sidebar(), elem_id="xk-side-box")
        with gr.Column(elem_id="xk-main"):
            log = tag("div", id="xk-log", role="log", aria_live="off", aria_label="对话 / Chat")
            html_block(_welcome() + log, elem_id="xk-log-box")
            live = html_block("", elem_id="xk-live")
            html_block(tag("p", id="xk-status", role="status"), elem_id="xk-status-box")
            with gr.Row(elem_id="xk-ask-row"):
                box = gr.Textbox(
                    label=i18n()("ask_label"), placeholder=i18n()("ask_placeholder"),
                    lines=1, max_lines=8, elem_id="xk-box", scale=8,
                    max_length=MAX_QUESTION_BYTES + 1,  # one too many is told so, not cut off
                )  # fmt: skip
                send = gr.Button(i18n()("send"), variant="primary", elem_id="xk-send")
                stop = gr.Button(i18n()("stop"), elem_id="xk-stop")
    _wire_chat(visitors, box, send, stop, live)


def _wire_chat(
    visitors: Visitors, box: gr.Textbox, send: gr.Button, stop: gr.Button, live: gr.HTML
) -> None:
    thread = gr.Textbox(visible=False)
    language, turn = gr.Textbox(visible=False), gr.Textbox(visible=False)

    # Not a plain generator: the library could end one only between two steps, and holds a lock of
    # all visitors until then.
    async def answer(
        question: str, thread_id: str, tag_: str, turn_id: str, request: gr.Request
    ) -> AsyncIterator[str]:
        if not question or not question.strip():
            return
        address = request.client.host if request.client is not None else ""
        pieces = visitors.turn(question, conversation=thread_id, language=language_of(tag_),
                               address=address)  # fmt: skip
        async with aclosing(pieces):
            async for piece in pieces:
                yield tag("div", piece, data_turn=turn_id)

    asking = gr.on(
        [box.submit, send.click],
        answer,
        inputs=[box, thread, language, turn],
        outputs=[live],
        js="(question) => window.xuanka.begin(question)",
        show_progress="hidden",
        # The page's script sends one question at a time; a stopped one must not hold up the next.
        trigger_mode="multiple",
        concurrency_limit=SIMULTANEOUS_CHATS,
        api_name="ask",
    )
    stop.click(None, js="() => window.xuanka.stopped()", queue=False)
    stop.click(None, cancels=[asking], queue=False)


def mount_options() -> dict[str, Any]:
    """How the page is mounted: local theme, own style and script, no footer, no recording."""
    return {
        "theme": theme(),
        "i18n": i18n(),
        "footer_links": [],
        "run_history": False,
        "ssr_mode": False,
        "show_error": False,
        "enable_monitoring": False,
        "mcp_server": False,
        "max_file_size": "1kb",
    }
