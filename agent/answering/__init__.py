"""From a request to an answer.

A composer is a module with `compose(request, context)`. One answers each intent; before it come
those that answer one narrower question whatever its intent: they have `applies(request, context)`
as well and stand in the `ASKED` list of their room, the more telling first.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import cast

from agent.answer import Intent
from agent.answering.plan import Context, Plan
from agent.request import Request

_BY_INTENT: dict[Intent, str] = {
    "catalog_lookup": "renting.catalog",
    "concept": "concepts.concept",
    "cost_estimate": "money.cost",
    "ecs_vs_gpu": "hosts.cpu_or_gpu",
    "fit_check": "fitting.fit",
    "gpu_compare": "concepts.compare",
    "invalid_input": "concepts.outside",
    "io_bottleneck": "links.loading",
    "multi_gpu_plan": "speed.plans",
    "network_distributed": "links.network",
    "oom_diagnosis": "failures.oom",
    "out_of_scope": "concepts.outside",
    "probe_local": "failures.local",
    "recommend_instance": "renting.rent",
    "serving_plan": "speed.plans",
    "spot_checkpoint": "money.spot",
    "time_estimate": "speed.times",
}
_ROOMS = (
    "concepts", "failures", "money", "speed", "links", "renting", "hosts", "fitting", "sizing",
)  # fmt: skip
"""Rooms in the order in which their composers are asked."""
_INSTEAD = ("hosts.cpu_or_gpu", "speed.times", "speed.plans")
"""Composers of an intent that take what was asked in the words of another, asked last."""
_LEFT_ALONE = ("out_of_scope", "invalid_input")
_IMPORTING = threading.Lock()


def _module(name: str) -> ModuleType:
    """A composer's module. They import one another, so only one thread at a time may begin."""
    with _IMPORTING:
        return importlib.import_module(f"agent.answering.{name}")


@cache
def asked() -> tuple[str, ...]:
    """Composers of narrower questions, in the order in which they are asked."""
    of_rooms = (f"{room}.{name}" for room in _ROOMS for name in _module(room).ASKED)
    return (*of_rooms, *_INSTEAD)


def composer_of(request: Request, context: Context) -> str:
    """Name of the composer that answers a request, with its room.

    >>> from agent.understanding import parse
    >>> composer_of(parse("KV cache of Qwen2.5-7B per token?"), Context())
    'sizing.kv_cache'
    """
    return next(_takers(request, context), _BY_INTENT[request.intent])


def _takers(request: Request, context: Context) -> Iterator[str]:
    if request.intent not in _LEFT_ALONE:
        yield from (name for name in asked() if _module(name).applies(request, context))


def compose(request: Request, context: Context) -> Plan:
    """The plan for a request; attributes of a type that are asked come first."""
    facts = _module("renting.catalog_facts")
    families = _module("sizing.families")
    if families.applies(request):
        plan = cast(Plan, families.told(request, lambda named: _composed(named, context)))
    else:
        plan = _composed(request, context)
    return cast(Plan, facts.told(plan, request)) if facts.applies(request, context) else plan


def _composed(request: Request, context: Context) -> Plan:
    return cast(Plan, _module(composer_of(request, context)).compose(request, context))
