"""From a request to an answer: one composer a family of intents."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import cast

from agent.answer import Intent
from agent.answering.plan import Context, Plan
from agent.request import Request

_MODULES: dict[Intent, str] = {
    "catalog_lookup": "catalog",
    "concept": "concept",
    "cost_estimate": "cost",
    "ecs_vs_gpu": "cpu_or_gpu",
    "fit_check": "fit",
    "gpu_compare": "compare",
    "invalid_input": "outside",
    "io_bottleneck": "loading",
    "multi_gpu_plan": "plans",
    "network_distributed": "network",
    "oom_diagnosis": "oom",
    "out_of_scope": "outside",
    "probe_local": "local",
    "recommend_instance": "rent",
    "serving_plan": "plans",
    "spot_checkpoint": "spot",
    "time_estimate": "times",
}


def compose(request: Request, context: Context) -> Plan:
    """The plan for a request, by its intent."""
    from agent.answering.inverse import compose_inverse, is_inverse
    from agent.answering.prices import compose_ranking, is_price_of_several, is_price_ranking

    if is_inverse(request):
        return compose_inverse(request)
    if is_price_of_several(request):
        module = importlib.import_module("agent.answering.catalog")
        return cast(Plan, module.compose(request, context))
    if is_price_ranking(request):
        return compose_ranking(request)
    name = _MODULES[request.intent]
    if name == "fit" and request.slots.task != "train" and (request.slots.tp or 1) > 1:
        name = "plans"
    module = importlib.import_module(f"agent.answering.{name}")
    composer = cast(Callable[[Request, Context], Plan], module.compose)
    return composer(request, context)
