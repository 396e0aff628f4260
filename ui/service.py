"""The service: one FastAPI application with the page at `/`."""

from __future__ import annotations

import logging
from importlib.resources import files
from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles

from ui.turn import Adviser

if TYPE_CHECKING:
    from agent import Settings

log = logging.getLogger("xuanka.service")


def create_app(settings: Settings, *, advisor: Adviser | None = None) -> FastAPI:
    """The application; `advisor` is made from the settings when it is not handed in."""
    if advisor is None:
        from agent import Advisor

        advisor = Advisor(settings)
    app = FastAPI(title="Xuanka", docs_url=None, redoc_url=None)

    @app.get("/healthz")
    def healthz() -> dict[str, str]:
        """Alive: the process answers."""
        return {"status": "ok"}

    app.mount(
        "/static-xuanka", StaticFiles(directory=str(files("ui") / "static")), name="static-xuanka"
    )
    return _with_page(app, advisor)


def _with_page(app: FastAPI, advisor: Adviser) -> FastAPI:
    import gradio as gr

    from ui.page import SIMULTANEOUS_CHATS, build_page, mount_options

    page = build_page(advisor).queue(
        default_concurrency_limit=SIMULTANEOUS_CHATS, api_open=False, max_size=1000
    )
    mounted: FastAPI = gr.mount_gradio_app(app, page, path="", **mount_options())
    return mounted
