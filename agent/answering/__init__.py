"""From a request to an answer: one composer a family of intents."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import cast

from agent.answer import Intent
from agent.answering.plan import Context, Plan
from agent.request import Request

_MODULES: dict[Intent, str] = {
    "concept": "concept",
    "fit_check": "fit",
    "catalog_lookup": "catalog",
    "out_of_scope": "outside",
    "invalid_input": "outside",
}


def compose(request: Request, context: Context) -> Plan:
    """The plan for a request, by its intent."""
    module = importlib.import_module(f"agent.answering.{_MODULES.get(request.intent, 'concept')}")
    composer = cast(Callable[[Request, Context], Plan], module.compose)
    return composer(request, context)
