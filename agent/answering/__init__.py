"""From a request to an answer: one composer a family of intents."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from types import ModuleType
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

_CAPABILITIES = (
    "beginnings", "usual_nets",
    "environment", "engine_start", "zero_stages", "first_token", "card_balance", "flash_error",
    "busy_cards",
    "eval_oom", "container_oom",
    "prefill_oom", "file_and_need", "kv_cache", "token_cost",
    "remaining", "budget_hours", "sums", "speech_on_cpu", "llm_on_cpu", "items", "busbw", "hybrid",
    "adapter_links", "instance_race", "replicas", "storage_rate", "saves", "family_sizes", "worth",
    "spot_notice", "cpu_type", "by_need", "loading", "id_tables", "largest_trained",
    "objective_extra", "host",
    "pooled", "shared_card",
    "occupied",
    "accumulation", "machine_price",
)  # fmt: skip
"""Modules that answer one kind of question whatever its intent, asked in this order first: each
has `applies(request, context)` and `compose(request, context)`."""
_LEFT_ALONE = ("out_of_scope", "invalid_input")
_IMPORTING = threading.Lock()


def _module(name: str) -> ModuleType:
    """A composer's module. They import one another, so only one thread at a time may begin."""
    with _IMPORTING:
        return importlib.import_module(f"agent.answering.{name}")


def compose(request: Request, context: Context) -> Plan:
    """The plan for a request, by its intent; attributes of a type that are asked come first."""
    request = _module("premises").corrected(request)
    facts = _module("catalog_facts")
    families = _module("families")
    if families.applies(request):
        plan = cast(Plan, families.told(request, lambda named: _composed(named, context)))
    else:
        plan = _composed(request, context)
    return cast(Plan, facts.told(plan, request)) if facts.applies(request, context) else plan


def _composed(request: Request, context: Context) -> Plan:
    if request.intent not in _LEFT_ALONE:
        for capability in map(_module, _CAPABILITIES):
            if capability.applies(request, context):
                return cast(Plan, capability.compose(request, context))
    inverse, prices = _module("inverse"), _module("prices")
    if inverse.is_inverse(request):
        return cast(Plan, inverse.compose_inverse(request))
    if prices.is_price_of_several(request):
        return cast(Plan, _module("catalog").compose(request, context))
    if _module("spot").is_saving_of_card(request):
        return cast(Plan, _module("spot").compose(request, context))
    if prices.is_price_ranking(request):
        return cast(Plan, prices.compose_ranking(request))
    name = _MODULES[request.intent]
    if name == "fit" and request.slots.task == "infer" and _module("decode").asks_speed(request):
        name = "plans"
    if name == "fit" and _module("decode").asks_training_speed(request):
        name = "times"
    if _module("tables").is_for_host(request, name):
        name = "cpu_or_gpu"
    if name == "fit" and request.slots.task != "train" and _module("plans").is_split(request):
        name = "plans"
    composer = cast(Callable[[Request, Context], Plan], _module(name).compose)
    return composer(request, context)
