"""A server that does not start: memory held by others, or a cache too small for one request."""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Any, NamedTuple

from agent.answer import Answer, MemoryRange, Verdict
from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import gib
from agent.answering.telling.run_words import (
    memory_arguments,
    memory_range,
    outcome,
    run_text,
    short_model,
)
from agent.request import Request
from agent.toolbox import ToolResult
from agent.toolbox.memory import MemoryReport
from tools.memory import cache_pool
from tools.units import GIB

_MARGIN = 0.02
Steps = Generator[tuple[Call, ...], tuple[ToolResult, ...], Answer]


def applies(request: Request, context: Context) -> bool:
    """True for the start-up messages whose numbers say what is wrong."""
    return any((_shares(request), _cache_lengths(request), _cache_sizes(request)))


class _Shares(NamedTuple):
    """A card of which an engine wants more than is free, in GiB and as a share."""

    free: float
    total: float
    wanted: float
    utilization: float


def _logged(request: Request) -> dict[str, Any]:
    """Numbers of a pasted start-up log."""
    return next((item.fields for item in request.pasted if item.kind == "vllm_log"), {})


def _shares(request: Request) -> _Shares | None:
    fields = _logged(request)
    free, total = fields.get("device_free_bytes"), fields.get("device_total_bytes")
    utilization = fields.get("utilization")
    if not (free and total and utilization):
        return None
    wanted = fields.get("wanted_bytes") or total * utilization
    return _Shares(free / GIB, total / GIB, wanted / GIB, utilization)


def _cache_lengths(request: Request) -> tuple[int, int] | None:
    """(length asked for, tokens that the cache holds)."""
    fields = _logged(request)
    if not (fields.get("kv_tokens") and fields.get("max_seq_len")):
        return None
    return int(fields["max_seq_len"]), int(fields["kv_tokens"])


def _cache_sizes(request: Request) -> tuple[int, float, float, int] | None:
    """(length asked for, bytes that it takes, bytes left, longest length that fits)."""
    fields = _logged(request)
    length, need = fields.get("max_seq_len"), fields.get("needed_kv_bytes")
    have, longest = fields.get("kv_cache_bytes"), fields.get("largest_length")
    if not (length and need and have):
        return None
    return int(length), float(need), float(have), int(longest or length * have / need)


def compose(request: Request, context: Context) -> Plan:
    """What the numbers say, then what to do."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    shares = _shares(request)
    if shares is not None:
        return (yield from _taken(draft, shares))
    if _cache_sizes(request) is not None:
        return (yield from _needed(draft))
    return _length(draft)


def _taken(draft: Draft, shares: _Shares) -> Steps:
    """A card that others hold: who, the share that is left, and whether the model fits into it."""
    free, total, want, util = shares
    lower = lower_share(free, total)
    for name, value in (("free", free), ("total", total), ("wanted", want)):
        draft.figure(f"log: {name}", value * GIB, "B", sources=("user:log",))
    used, budget = (total - free) * GIB, total * lower * GIB
    draft.figure("held_by_others", used, "B", formula="total - free")
    draft.figure("utilization", util, "1", sources=("user:log",))
    draft.figure("free_share", round(free / total, 4), "1", formula="free / total")
    draft.figure("utilization_to_set", lower, "1", formula="free / total - margin, rounded down")
    draft.figure("budget", budget, "B", formula="total * utilization")
    draft.say("engine_start.free", used=gib(used), free=_given(free), total=_given(total),
              util=f"{util:g}", want=gib(want * GIB), importance=HEAD)  # fmt: skip
    draft.say("engine_start.free_find", importance=HEAD)
    draft.say("engine_start.free_lower", lower=f"{lower:.2f}", free=_given(free),
              total=_given(total), share=f"{free / total:.2f}", budget=gib(budget),
              importance=HEAD)  # fmt: skip
    memory = yield from _say_model(draft, budget)
    verdict: Verdict = "depends" if memory is not None else "not_applicable"
    return draft.finish(verdict, memory=memory, intent="oom_diagnosis")


def lower_share(free: float, total: float) -> float:
    """The utilization that fits beside what is in use, two decimals, rounded down.

    >>> lower_share(9.8, 23.68)
    0.39
    """
    return math.floor((free / total - _MARGIN) * 100) / 100


def _given(size_gib: float) -> str:
    """A size of the log as it is written there: two decimals at most."""
    return f"{round(size_gib, 2):g} GiB"


def _told(size_bytes: float) -> str:
    """A size of the log, as precise as the log is."""
    return f"{size_bytes / GIB:.2f} GiB"


def _say_model(
    draft: Draft, budget: float
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], MemoryRange | None]:
    """Whether the weights fit into what is free, and what all of it needs, for a named model."""
    slots = draft.request.slots
    if not slots.has_model:
        return None
    results = yield (
        Call("estimate_memory", memory_arguments(
            slots, task="infer", gpu_memory_utilization=None, concurrency=1)),
    )  # fmt: skip
    draft.use(*results)
    report = results[0].report
    if not isinstance(report, MemoryReport):
        return None
    key = "free_holds" if report.weights_bytes < budget else "free_misses"
    draft.say("engine_start.free_model", model=short_model(report),
              weights=gib(report.weights_bytes),
              outcome=draft.phrase(f"engine_start.{key}"))  # fmt: skip
    if report.usable_bytes is not None and report.verdict is not None:
        draft.figure("usable", report.usable_bytes, "B", sources=(f"data:gpus.csv#{report.gpu}",))
        draft.say("engine_start.whole_card", what=run_text(draft, report),
                  need=gib(report.process_bytes), usable=gib(report.usable_bytes),
                  outcome=outcome(draft, report))  # fmt: skip
    return memory_range(report)


def _length(draft: Draft) -> Answer:
    lengths = _cache_lengths(draft.request)
    assert lengths is not None
    length, tokens = lengths
    rounded = max(tokens // 1024 * 1024, min(tokens, 1024))
    for name, value in (("max_model_len", length), ("cache_tokens", tokens), ("set", rounded)):
        draft.figure(name, value, "token", sources=("user:log",))
    draft.say("engine_start.length", length=length, tokens=f"{tokens:,}", importance=HEAD)
    draft.say("engine_start.length_fix", tokens=f"{tokens:,}", round=rounded, importance=HEAD)
    return draft.finish("depends", intent="oom_diagnosis")


def _needed(draft: Draft) -> Steps:
    """The cache of one request of full length against what is left for it."""
    sizes = _cache_sizes(draft.request)
    assert sizes is not None
    length, need, have, longest = sizes
    rounded = max(longest // 1024 * 1024, min(longest, 1024))
    each = need / length
    for name, value, unit in (
        ("max_model_len", length, "token"), ("longest", longest, "token"),
        ("set", rounded, "token"), ("needed", need, "B"), ("left", have, "B"),
    ):  # fmt: skip
        draft.figure(name, value, unit, sources=("user:log",))
    draft.figure("kv_bytes_per_token", each, "B", formula="needed / max_model_len")
    draft.figure("longest_with_fp8", longest * 2, "token", formula="longest * 2")
    draft.say("engine_start.needed", length=f"{length:,}", need=_told(need),
              have=_told(have), longest=f"{longest:,}", importance=HEAD)  # fmt: skip
    draft.say("engine_start.needed_fix", longest=longest, round=rounded, double=f"{longest * 2:,}",
              outcome=draft.phrase("engine_start.fp8_enough" if longest * 2 >= length
                                   else "engine_start.fp8_short", length=f"{length:,}"),
              importance=HEAD)  # fmt: skip
    memory = yield from _say_ways(draft, length)
    return draft.finish("does_not_fit", memory=memory, intent="oom_diagnosis")


def _say_ways(
    draft: Draft, length: int
) -> Generator[tuple[Call, ...], tuple[ToolResult, ...], MemoryRange | None]:
    """What the full length takes with 4-bit weights, or on two cards, where the run is known."""
    slots = draft.request.slots
    if (not slots.has_model) or not slots.has_card:
        return None
    cards = (slots.gpu_count or 1) * 2
    common: dict[str, Any] = {"task": "infer", "seq_len": length, "concurrency": 1}
    ways: dict[str, dict[str, Any]] = {
        "awq": {"quantization": "awq"}, "tp": {"gpu_count": cards, "tp": cards}, "asked": {},
    }  # fmt: skip
    results = yield tuple(
        Call("estimate_memory", memory_arguments(slots, **common, **change))
        for change in ways.values()
    )
    draft.use(*results)
    lines = []
    for key, result in zip(("awq", "tp"), results, strict=False):
        report = result.report
        if isinstance(report, MemoryReport) and report.usable_bytes is not None:
            draft.figure(f"{key}: cards", cards, "1", formula="cards * 2")
            lines.append(draft.phrase(
                f"engine_start.way_{key}", cards=cards, need=gib(report.process_bytes),
                usable=gib(report.usable_bytes), outcome=outcome(draft, report)))  # fmt: skip
    draft.bullets(lines, title=draft.phrase("engine_start.ways", length=f"{length:,}"))
    asked = results[-1].report
    return memory_range(asked) if isinstance(asked, MemoryReport) else None


# ---- no room for the cache


_MOST_SHARE = 0.95
"""What a card of its own bears."""


def says_no_blocks(request: Request) -> bool:
    """Whether the engine found no room for its cache after its profile run."""
    return any(item.fields.get("message") == "no_cache_memory" for item in request.pasted)


def say_no_blocks(draft: Draft, report: MemoryReport) -> None:
    """The engine's share of the card against what it needs before the cache, and the settings."""
    slots, usable = draft.request.slots, report.usable_bytes
    if usable is None:
        return
    pool, said = cache_pool("vllm"), slots.gpu_memory_utilization
    share, source = (said, "user:gpu_memory_utilization") if said else (pool.share, pool.source)
    budget, before = usable * share, report.process_bytes - report.kv_cache_bytes
    draft.figure("utilization", share, "1", sources=(source,))
    draft.figure("utilization_to_set", _MOST_SHARE, "1", formula="a card without other processes")
    draft.figure("pool", budget, "B", formula="usable * utilization")
    draft.figure("before_cache", before, "B", formula="process - cache")
    draft.figure("pool_to_set", usable * _MOST_SHARE, "B", formula="usable * utilization_to_set")
    key = "no_blocks" if before < budget else "no_blocks_short"
    draft.say(f"engine_start.{key}", usable=gib(usable), share=f"{share:g}", budget=gib(budget),
              weights=gib(report.weights_bytes), before=gib(before), importance=HEAD)  # fmt: skip
    if report.verdict == "does_not_fit":
        return  # the ways out follow: no setting of the engine is enough
    if report.kind == "vlm":
        draft.say("engine_start.no_blocks_images", importance=HEAD)
    draft.say("engine_start.no_blocks_fix", most=f"{_MOST_SHARE:g}",
              budget=gib(usable * _MOST_SHARE), importance=HEAD)  # fmt: skip
