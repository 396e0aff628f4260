"""A server that does not start: memory held by others, or a cache too small for one request."""

from __future__ import annotations

import math
import re
from collections.abc import Generator

from agent.answer import Answer
from agent.answering.draft import HEAD, Draft
from agent.answering.numbers import gib
from agent.answering.plan import Call, Context, Plan
from agent.answering.run_words import memory_arguments, short_model
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.memory import MemoryReport
from tools.units import GIB

_N = r"(\d+(?:\.\d+)?)"
_FREE = re.compile(
    rf"free memory on device[^(]{{0,20}}\({_N}\s?/\s?{_N}\s?GiB\)[^(]{{0,60}}less than desired gpu "
    rf"memory utilization\s?\({_N}(?:,\s?{_N}\s?GiB)?\)",
    re.IGNORECASE,
)
_LENGTH = re.compile(
    r"max(?:imum)? seq(?:uence)? len(?:gth)?\s?\((\d+)\)\s?is larger than[^(]{0,90}\((\d+)\)",
    re.IGNORECASE,
)
_MARGIN = 0.02
Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], Answer]


def applies(request: Request, context: Context) -> bool:
    """True for the two start-up messages whose numbers say what is wrong."""
    text = request.search_query
    return _FREE.search(text) is not None or _LENGTH.search(text) is not None


def compose(request: Request, context: Context) -> Plan:
    """What the numbers say, then what to do."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    found = _FREE.search(request.search_query)
    if found is None:
        return _length(draft)
        yield  # one shape for every composer
    free, total, util = (float(found[n]) for n in (1, 2, 3))
    want = float(found[4]) if found[4] else total * util
    lower = lower_share(free, total)
    for name, value in (("free", free), ("total", total), ("wanted", want)):
        draft.figure(f"log: {name}", value * GIB, "B", sources=("user:log",))
    used, budget = (total - free) * GIB, total * lower * GIB
    draft.figure("held_by_others", used, "B", formula="total - free")
    draft.figure("utilization", util, "1", sources=("user:log",))
    draft.figure("free_share", round(free / total, 4), "1", formula="free / total")
    draft.figure("utilization_to_set", lower, "1", formula="free / total - margin, rounded down")
    draft.figure("budget", budget, "B", formula="total * utilization")
    draft.say("engine_start.free", used=gib(used), free=_given(found[1]), total=_given(found[2]),
              util=f"{util:g}", want=gib(want * GIB), importance=HEAD)  # fmt: skip
    draft.say("engine_start.free_find", importance=HEAD)
    draft.say("engine_start.free_lower", lower=f"{lower:.2f}", free=_given(found[1]),
              total=_given(found[2]), share=f"{free / total:.2f}", budget=gib(budget),
              importance=HEAD)  # fmt: skip
    yield from _say_model(draft, budget)
    return draft.finish("not_applicable", intent="oom_diagnosis")


def lower_share(free: float, total: float) -> float:
    """The utilization that fits beside what is in use, two decimals, rounded down.

    >>> lower_share(9.8, 23.68)
    0.39
    """
    return math.floor((free / total - _MARGIN) * 100) / 100


def _given(written: str) -> str:
    return f"{written} GiB"


def _say_model(
    draft: Draft, budget: float
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], None]:
    """Whether the weights fit into what is free, where a model was named."""
    slots = draft.request.slots
    if slots.model is None and slots.params_b is None:
        return
    results = yield (
        Call("estimate_memory", memory_arguments(
            slots, task="infer", gpu_memory_utilization=None, concurrency=1)),
    )  # fmt: skip
    draft.use(*results)
    report = results[0].report
    if isinstance(report, MemoryReport):
        key = "free_holds" if report.weights_bytes < budget else "free_misses"
        draft.say("engine_start.free_model", model=short_model(report),
                  weights=gib(report.weights_bytes),
                  outcome=draft.phrase(f"engine_start.{key}"))  # fmt: skip


def _length(draft: Draft) -> Answer:
    found = _LENGTH.search(draft.request.search_query)
    assert found is not None
    length, tokens = int(found[1]), int(found[2])
    rounded = max(tokens // 1024 * 1024, min(tokens, 1024))
    for name, value in (("max_model_len", length), ("cache_tokens", tokens), ("set", rounded)):
        draft.figure(name, value, "token", sources=("user:log",))
    draft.say("engine_start.length", length=length, tokens=f"{tokens:,}", importance=HEAD)
    draft.say("engine_start.length_fix", tokens=f"{tokens:,}", round=rounded, importance=HEAD)
    return draft.finish("depends", intent="oom_diagnosis")
