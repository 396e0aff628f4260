"""The service: one FastAPI application with the page at `/`, the API, metrics and MCP beside it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from decimal import InvalidOperation
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.routing import Mount

from tools.errors import AdvisorError
from ui.config import ServiceSettings
from ui.conversations import Conversations, open_turns
from ui.desk import Desk
from ui.http.api import build_api, error_response
from ui.http.fragments import build_fragments
from ui.http.head import PageHead
from ui.http.library import OnlyUsed
from ui.http.observing import Measured, Metrics, RequestIds
from ui.http.openai_api import build_openai_api
from ui.http.protection import error_body, protect
from ui.http.sticky import Sticky
from ui.turn import Adviser
from ui.visitors import Visitors
from ui.wording import examples
from ui.workers import Place

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from agent import Settings

log = logging.getLogger("xuanka.service")
_THREADS = 100
"""Threads for handlers; each chat on the page holds one while its answer is made."""
_COUNT_S = 2.0


class Service:
    """What the parts of one application share."""

    def __init__(self, settings: Settings, config: ServiceSettings, advisor: Adviser) -> None:
        self.settings = settings
        self.config = config
        self.bare = advisor
        self.metrics = Metrics()
        url = settings.checkpoint_url
        self.database_url = url.get_secret_value() if url is not None else None
        turns = open_turns(config.state_dir, url=self.database_url, wait_s=config.answer_timeout_s)
        self.advisor = Conversations(advisor, turns)
        self.is_draining = False
        self.is_warming = False
        self.contexts: list[Callable[[], AbstractAsyncContextManager[Any]]] = []
        """What else runs while the application runs."""
        self.desk = Desk(
            Measured(self.advisor, self.metrics, face="api"),
            simultaneous=config.simultaneous_answers or (32 if settings.uses_endpoint else 4),
            waiting=config.waiting_answers,
            timeout_s=config.answer_timeout_s,
        )
        self.metrics.watch("xuanka_queue_depth", "Questions waiting", lambda: self.desk.queued)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """From start to drain: answers in progress are finished, new work is refused."""
        anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
        self._warm_up()
        try:
            async with contextlib.AsyncExitStack() as stack:
                for context in self.contexts:
                    await stack.enter_async_context(context())
                counting = asyncio.create_task(self._keep_counting())
                stack.callback(counting.cancel)
                yield
        finally:
            self.is_draining = True
            await anyio.to_thread.run_sync(self.desk.close)

    async def _keep_counting(self) -> None:
        """Gauges are written for the other workers, which may be the one that is asked."""
        while True:
            await anyio.to_thread.run_sync(self.metrics.refresh)
            await asyncio.sleep(_COUNT_S)

    def _warm_up(self) -> None:
        """Does the advisor's slow first-time work beside the start."""
        if getattr(self.bare, "warm_up", None) is None:
            return
        self.is_warming = True

        def work() -> None:
            try:
                self._ask_everything_once()
            except Exception:  # it is tried again by the first question
                log.exception("warming up failed")
            # What is loaded by now stays: no collection need look at it again.
            gc.collect()
            gc.freeze()
            self.is_warming = False

        threading.Thread(target=work, name="warm-up", daemon=True).start()

    def _ask_everything_once(self) -> None:
        self.bare.warm_up()  # type: ignore[attr-defined]  # looked for above
        if not self.settings.uses_endpoint:
            for row in examples():
                self.bare.ask(row["zh"])

    def unready(self) -> list[str]:
        """What is missing before questions can be answered; empty when nothing is."""
        missing = ["draining"] if self.is_draining else []
        return missing + (["warming up"] if self.is_warming else [])

    def degraded(self) -> list[str]:
        """What does not work now though questions are answered; empty when all works."""
        found = [self.advisor.endpoint_fault] if self.advisor.endpoint_fault else []
        if not self.advisor.are_kept():
            found.append("The database does not answer: conversations are not continued.")
        return found


def create_app(
    settings: Settings,
    *,
    config: ServiceSettings | None = None,
    advisor: Adviser | None = None,
    page: bool = True,
    place: Place | None = None,
) -> ASGIApp:
    """The application, protected; `advisor` is made from the settings when it is not handed in.

    Args:
        settings: How the advisor runs.
        config: How the service is reached; read from the environment when None.
        advisor: Answers in place of `agent.Advisor`.
        page: False leaves the chat page out (API only).
        place: Which of several workers this process is.
    """
    from agent import build_toolbox

    settings = settings.reached_over_http()
    if advisor is None:
        from agent import Advisor

        advisor = Advisor(settings)
    service = Service(settings, config or ServiceSettings(), advisor)
    tools = {tool.name: tool for tool in build_toolbox(settings)}
    app = FastAPI(
        title="Xuanka",
        description="Which machine does my deep-learning job need? Numbers with their origin.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        lifespan=lambda _: service.running(),
    )
    _add_mcp(app, service)
    app.state.service = service
    # Who may call from another origin is said in front (`protect`). With a policy here, which
    # allows nobody, the page's library adds none of its own.
    app.add_middleware(CORSMiddleware, allow_origins=())
    _add_errors(app)
    _add_bots(app, service)
    _add_operation(app, service)
    app.include_router(build_api(service.desk, tools))
    app.include_router(build_openai_api(service.desk))
    app.mount(
        "/static-xuanka", StaticFiles(directory=str(files("ui") / "static")), name="static-xuanka"
    )
    if page and service.config.page:
        _add_page(app, service)
    inner: ASGIApp = app
    if place is not None:
        inner = Sticky(app, number=place.number, ports=place.ports)
    return RequestIds(protect(inner, service.config), metrics=service.metrics)


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        problems = "; ".join(
            f"{'.'.join(str(p) for p in e['loc'][1:]) or 'body'}: "
            + e["msg"].removeprefix("Value error, ")
            for e in error.errors()[:5]
        )
        is_chat = request.url.path == "/v1/chat/completions"
        body = error_body("invalid_request_error", problems, request.scope.get("request_id"))
        where = error.errors()[0]["loc"][1:]
        body["error"]["param"] = str(where[0]) if where else None
        return JSONResponse(body, 400 if is_chat else 422)

    @app.exception_handler(HTTPException)
    async def plain(request: Request, error: HTTPException) -> JSONResponse:
        kind = "not_found" if error.status_code == 404 else "invalid_request_error"
        body = error_body(kind, str(error.detail), request.scope.get("request_id"))
        return JSONResponse(body, error.status_code, headers=error.headers)

    for kind in (AdvisorError, UnicodeError, OverflowError, InvalidOperation, Exception):
        app.add_exception_handler(kind, error_response)


def _add_operation(app: FastAPI, service: Service) -> None:
    @app.get("/healthz", tags=["operation"])
    async def healthz() -> dict[str, str]:
        """Alive: the process answers."""
        return {"status": "ok"}

    @app.get("/readyz", tags=["operation"], response_model=None)
    async def readyz() -> Response:
        """Ready: 200 when questions can be answered, else 503 with what is missing.

        `degraded` tells what is done without: an endpoint or a database that does not answer.
        """
        missing = service.unready()
        body: dict[str, Any] = {
            "status": "unready" if missing else "ready",
            "missing": missing,
            "degraded": await anyio.to_thread.run_sync(service.degraded),
        }
        return JSONResponse(body, 503 if missing else 200)

    @app.get("/metrics", tags=["operation"], response_class=PlainTextResponse)
    def metrics() -> Response:
        """Counters in Prometheus' text format."""
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")


def _add_mcp(app: FastAPI, service: Service) -> None:
    """The MCP server at /mcp, where the extra `mcp` is installed."""
    try:
        from ui.mcp_server import build_server, http_app

        mcp = http_app(build_server(service.settings))
    except ImportError:
        log.info("mcp is not installed: /mcp is not served")
        return
    app.router.routes.extend(mcp.routes)
    service.contexts.append(lambda: mcp.router.lifespan_context(mcp))


def _add_bots(app: FastAPI, service: Service) -> None:
    """Slack, Feishu and DingTalk, each where its secrets are set."""
    from ui.bot import build_bots

    bots = build_bots(
        service.config,
        lambda face: Measured(service.advisor, service.metrics, face=face),
        database_url=service.database_url,
    )
    if bots is None:
        return
    service.metrics.watch("xuanka_bot_events_open", "Events of chat platforms not yet answered",
                          bots.inbox.open_count, is_shared=True)  # fmt: skip
    service.contexts.append(bots.inbox.running)
    for router in bots.routers:
        app.include_router(router)


def _add_page(app: FastAPI, service: Service) -> None:
    import gradio as gr

    from ui.page import SIMULTANEOUS_CHATS, build_page, mount_options

    app.include_router(build_fragments(own_machine=service.settings.own_machine))
    advisor = Measured(service.advisor, service.metrics, face="page")
    per_minute = service.config.page_questions_per_minute
    visitors = Visitors(advisor, service.desk, per_minute=per_minute)
    blocks = build_page(visitors).queue(
        default_concurrency_limit=SIMULTANEOUS_CHATS, api_open=False, max_size=1000
    )
    gr.mount_gradio_app(app, blocks, path="", **mount_options())
    mounted = app.router.routes[-1]
    assert isinstance(mounted, Mount)
    mounted.app = OnlyUsed(PageHead(mounted.app))
