"""Pieces of the page as HTML, fetched by its script: fast, and without the library's queue."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from ui.accuracy import accuracy_html
from ui.calculator import Setup, calculator_html
from ui.catalog_page import Filters, catalog_html
from ui.machine import machine_html
from ui.markup import tag, text
from ui.passages import passage_html
from ui.turn import words_for
from ui.wording import Language, language_of

MAX_VALUE = 300
"""Characters of one value of a query that are read."""


def build_fragments(*, own_machine: bool) -> APIRouter:
    """Routes under /page."""
    router = APIRouter(include_in_schema=False)

    def add(name: str, draw: Callable[[Mapping[str, str], Language], str | None]) -> None:
        @router.get(f"/page/{name}", response_class=HTMLResponse)
        def fragment(request: Request) -> HTMLResponse:
            query = {key: value[:MAX_VALUE] for key, value in request.query_params.items()}
            return _drawn(draw, query)

    add("calculator", lambda query, lang: calculator_html(Setup.from_values(query), lang))
    add("catalog", lambda query, lang: catalog_html(Filters.from_values(query), lang))
    add("machine", lambda _, lang: machine_html(lang, is_allowed=own_machine))
    add("accuracy", lambda _, lang: accuracy_html(lang))
    add("passage", lambda query, _: passage_html(query.get("id", "")))
    return router


def _drawn(
    draw: Callable[[Mapping[str, str], Language], str | None], query: Mapping[str, str]
) -> HTMLResponse:
    language = language_of(query.get("lang"))
    try:
        found = draw(query, language)
    except Exception as error:  # the outer face: logged there, said in words here
        said = tag("p", text(words_for(error, language)), class_="xk-answer xk-error", role="alert")
        return HTMLResponse(said)
    return HTMLResponse(found or "", 404 if found is None else 200)
